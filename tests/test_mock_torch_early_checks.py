"""Run-time checks that the host can make at once raise at the call in PyTorch's place."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import oneflow as flow
from oneflow.runtime.counters import STATISTICS
from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
FAULTS = {
    "list": "x[[5]]",
    "index": "x[tensor([0, 5])]",
    "index from the end": "x[tensor([-4])]",
    "position": "x[tensor(5)]",
    "two dimensions": "y[tensor([0]), tensor([4])]",
    "after a slice": "y[:, tensor([4])]",
    "computed": "x[tensor([1, 2]) * 2 + 1]",
    "part": "x[tensor([[0, 1], [2, 3]])[1]]",
    "written": "x.__setitem__(tensor([5]), 1.0)",
    "index_select": "x.index_select(0, tensor([5]))",
    "index_add": "x.index_add(0, tensor([5]), ones(1))",
    "index_copy": "x.index_copy(0, tensor([5]), ones(1))",
    "index_fill_": "x.index_fill_(0, tensor([5]), 1.0)",
    "index_put_": "x.index_put_((tensor([5]),), ones(1))",
    "put_": "x.put_(tensor([5]), ones(1))",
    "take": "x.take(tensor([5]))",
    "gather": "x.gather(0, tensor([5]))",
    "scatter": "x.scatter(0, tensor([5]), 1.0)",
    "scatter_add": "x.scatter_add(0, tensor([5]), ones(1))",
    "scatter_reduce": "x.scatter_reduce(0, tensor([5]), ones(1), 'sum')",
    "take_along_dim": "library.take_along_dim(x, tensor([7]))",
    "embedding": "functional.embedding(tensor([5]), y)",
    "embedding_bag": "functional.embedding_bag(tensor([[5]]), y)",
    "cross_entropy": "functional.cross_entropy(y, tensor([0, 1, 3]))",
    "nll_loss": "functional.nll_loss(y, tensor([0, 1, 3]))",
    "one_hot": "functional.one_hot(tensor([5]), 3)",
    "multinomial": "library.multinomial(tensor([-1.0, 2.0]), 1)",
    "bernoulli": "library.bernoulli(tensor([2.0]))",
    "division": "tensor([1, 2]) // tensor([0, 1])",
}


def _names(library: Any) -> dict[str, Any]:
    return {
        "library": library,
        "functional": library.nn.functional,
        "tensor": library.tensor,
        "ones": library.ones,
        "x": library.zeros(3),
        "y": library.zeros(3, 3),
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_error_is_raised_at_the_call(fault: str) -> None:
    with pytest.raises((IndexError, RuntimeError)) as expected:
        eval(FAULTS[fault], _names(torch))
    with enabled():
        names = _names(OURS)
        with pytest.raises(type(expected.value)):
            eval(FAULTS[fault], names)
        # The call has left nothing behind that would fail later.
        assert (names["x"] + 1).tolist() == [1.0] * 3
        assert names["y"].sum().item() == 0.0


def test_nothing_is_run_for_a_check() -> None:
    with enabled():
        table, index = OURS.arange(6.0), OURS.tensor([1, 2])
        assert index.sum().item() == 3
        runs = STATISTICS.hot_runs + STATISTICS.cold_runs
        row = table[index + 1]
        assert STATISTICS.hot_runs + STATISTICS.cold_runs == runs
        assert row.tolist() == [2.0, 3.0]


def test_a_program_of_oneflow_learns_of_it_when_it_reads() -> None:
    row = flow.zeros(3)[flow.tensor([5])]
    with pytest.raises(IndexError):
        row.numpy()
