"""Warmed calls enter few Python functions: arguments are checked once, not in every call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import oneflow as flow
import oneflow.nn.functional as F
from oneflow.runtime import checks
from oneflow.runtime.eager import current
from oneflow.tensor.call import _CHAIN_CACHE, _SEEN_ONCE
from tests.frames import frames_of
from tests.in_place import methods_without_overrides

Call = Callable[[], Any]


@pytest.fixture(autouse=True)
def methods_of_tensors() -> Iterator[None]:
    """Take methods as they are in a program without subclasses."""
    with methods_without_overrides():
        yield


def convolution() -> Call:
    x, weight, bias = flow.randn(2, 3, 8, 8), flow.randn(4, 3, 3, 3), flow.randn(4)
    return lambda: F.conv2d(x, weight, bias, padding=1)


def transposed_convolution() -> Call:
    x, weight, bias = flow.randn(2, 3, 8, 8), flow.randn(3, 4, 3, 3), flow.randn(4)
    return lambda: F.conv_transpose2d(x, weight, bias, stride=2)


def max_pool() -> Call:
    x = flow.randn(2, 3, 8, 8)
    return lambda: F.max_pool2d(x, 2)


def cross_entropy() -> Call:
    logits, labels = flow.randn(8, 5, requires_grad=True), flow.randint(0, 5, (8,))
    return lambda: F.cross_entropy(logits, labels)


def element() -> Call:
    x = flow.zeros(3, 3)

    def put() -> None:
        x[0][1] = 8

    return put


def backward() -> Call:
    y = flow.randn(4, requires_grad=True)
    return lambda: (y * y).sum().backward()


def product() -> Call:
    x, y = flow.ones(3), flow.ones(3)
    return lambda: x * y


def shape() -> Call:
    x = flow.ones(3)
    return lambda: (x.shape, x.dtype, x.device, x.ndim, x.spec)


def item() -> Call:
    x = flow.randn(2, 2)
    x.numpy()
    return lambda: x[0, 1].item()


def condition() -> Call:
    x = flow.randn(2, 2)
    x.numpy()
    return lambda: bool(x[0, 1] < x[1, 0])


def written_element() -> Call:
    x = flow.randn(3)
    x.numpy()
    x[1].item()

    def put() -> None:
        x[1] = 2.0

    return put


def graph() -> Call:
    class Inference(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.layer = flow.nn.Linear(3, 2)

        def build(self, x: flow.Tensor) -> flow.Tensor:
            return self.layer(x)

    step, x = Inference(), flow.randn(2, 3)
    return lambda: step(x)


def transposed() -> Call:
    x = flow.ones(2, 3)
    return lambda: x.T


def reshaped() -> Call:
    x = flow.ones(2, 3)
    return lambda: x.view(-1)


BOUNDS: list[tuple[Callable[[], Call], int]] = [
    (convolution, 25),
    (transposed_convolution, 25),
    (max_pool, 22),
    (cross_entropy, 30),
    (element, 55),
    (backward, 102),
    (product, 8),
    (transposed, 9),
    (reshaped, 13),
    (item, 17),
    (condition, 45),
    (written_element, 34),
    (graph, 35),
    (shape, 5),
]


@pytest.mark.parametrize(
    ("make", "bound"), BOUNDS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_warmed_call_enters_few_functions(
    make: Callable[[], Call], bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_open", {})  # of programs that other threads have run
    frames = frames_of(make)
    names = "\n".join(frame.co_qualname for frame in frames)
    assert len(frames) <= bound, f"{len(frames)} calls, at most {bound}:\n{names}"


def test_a_write_to_a_view_records_nothing_that_nobody_reads() -> None:
    put = element()
    put()
    recorder = current.recorder
    assert recorder is not None
    before = len(recorder.outputs)
    put()
    assert len(recorder.outputs) - before == 4  # view, number, its shape, the new content


def test_positions_that_a_loop_goes_through_once_keep_nothing() -> None:
    _SEEN_ONCE.clear()  # a set that earlier tests have nearly filled empties itself within a loop
    x = flow.zeros(1001)
    before = len(_CHAIN_CACHE)
    for position in range(1001):
        x[position]
    assert len(_CHAIN_CACHE) == before
    for position in range(10):
        x[position]
    assert len(_CHAIN_CACHE) == before + 10
