"""Comparisons of small tensors as a whole: read on the host, not recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.eager import statistics

PAIRS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "equal": lambda lib: (lib.tensor([1.0, 2.0]), lib.tensor([1.0, 2.0])),
    "other numbers": lambda lib: (lib.tensor([1.0, 2.0]), lib.tensor([1.0, 3.0])),
    "other shapes": lambda lib: (lib.tensor([1.0, 2.0]), lib.tensor([[1.0, 2.0]])),
    "nan": lambda lib: (lib.tensor([float("nan")]), lib.tensor([float("nan")])),
    "zeros of two signs": lambda lib: (lib.tensor([0.0]), lib.tensor([-0.0])),
    "a number": lambda lib: (lib.tensor(3), lib.tensor(3)),
    "no elements": lambda lib: (lib.zeros(0, 3), lib.zeros(0, 3)),
    "half precision": lambda lib: (
        lib.tensor([1.0, 2.0], dtype=lib.bfloat16),
        lib.tensor([1.0, 2.0], dtype=lib.bfloat16),
    ),
    "complex": lambda lib: (lib.tensor([1 + 2j]), lib.tensor([1 - 2j])),
    "a view": lambda lib: (lib.arange(6).reshape(2, 3).T, lib.tensor([[0, 3], [1, 4], [2, 5]])),
    "denormal": lambda lib: (lib.tensor([1e-40]), lib.tensor([0.0])),
    "large": lambda lib: (lib.zeros(300_000), lib.zeros(300_000)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_equal_is_pytorch_s(name: str) -> None:
    assert flow.equal(*PAIRS[name](flow)) is torch.equal(*PAIRS[name](torch))


def test_equal_of_what_is_there_runs_no_program() -> None:
    x, y = flow.tensor(np.arange(8.0)), flow.tensor(np.arange(8.0))
    before = statistics()
    assert flow.equal(x, y)
    assert statistics().values == before.values


def test_equal_sees_what_was_written_last() -> None:
    x, y = flow.zeros(4), flow.zeros(4)
    x[1] = 5
    assert not flow.equal(x, y)
    y.add_(flow.tensor([0.0, 5, 0, 0]))
    assert flow.equal(x, y)


def test_equal_raises_the_error_of_a_check_before_it() -> None:
    x = flow.zeros(3)
    rows = x[flow.tensor([7])]
    with pytest.raises(IndexError):
        flow.equal(x, x)
    assert rows.shape == (1,)
