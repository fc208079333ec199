"""Channels-last images: with ``ONEFLOW_ENABLE_NHWC=1`` layers on images take ``[N, H, W, C]``."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from oneflow.base.environment import ENABLE_NHWC
from oneflow.functional.shape.reshape import permute
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor

Layer = TypeVar("Layer", bound=type[Module])


def accept_channels_last(layer: Layer) -> Layer:
    """Class decorator: the layer takes and gives channels last while the environment says so.

    Weights and their names stay as they are. The compiler cancels the transpositions between
    layers.
    """
    plain = layer.forward

    @functools.wraps(plain)
    def forward(self: Any, input: Tensor, *rest: Any) -> Any:
        if input.ndim != 4 or ENABLE_NHWC.read() != "1":
            return plain(self, input, *rest)
        result = plain(self, permute(input, (0, 3, 1, 2)), *rest)
        if isinstance(result, tuple):
            return tuple(permute(tensor, (0, 2, 3, 1)) for tensor in result)
        return permute(result, (0, 2, 3, 1))

    layer.forward = forward
    return layer
