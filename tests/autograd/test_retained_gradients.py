"""A law: a tensor that retains its gradient has that of what it holds, however it was written to.

Each way to write is tried on the tensor itself, on its base if it is a view, and on a view of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow


def _without_recording(lib: Any, x: Any, w: Any) -> None:
    with lib.no_grad():
        x.mul_(3)


# `w` has the shape of `x`; both require grad.
WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nothing": lambda lib, x, w: None,
    "mul_": lambda lib, x, w: x.mul_(3),
    "two writes": lambda lib, x, w: x.mul_(3).add_(w.sum()),
    "an activation": lambda lib, x, w: lib.nn.ReLU(inplace=True)(x),
    "an operator": lambda lib, x, w: x.__iadd__(w),
    "clamp_": lambda lib, x, w: x.clamp_(0, 2.5),
    "copy_": lambda lib, x, w: x.copy_(w),
    "zero_": lambda lib, x, w: x.zero_(),
    "an element": lambda lib, x, w: x.__setitem__(0, w[0]),
    "a number": lambda lib, x, w: x.__setitem__(0, 5.0),
    "a mask": lambda lib, x, w: x.__setitem__(x > 1.5, 3.0),
    "index_add_": lambda lib, x, w: x.index_add_(0, lib.tensor([1]), w[:1]),
    "a view": lambda lib, x, w: x[:1].mul_(3),
    "a view of a view": lambda lib, x, w: x[1:][:1].mul_(3),
    "all of a list": lambda lib, x, w: lib._foreach_mul_([x], 2.0),
    "the data": lambda lib, x, w: x.data.mul_(3),
    "a detached alias": lambda lib, x, w: x.detach().mul_(3),
    "no_grad": _without_recording,
    "another shape": lambda lib, x, w: x.unsqueeze_(0),
}
# Tensors that retain gradients, and those written to, made from a tensor of four elements.
PLACES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "itself": lambda base: (base, base),
    "a view": lambda base: (view := base[:], view),
    "a part": lambda base: (part := base[1:3], part),
    "the base": lambda base: (base[1:3], base),
    "another view": lambda base: (base[1:3], base[:2]),
    "a view of it": lambda base: (base, base[1:3]),
}


def _gradients(lib: Any, write: str, place: str) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x, target = PLACES[place](w * 1)
    x.retain_grad()
    WRITES[write](lib, target, w[: target.numel()])
    (x * x).sum().backward()
    return [x.flatten().tolist(), x.grad.flatten().tolist(), w.grad.tolist(), x.retains_grad]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("place", PLACES)
def test_of_what_the_tensor_holds(place: str, write: str) -> None:
    assert _gradients(flow, write, place) == _gradients(torch, write, place)


@pytest.mark.parametrize("write", [name for name in WRITES if name != "another shape"])
def test_gradients_of_what_is_read_through_a_view_reach_its_base(write: str) -> None:
    def case(lib: Any) -> list[Any]:
        w = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        base = w * 1
        base.retain_grad()
        view = base[1:3]
        WRITES[write](lib, view, w[:2])
        seen: list[Any] = []
        base.register_hook(lambda grad: seen.append(grad.tolist()))
        loss = (view * view).sum()
        (asked,) = lib.autograd.grad(loss, base, retain_graph=True)
        loss.backward()
        return [asked.tolist(), seen, base.grad.tolist(), w.grad.tolist()]

    assert case(flow) == case(torch)


def test_the_activations_of_a_network_that_writes_in_place() -> None:
    gradients = []
    for lib in (flow, torch):
        x = lib.tensor(np.linspace(-1, 1, 6).reshape(2, 3)).requires_grad_()
        features = x * 2
        features.retain_grad()
        scores = lib.nn.ReLU(inplace=True)(features).pow(2).sum()
        scores.backward()
        gradients.append(features.grad.numpy())
    np.testing.assert_allclose(*gradients)
    assert gradients[0].any()


def test_hooks_stay_where_they_were_registered() -> None:
    for lib in (flow, torch):
        x = lib.ones(4, requires_grad=True) * 1
        before: list[Any] = []
        x.register_hook(lambda grad, seen=before: seen.append(grad.tolist()))
        x.retain_grad()
        x.mul_(3)
        (x * x).sum().backward()
        assert before == [[18.0] * 4]
        assert x.grad.tolist() == [6.0] * 4
