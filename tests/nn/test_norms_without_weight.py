"""Normalisation with a bias and no weight is one with a weight of ones, and so are gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

RNG = np.random.default_rng(2)
CHANNELS, LENGTH = 6, 3
NORMS: dict[str, tuple[int, Callable[..., Any]]] = {
    "batch": (CHANNELS, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "batch, evaluation": (
        CHANNELS,
        lambda x, w, b: F.batch_norm(x, flow.zeros(CHANNELS), flow.ones(CHANNELS) * 2, w, b),
    ),
    "instance": (CHANNELS, lambda x, w, b: F.instance_norm(x, weight=w, bias=b)),
    "group": (CHANNELS, lambda x, w, b: F.group_norm(x, 2, w, b)),
    "layer": (LENGTH, lambda x, w, b: F.layer_norm(x, (LENGTH,), w, b)),
}


def gradients(norm: Callable[..., Any], x: Any, weight: Any, bias: Any, second: bool) -> list[Any]:
    """Gradients in `x` and the bias, or those of the size of these."""
    y = norm(x, weight, bias)
    found: Any = flow.autograd.grad((y * y * y).sum(), [x, bias], create_graph=second)
    if second:
        squares = (found[0] * found[0]).sum() + (found[1] * found[1]).sum()
        found = flow.autograd.grad(squares, [x, bias])
    return list(found)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype", [flow.float32, flow.float16])
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("in_graph", [False, True])
def test_bias_without_weight(name: str, dtype: Any, second: bool, in_graph: bool) -> None:
    size, norm = NORMS[name]
    values = flow.tensor(RNG.normal(size=(4, CHANNELS, LENGTH)).astype(np.float32))
    x = values.to(dtype).requires_grad_()
    parameter = np.float32 if name != "layer" else dtype.numpy
    bias = flow.tensor(RNG.normal(size=size).astype(parameter), requires_grad=True)
    ones = flow.ones(size, dtype=bias.dtype)

    class Pass(nn.Graph):
        def build(self, x: Any, bias: Any, weight: Any = None) -> Any:
            return gradients(norm, x, weight, bias, second)

    if in_graph:
        found, right = Pass()(x, bias), Pass()(x, bias, ones)
    else:
        found, right = (gradients(norm, x, weight, bias, second) for weight in (None, ones))
    tolerance = 1e-4 if dtype is flow.float32 else 3e-2
    for mine, theirs in zip(found, right, strict=True):
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype
        scale = float(theirs.float().abs().max()) + 1
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=tolerance * scale)
