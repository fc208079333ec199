"""Results whose size only values tell: NumPy computes them, and small ones stay on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor import transfer
from oneflow.tensor.views import unwrap
from tests.graph.helpers import TrainGraph
from tests.oracle import eager_mode

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "nonzero": lambda lib, x: lib.nonzero(x),
    "argwhere": lambda lib, x: lib.argwhere(x),
    "rows": lambda lib, x: lib.nonzero(x.reshape(4, -1)),
    "where": lambda lib, x: lib.where(x.reshape(4, -1) > 2)[1],
    "unique": lambda lib, x: lib.unique(x),
    "inverse": lambda lib, x: lib.unique(x, return_inverse=True)[1],
    "counts": lambda lib, x: lib.unique_consecutive(x, return_counts=True)[1],
    "bincount": lambda lib, x: lib.bincount(x),
    "repeats": lambda lib, x: lib.repeat_interleave(x),
}
SELECTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mask": lambda lib, x: x[x > 2],
    "masked_select": lambda lib, x: lib.masked_select(x, x > 2),
    "a matrix": lambda lib, x: lib.masked_select(x.reshape(4, -1), x.reshape(4, -1) > 2),
    "a number": lambda lib, x: lib.masked_select(x[3], x[3] >= 0),
    "a wider mask": lambda lib, x: lib.masked_select(x, x.reshape(-1, 1) > 3),
    "interleaved": lambda lib, x: lib.repeat_interleave(x * 2, x),
}
DATA = np.array([3, 0, 5, 5, 1, 4, 0, 2])


ROWS = [(name, size) for name in (*CALLS, *SELECTIONS) for size in (8, 4000)]
ROWS.remove(("a wider mask", 4000))  # 16 million elements


@pytest.mark.parametrize(("name", "size"), ROWS)
def test_they_are_pytorch_s_and_can_be_written_to(name: str, size: int) -> None:
    call = (CALLS | SELECTIONS)[name]
    data = np.resize(DATA, size)
    results = []
    for lib in (flow, torch):
        x = lib.tensor(data)
        result = call(lib, x)
        view = result[1:]
        result += 1
        view[:1] = 7
        results.append(np.concatenate([result.numpy().ravel(), view.numpy().ravel(), x.numpy()]))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", CALLS)
def test_small_ones_wait_on_the_host_unless_somebody_looks(name: str, monkeypatch: Any) -> None:
    call = CALLS[name]
    x = flow.tensor(DATA)

    def is_on_host() -> bool:
        return type(unwrap(call(flow, x)).recorder) is HostArray

    assert is_on_host()
    with flow.profiler.profile():
        assert not is_on_host()
    monkeypatch.setattr(transfer, "_SMALL_RESULT", 7)
    assert not is_on_host()


@pytest.mark.parametrize("mode", ["cold", "compiled"])
def test_programs_of_any_length_take_them(mode: str) -> None:
    with eager_mode(mode):
        weight = flow.arange(40.0).reshape(8, 5).requires_grad_()
        for _ in range(3):
            weight.grad = None
            rows = flow.tensor(DATA).nonzero().squeeze(1)
            y = weight[rows]
            for _ in range(20):
                y = y * 1.0
            y.sum().backward()
            assert weight.grad is not None
            np.testing.assert_array_equal(weight.grad.numpy()[:, 0], DATA != 0)


def test_a_graph_takes_them() -> None:
    module = flow.nn.Linear(1, 1)
    graph = TrainGraph(
        module,
        lambda module, x: module(x.float().unsqueeze(1)).sum(),
        flow.optim.SGD(module.parameters(), lr=0.0),
    )
    for _ in range(3):
        positions = flow.tensor(DATA).nonzero().squeeze(1)
        graph(positions)
        np.testing.assert_array_equal(positions.numpy(), np.flatnonzero(DATA))
