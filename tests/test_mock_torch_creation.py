"""Functions that make tensors give PyTorch's results in its place, where OneFlow's differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import oneflow as flow
from tests.in_place import enabled, in_place_of

mock = in_place_of("torch")

CALLS: list[Callable[[Any], Any]] = [
    lambda t: t.range(3),
    lambda t: t.range(0, 3),
    lambda t: t.range(0, 3, dtype=t.int64),
    lambda t: t.range(1, 4, 0.5),
    lambda t: t.range(5, 0, -2),
    lambda t: t.range(0, 2.5),
    lambda t: t.range(0, 3, out=t.empty(0, dtype=t.float64)),
    lambda t: t.range(0, 3, out=t.zeros(2, 3).narrow(1, 1, 2)),
    lambda t: t.tensor([t.tensor([1]), t.tensor([2])]),
    lambda t: t.tensor([[t.tensor([1])], [t.tensor([2])]]),
    lambda t: t.tensor((t.tensor([[1]]), t.tensor([2.5]))),
    lambda t: t.tensor([t.tensor([1]), 3], dtype=t.float64),
    lambda t: t.tensor([t.tensor(1), t.tensor(2)]),
    lambda t: t.tensor([[1, 2], [3, 4]]),
    lambda t: t.as_tensor([t.tensor([1]), t.tensor([2])]),
]


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("call", CALLS)
def test_results_are_those_of_pytorch(call: Callable[[Any], Any]) -> None:
    if call is CALLS[0]:
        assert call(mock).tolist() == [0.0, 1.0, 2.0, 3.0]
        return
    mine, theirs = call(mock), call(torch)
    assert mine.tolist() == theirs.tolist()
    assert str(mine.dtype).removeprefix("oneflow") == str(theirs.dtype).removeprefix("torch")


def test_a_number_is_a_device() -> None:
    assert mock.device(0) == mock.device("cuda", 0)
    assert str(mock.device(1)) == "cuda:1"


@pytest.mark.parametrize("make", ["Tensor", "FloatTensor"])
@pytest.mark.parametrize("factor", [None, 2.0])
def test_aliases_made_without_recording_require_grad(make: str, factor: float | None) -> None:
    outcomes = []
    for library in (torch, flow):
        leaf = library.ones(2, requires_grad=True)
        x = leaf if factor is None else leaf * factor
        found = []
        for records in (False, True):
            with library.set_grad_enabled(records):
                alias = getattr(library, make)(x)
            alias.sum().backward()
            found += [alias.requires_grad, alias.is_leaf, leaf.grad is None]
        with library.no_grad():
            getattr(library, make)(x).zero_()
            plain = getattr(library, make)(x.detach())
        outcomes.append([*found, x.tolist(), plain.requires_grad])
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("arguments", [(3, 0), (0, 3, -1), (0, 3, 0)])
def test_ranges_that_end_nowhere(arguments: tuple) -> None:
    with pytest.raises(RuntimeError, match="range"):
        mock.range(*arguments)


def test_oneflow_keeps_its_own() -> None:
    assert flow.range(0, 3).tolist() == [0, 1, 2]
    assert flow.tensor([flow.tensor([1]), flow.tensor([2])]).shape == (2, 1)


def test_new_tensors_without_a_size() -> None:
    x = flow.ones(2, 3, dtype=flow.int64)
    assert x.new_zeros().tolist() == [[0] * 3] * 2
    assert x.new_ones(dtype=flow.float32).tolist() == [[1.0] * 3] * 2
    assert x.new_zeros(()).shape == x.new_ones([]).shape == ()
    with pytest.raises(TypeError, match="`new_empty` needs a `size`"):
        x.new_empty()


@pytest.mark.parametrize(
    "data", [[[1, 2], 3], [3, [1, 2]], [[1, 2], [3]], [[1, 2], [3, [4]]], [[[1]], [1]], [[1], []]]
)
def test_lists_that_are_no_grid_are_refused_as_by_pytorch(data: list[Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        torch.tensor(data)
    with pytest.raises(expected.type):
        mock.tensor(data)


def test_lists_of_arrays_warn_in_its_place_alone() -> None:
    with enabled(), pytest.warns(UserWarning, match="list of numpy.ndarrays"):
        assert mock.tensor([numpy.ones(2), numpy.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert flow.tensor([numpy.ones(2)]).shape == (1, 2)
