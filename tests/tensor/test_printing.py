"""Tensors as text: PyTorch's body, OneFlow's suffix."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

_random = np.random.default_rng(0)
ARRAYS: dict[str, Any] = {
    "number": np.float32(1.5),
    "whole float": np.float32(3),
    "integers": np.arange(6).reshape(2, 3),
    "negative integers": np.array([-100, 5, 0]),
    "whole floats": np.arange(6, dtype=np.float32).reshape(2, 3),
    "floats": _random.normal(size=(3, 4)).astype(np.float32),
    "doubles": _random.normal(size=40),
    "halves": _random.normal(size=(2, 9)).astype(np.float16),
    "wrapped line": np.arange(60) * 1000,
    "three dims": _random.normal(size=(2, 2, 3)),
    "four dims": np.zeros((2, 1, 2, 2)),
    "long": np.arange(2000),
    "long and wide": _random.normal(size=(50, 60)),
    "long and deep": _random.normal(size=(3, 20, 30)),
    "long column": np.zeros((1001, 1)),
    "long of one kind at the edges": np.arange(100000, 101010),
    "large and small": np.array([1e10, 1, -3]),
    "small": np.array([1e-5, 1]),
    "huge whole": np.array([1e5, 1e9]),
    "not numbers": np.array([np.nan, 1, np.inf, -np.inf]),
    "not numbers and fractions": np.array([np.nan, 1.5, -np.inf]),
    "only nan": np.array([np.nan]),
    "zeros": np.array([0.0, -0.0]),
    "bools": np.array([[True, False], [False, True]]),
    "bytes": np.arange(8, dtype=np.uint8),
    "complex": np.array([1 + 2j, -3.5 - 1j]),
    "complex number": np.complex64(2 - 1j),
    "complex matrix": _random.normal(size=(3, 2)) + 1j * _random.normal(size=(3, 2)),
    "empty": np.zeros(0),
    "empty matrix": np.zeros((0, 3)),
    "empty rows": np.zeros((2, 0)),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {"profile": "default"},
    "unknown": {"profile": "long"},
    "short": {"profile": "short"},
    "full": {"profile": "full"},
    "scientific": {"profile": "default", "sci_mode": True, "precision": 2},
    "narrow": {"profile": "default", "sci_mode": False, "precision": 8, "linewidth": 40},
    "few": {"profile": "default", "threshold": 5, "edgeitems": 1},
}


@pytest.fixture(autouse=True)
def _default_options():
    yield
    flow.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def body(text: str) -> str:
    """The text without the dtype."""
    return re.sub(r",\s*dtype=[\w.]+", "", text)


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_the_body_is_pytorchs(option: str) -> None:
    flow.set_printoptions(**OPTIONS[option])
    torch.set_printoptions(**OPTIONS[option])
    for name, array in ARRAYS.items():
        if option == "full" and np.size(array) > 500:
            continue
        array = np.asarray(array)
        assert body(repr(flow.tensor(array))) == body(repr(torch.tensor(array))), name


def test_the_dtype_is_always_shown() -> None:
    assert repr(flow.tensor([1.0, 2.0])) == "tensor([1., 2.], dtype=oneflow.float32)"
    assert str(flow.tensor(3)) == "tensor(3, dtype=oneflow.int64)"
    assert repr(flow.zeros(0, 2)) == "tensor([], size=(0, 2), dtype=oneflow.float32)"
    assert repr(flow.ones(1).bfloat16()) == "tensor([1.], dtype=oneflow.bfloat16)"


def test_history_is_shown() -> None:
    x = flow.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], dtype=oneflow.float32, requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 2.], dtype=oneflow.float32, grad_fn=<mul_backward>)"
    assert repr(x.detach()) == "tensor([1., 1.], dtype=oneflow.float32)"


def test_a_long_suffix_goes_to_a_line_of_its_own() -> None:
    x = flow.arange(12.0, requires_grad=True)
    assert repr(x) == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.],\n"
        "       dtype=oneflow.float32, requires_grad=True)"
    )


def test_numbers_format_with_a_specification() -> None:
    assert f"{flow.tensor(3.14159):.2f}" == "3.14"
    assert f"{flow.tensor([1])}" == "tensor([1], dtype=oneflow.int64)"
    with pytest.raises(TypeError):
        f"{flow.tensor([1.5]):.2f}"


def test_options_are_kept_and_checked() -> None:
    flow.set_printoptions(precision=2, linewidth=100)
    assert flow.get_printoptions()["precision"] == 2
    assert flow.get_printoptions()["linewidth"] == 100


def test_results_with_names_print_as_in_pytorch():
    ours = repr(flow.max(flow.tensor([[1, 5]]), 1)).replace(", dtype=oneflow.int64", "")
    assert ours.replace("oneflow", "torch", 1) == repr(torch.max(torch.tensor([[1, 5]]), 1))


def test_sbp_prints_as_it_is_written():
    for sbp in (flow.sbp.split(1), flow.sbp.broadcast, flow.sbp.partial_sum):
        assert str(sbp) == repr(sbp)
    assert str(flow.sbp.split(1)) == "oneflow.sbp.split(dim=1)"
