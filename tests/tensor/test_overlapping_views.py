"""Writes to views that show an element of memory several times, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.autograd import gradcheck, gradgradcheck
from tests.oracle import eager_mode

pytestmark = pytest.mark.filterwarnings(
    "ignore:Use of .* on expanded tensors:UserWarning",
    "ignore:The reduce argument of torch.scatter:UserWarning",
    "ignore:index_reduce.. is in beta:UserWarning",
)


@pytest.fixture(params=["cold", pytest.param("compiled", marks=pytest.mark.one_in(5))])
def _mode(request: pytest.FixtureRequest) -> Iterator[None]:
    with eager_mode(request.param):
        yield


in_both_modes = pytest.mark.usefixtures("_mode")
PAIR = flow.placement("cpu", [0, 1])
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


@in_both_modes
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
    if isinstance(x, torch.Tensor):
        return torch.tensor(values)
    place = {"placement": x.placement, "sbp": flow.sbp.broadcast} if x.is_global else {}
    return flow.tensor(values, **place)


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


@in_both_modes
@pytest.mark.parametrize("name", INDEXED)
def test_indexed_writes_to_an_overlapping_view(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = lib.tensor(BASE)
        INDEXED[name](x, lib.tensor(7.0))
        results.append(x.tolist())
    assert results[0] == results[1]


# Others write to the elements, or slices, that they name; `w` has shape (2, 2).
NAMED: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_": lambda v, w: v.scatter_(0, _of(v, [[1], [0]]), w),
    "scatter_ of a number": lambda v, w: v.scatter_(1, _of(v, [[0], [1]]), 9.0),
    "scatter_ that adds": lambda v, w: v.scatter_(1, _of(v, [[0, 0]]), w, reduce="add"),
    "scatter_add_": lambda v, w: v.scatter_add_(1, _of(v, [[0, 0], [1, 0]]), w),
    "scatter_reduce_": lambda v, w: v.scatter_reduce_(1, _of(v, [[0, 0], [1, 0]]), w, "prod"),
    "scatter_reduce_ anew": lambda v, w: v.scatter_reduce_(
        1, _of(v, [[1, 1], [1, 0]]), w, "amax", include_self=False
    ),
    "index_add_": lambda v, w: v.index_add_(1, _of(v, [1, 0]), w, alpha=2),
    "index_copy_": lambda v, w: v.index_copy_(1, _of(v, [1]), w[:, :1]),
    "index_reduce_": lambda v, w: v.index_reduce_(0, _of(v, [1, 0]), w, "prod"),
    "put_": lambda v, w: v.put_(_of(v, [1, -1]), w[0]),
    "put_ that adds": lambda v, w: v.put_(_of(v, [1, 1]), w[0], accumulate=True),
    "by keyword": lambda v, w: v.index_add_(dim=1, index=_of(v, [1, 0]), source=w),
    "tril_": lambda v, w: v.tril_(),
    "triu_": lambda v, w: v.triu_(-1),
}
SQUARES: dict[str, Callable[[Any], Any]] = {
    "windows": lambda x: x[0].unfold(0, 2, 1),
    "windows of a part": lambda x: x[1:].unfold(1, 2, 1)[0],
    "strides": lambda x: x.as_strided((2, 2), (1, 1), 2),
}


@in_both_modes
@pytest.mark.one_in(4)
@pytest.mark.parametrize("view", SQUARES)
@pytest.mark.parametrize("name", NAMED)
def test_writes_at_positions_of_an_overlapping_view(name: str, view: str) -> None:
    results = []
    for lib in (flow, torch):
        x, w = lib.tensor(BASE), lib.tensor([[5.0, 6.0], [7.0, 8.0]])
        square = SQUARES[view](x)
        assert NAMED[name](square, w) is square
        results.append((x.tolist(), square.tolist()))
    assert results[0] == results[1]


@in_both_modes
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMED)
def test_gradients_of_writes_at_positions_of_an_overlapping_view(name: str) -> None:
    def written(x: Any, w: Any) -> Any:
        x = x * 1
        NAMED[name](SQUARES["windows"](x), w)
        return x * x

    x = (flow.tensor(BASE, dtype=flow.float64) + 1).requires_grad_()
    w = flow.tensor([[5.0, 6.0], [7.0, 8.0]], dtype=flow.float64, requires_grad=True)
    assert gradcheck(written, (x, w))


@pytest.mark.parametrize("name", NAMED)
def test_writes_at_positions_of_copies(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x, w = lib.tensor([1.0, 2.0]), lib.tensor([[5.0, 6.0], [7.0, 8.0]])
        if name.startswith("tri"):
            NAMED[name](x.expand(2, 2), w)
        else:
            with pytest.raises(RuntimeError, match="single memory location"):
                NAMED[name](x.expand(2, 2), w)
        results.append(x.tolist())
    assert results[0] == results[1]


def test_gradient_of_an_indexed_write_to_an_overlapping_view() -> None:
    w, v = flow.ones(3, 1, requires_grad=True), flow.tensor([2.0, 3.0], requires_grad=True)
    y = w * 2
    y.expand(3, 2)[flow.tensor([0, 2]), flow.tensor([1, 0])] = v
    (y * y).sum().backward()
    assert (w.grad.tolist(), v.grad.tolist()) == ([[0], [8], [0]], [4, 6])


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


# Views of a tensor of shape (2, 3) that show some of its elements twice or more.
WHOLE: dict[str, Callable[[Any], Any]] = {
    "windows": lambda x: x.unfold(1, 2, 1),
    "windows that end before the tensor does": lambda x: x.reshape(6).unfold(0, 3, 2),
    "windows of a transposed tensor": lambda x: x.t().unfold(0, 2, 1),
    "windows of a part": lambda x: x[1:].unfold(1, 2, 1),
    "windows, transposed": lambda x: x.unfold(1, 2, 1).transpose(0, 1),
    "a part of the windows": lambda x: x.reshape(6).unfold(0, 3, 1)[1:],
    "strides": lambda x: x.as_strided((3, 3), (1, 1)),
    "strides with an offset": lambda x: x.as_strided((2, 2), (1, 1), 2),
    "strides in two parts": lambda x: x.as_strided((2, 2, 2), (3, 1, 1)),
    "strides, reshaped": lambda x: x.as_strided((2, 2, 2), (2, 1, 1)).view(4, 2)[1:],
}


def _with_last(base: np.ndarray, places: np.ndarray, new: np.ndarray) -> list:
    """`base` after `new` was written at `places`, one after the other."""
    result = base.copy().reshape(-1)
    for place, number in zip(places.reshape(-1), new.reshape(-1), strict=True):
        result[place] = number
    return result.reshape(base.shape).tolist()


@in_both_modes
@pytest.mark.parametrize("name", WHOLE)
def test_the_element_written_last_stays(name: str) -> None:
    places = WHOLE[name](torch.arange(6).reshape(2, 3)).numpy()
    base = np.asarray(BASE)
    numbers = np.arange(10.0, 10 + places.size).reshape(places.shape)
    x = flow.tensor(base)
    view = WHOLE[name](x)
    view.copy_(flow.tensor(numbers))
    assert x.tolist() == _with_last(base, places, numbers)
    assert view.tolist() == x.numpy().reshape(-1)[places].tolist()
    x = flow.tensor(base)
    WHOLE[name](x).mul_(flow.tensor(numbers))
    assert x.tolist() == _with_last(base, places, base.reshape(-1)[places] * numbers)


@in_both_modes
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", WHOLE)
def test_gradients_of_writes_to_all_of_an_overlapping_view(name: str) -> None:
    def written(x: Any, factor: Any) -> tuple[Any, Any]:
        x = x * x
        view = WHOLE[name](x)
        view.mul_(factor)
        return x, view * view

    x = flow.tensor(BASE, dtype=flow.float64, requires_grad=True)
    shape = WHOLE[name](x).shape
    factor = flow.arange(1.0, 1 + shape.numel(), dtype=flow.float64).reshape(shape)
    factor.requires_grad_()
    assert gradcheck(written, (x, factor))
    assert gradgradcheck(written, (x, factor))


@in_both_modes
@pytest.mark.parametrize("name", [name for name in WHOLE if not name.endswith("transposed")])
def test_gradients_of_the_base_are_those_of_the_elements_written_last(name: str) -> None:
    gradients = []
    for lib in (flow, torch):
        x = lib.tensor(BASE, requires_grad=True)
        y = x * 2
        view = WHOLE[name](y)
        view.mul_(lib.arange(1.0, 1 + view.numel()).reshape(view.shape))
        (y * lib.tensor([[1.0, 2, 3], [4, 5, 6]])).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


class Masked(flow.nn.Graph):
    """A graph that writes through an expanded tensor."""

    def build(self, x: Any, mask: Any) -> Any:
        """Return `x` with 5 in place of what `mask` names."""
        y = x * 1.0
        y.expand(4)[mask] = 5.0
        return y


class Windows(flow.nn.Graph):
    """A graph that multiplies all windows, and then one."""

    def build(self, x: Any) -> Any:
        """Return what is then in `x`."""
        y = x * 1.0
        y.unfold(0, 2, 1).mul_(flow.tensor([[1.0, 2], [3, 4]]))
        y.unfold(0, 2, 1)[:, flow.tensor([0])] = -1.0
        return y


def test_writes_to_overlapping_views_in_graphs() -> None:
    masked = Masked()
    assert masked(flow.zeros(1), flow.tensor([False] * 3 + [True])).tolist() == [5]
    assert masked(flow.zeros(1), flow.tensor([False] * 4)).tolist() == [0]
    assert Windows()(flow.ones(3)).tolist() == [-1, -1, 4]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", [*INDEXED, *NAMED, *WHOLE])
def test_writes_to_overlapping_views_of_global_tensors(name: str) -> None:
    def write(x: flow.Tensor) -> None:
        if name in WHOLE:
            WHOLE[name](x).mul_(2)
        elif name in NAMED:
            NAMED[name](SQUARES["windows"](x), _of(x, [[5.0, 6.0], [7.0, 8.0]]))
        else:
            INDEXED[name](x, _of(x, 7.0))

    local = flow.tensor(BASE)
    write(local)
    whole = flow.tensor(BASE, placement=PAIR, sbp=flow.sbp.broadcast)
    for sbp in (flow.sbp.broadcast, flow.sbp.split(1), flow.sbp.partial_sum):
        x = whole.to_global(sbp=sbp) * 1.0
        write(x)
        assert x.to_global(sbp=flow.sbp.broadcast).to_local().tolist() == local.tolist()


def test_what_autograd_forbids_to_write_to() -> None:
    mask = [True, False]
    for lib in (flow, torch):
        leaf = lib.zeros(1, requires_grad=True)
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            leaf.expand(2)[lib.tensor(mask)] = 1.0
        with lib.no_grad():
            unrecorded = (leaf * 1).expand(2)
            view = leaf.expand(2)
            view[lib.tensor(mask)] = 1.0
        assert leaf.tolist() == [1]
        unrecorded[lib.tensor(mask)] = 1.0
        with pytest.raises(RuntimeError, match="no_grad"):
            view[lib.tensor(mask)] = 2.0


def test_a_detached_part_that_requires_grad_is_written_to_without_gradients() -> None:
    for lib in (flow, torch):
        memory = lib.zeros(3)
        windows = memory.unfold(0, 2, 1).detach().requires_grad_()
        with lib.no_grad():
            windows[lib.tensor([1])] = 4.0
        assert windows.tolist() == [[0, 4], [4, 4]]
        assert memory.tolist() == [0, 4, 4]
        assert windows.is_leaf
        assert windows.requires_grad


def test_writing_to_a_part_of_several_copies_raises() -> None:
    for lib in (flow, torch):
        with pytest.raises(RuntimeError, match="single memory location"):
            lib.zeros(3).expand(2, 3)[:, :1].add_(1)
        with pytest.raises(RuntimeError, match="single memory location"):
            lib.zeros(3).as_strided((2, 3), (0, 1)).add_(1)
