"""Taking a tensor apart into many pieces: views as always, in time proportional to their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.program.ir import iterate_key
from oneflow.runtime.counters import STATISTICS
from oneflow.runtime.eager import current

COUNT = 700
# Each takes apart a tensor of shape (COUNT, 2).
PARTS: dict[str, Callable[[Any], Any]] = {
    "iteration": list,
    "unbind": lambda x: x.unbind(),
    "unbind of a dimension": lambda x: x.T.unbind(1),
    "split": lambda x: x.split(1),
    "split in unequal parts": lambda x: x.split([1, 2] * 233 + [1]),
    "chunk": lambda x: x.chunk(COUNT),
    "tensor_split": lambda x: x.tensor_split(COUNT),
}


def _base(lib: Any) -> Any:
    return lib.tensor(np.arange(2 * COUNT, dtype=np.float64).reshape(COUNT, 2))


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_views(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = _base(lib)
        parts = PARTS[name](x)
        before = [part.tolist() for part in parts]
        parts[300].mul_(-1)
        x[400:].add_(0.5)
        results.append((before, x.tolist(), [part.tolist() for part in parts]))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", PARTS)
def test_gradients_of_parts(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = _base(lib).requires_grad_()
        parts = PARTS[name](x)
        (parts[3] ** 2).sum().backward(retain_graph=True)
        sum(part.sum() * number for number, part in enumerate(parts[-3:])).backward()
        results.append(x.grad.tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("name", PARTS)
def test_no_instruction_has_very_many_results(name: str) -> None:
    x = _base(flow).requires_grad_()
    flow.eager.synchronize()
    parts = PARTS[name](x)
    assert current.recorder is not None
    counts = [operation.count for operation, _ in iterate_key(current.recorder.key)]
    assert counts
    assert max(counts) <= 256
    assert len(parts) >= COUNT // 2


def test_iteration_reads_once_what_needs_no_gradient() -> None:
    x = _base(flow) * 1
    rows = iter(x)
    runs = STATISTICS.cold_runs + STATISTICS.hot_runs
    assert [row.tolist() for row in rows] == x.tolist()
    assert all(flow.ones(COUNT, dtype=flow.bool))
    assert STATISTICS.cold_runs + STATISTICS.hot_runs <= runs + 1


def test_rows_that_were_read_take_part_in_programs() -> None:
    x = flow.arange(COUNT)
    rows = list(x)
    assert (rows[3] + rows[600]).item() == 603
    assert flow.stack(rows).equal(x)
    assert rows[5].clone().add_(1).item() == 6
    assert rows[5].item() == 5
    x.zero_()
    assert not any(rows)
