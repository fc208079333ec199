"""Layers whose input or result has no elements, and batches of one value, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by
from tests.oracle import eager_mode


def _normalized(layer: str, *shape: int) -> Callable[[Any], Any]:
    def call(library: Any) -> Any:
        module = getattr(library.nn, layer)(3)
        output = module(library.zeros(*shape, requires_grad=True))
        output.sum().backward()
        statistics = module.running_mean.tolist(), module.running_var.tolist()
        gradients = module.weight.grad.tolist(), module.bias.grad.tolist()
        return tuple(output.shape), statistics, gradients, int(module.num_batches_tracked)

    return call


EMPTY_BATCHES = {
    "BatchNorm1d": _normalized("BatchNorm1d", 0, 3),
    "BatchNorm1d of rows": _normalized("BatchNorm1d", 0, 3, 4),
    "BatchNorm2d": _normalized("BatchNorm2d", 0, 3, 2, 2),
    "BatchNorm2d of empty images": _normalized("BatchNorm2d", 2, 3, 0, 2),
}
REFUSED = {
    "one value per channel": lambda library: library.nn.BatchNorm1d(3)(library.zeros(1, 3)),
    "one value per group": lambda library: library.nn.GroupNorm(3, 3)(library.zeros(1, 3)),
    "labels without classes": lambda library: library.nn.functional.cross_entropy(
        library.zeros(2, 0), library.zeros(2, dtype=library.int64)
    ),
    "likelihoods without classes": lambda library: library.nn.functional.nll_loss(
        library.zeros(2, 0), library.zeros(2, dtype=library.int64)
    ),
}


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize("name", EMPTY_BATCHES)
def test_empty_batches_leave_statistics_alone(name: str, mode: str) -> None:
    with eager_mode(mode):
        assert EMPTY_BATCHES[name](flow) == EMPTY_BATCHES[name](torch)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused(name: str) -> None:
    expected = raised_by(lambda: REFUSED[name](torch))
    assert raised_by(lambda: REFUSED[name](flow)) is expected


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize(("function", "size"), [("avg_pool1d", 0), ("avg_pool2d", (0, 2))])
def test_averages_over_nothing_have_no_gradient(function: str, size: Any, mode: str) -> None:
    """PyTorch has no backward pass of these."""
    x = flow.ones(2, 3, 4, *[4] * (function == "avg_pool2d"), requires_grad=True)
    with eager_mode(mode):
        output = getattr(flow.nn.functional, f"adaptive_{function}")(x, size)
        output.sum().backward()
        assert output.numel() == 0
        assert x.grad is not None
        assert not x.grad.any()
