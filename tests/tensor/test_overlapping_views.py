"""Writes to views that show an element of memory several times, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow

BASE = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

# Writes to a part of a view whose elements overlap in the base.
OVERLAPPING: dict[str, Callable[[Any, Any], Any]] = {
    "a window": lambda x, w: x.unfold(1, 2, 1)[:, 0].mul_(w),
    "an element of a window": lambda x, w: x.unfold(1, 2, 1)[1, 0, 1].add_(w),
    "assignment to a window": lambda x, w: x.unfold(1, 2, 1).__setitem__((0, 1), w),
    "windows of a view": lambda x, w: x.t().unfold(0, 2, 1)[0].transpose(0, 1)[1:].mul_(w),
    "strides": lambda x, w: x.as_strided((3, 3), (1, 1))[1, 1:].mul_(w),
    "a copy of expanded rows": lambda x, w: x.expand(4, 2, 3)[2, 1].mul_(w),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_writing_to_a_part_of_an_overlapping_view(name: str) -> None:
    results = []
    for lib in (flow, torch):
        w = lib.tensor(BASE, requires_grad=True)
        factor = lib.tensor(3.0, requires_grad=True)
        x = w * 2
        OVERLAPPING[name](x, factor)
        (x * x).sum().backward()
        results.append((x.tolist(), w.grad.tolist(), factor.grad.tolist()))
    assert results[0] == results[1]


def _of(x: Any, values: Any) -> Any:
    """A tensor of the library that `x` belongs to."""
    return (torch if isinstance(x, torch.Tensor) else flow).tensor(values)


MASK = [[[True, False, False]] * 2, [[False] * 3, [False] * 3]]
# An index of positions or a mask names elements of the memory.
INDEXED: dict[str, Callable[[Any, Any], Any]] = {
    "a mask": lambda x, w: x.expand(2, 2, 3).__setitem__(_of(x, MASK), w),
    "a mask of copies": lambda x, w: x.expand(2, 2, 3).__setitem__(_of(x, [True, False]), w),
    "a mask of rows": lambda x, w: x.expand(4, 2, 3).__setitem__((3, _of(x, [False, True])), w),
    "a mask and a vector": lambda x, w: x.expand(2, 2, 3).__setitem__(
        _of(x, MASK), w * _of(x, [1.0, 2.0])
    ),
    "positions": lambda x, w: x.expand(4, 2, 3).__setitem__((_of(x, [3, 0]), _of(x, [1, 0])), w),
    "positions that add": lambda x, w: x.expand(4, 2, 3).index_put_(
        (_of(x, [3, 0]), _of(x, [1, 1])), w, accumulate=True
    ),
    "positions of windows": lambda x, w: x.unfold(1, 2, 1).__setitem__(
        (slice(None), _of(x, [0])), w
    ),
    "masked_fill_": lambda x, w: x.unfold(1, 2, 1).masked_fill_(_of(x, [True, False]), w),
    "index_fill_": lambda x, w: x.expand(4, 2, 3).index_fill_(1, _of(x, [1]), w),
}


@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors:UserWarning")
@pytest.mark.parametrize("name", INDEXED)
def test_indexed_writes_to_an_overlapping_view(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = lib.tensor(BASE)
        INDEXED[name](x, lib.tensor(7.0))
        results.append(x.tolist())
    assert results[0] == results[1]


def test_gradient_of_an_indexed_write_to_an_overlapping_view() -> None:
    w, v = flow.ones(3, 1, requires_grad=True), flow.tensor([2.0, 3.0], requires_grad=True)
    y = w * 2
    y.expand(3, 2)[flow.tensor([0, 2]), flow.tensor([1, 0])] = v
    (y * y).sum().backward()
    assert (w.grad.tolist(), v.grad.tolist()) == ([[0], [8], [0]], [4, 6])


@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors:UserWarning")
def test_a_view_whose_elements_overlap_shows_what_was_written() -> None:
    for lib in (flow, torch):
        windows = lib.zeros(4).unfold(0, 2, 1)
        windows[lib.tensor([True, False, False])] = 5.0
        assert windows.tolist() == [[5, 5], [5, 0], [0, 0]]
        windows[lib.tensor([2])] = lib.tensor([1.0, 2.0])
        assert windows.tolist() == [[5, 5], [5, 1], [1, 2]]
        detached = lib.zeros(1, requires_grad=True).expand(3).detach()
        detached[lib.tensor([0, 2])] = lib.tensor([5.0, 6.0])
        assert detached.tolist() == [6, 6, 6]


def test_a_mask_writes_to_an_expanded_tensor_in_a_graph() -> None:
    class Masked(flow.nn.Graph):
        def build(self, x, mask):
            y = x * 1.0
            y.expand(4)[mask] = 5.0
            return y

    graph = Masked()
    assert graph(flow.zeros(1), flow.tensor([False] * 3 + [True])).tolist() == [5]
    assert graph(flow.zeros(1), flow.tensor([False] * 4)).tolist() == [0]


def test_writing_to_a_part_of_several_copies_raises() -> None:
    for lib in (flow, torch):
        with pytest.raises(RuntimeError, match="single memory location"):
            lib.zeros(3).expand(2, 3)[:, :1].add_(1)
        with pytest.raises(RuntimeError, match="single memory location"):
            lib.zeros(3).as_strided((2, 3), (0, 1)).add_(1)
