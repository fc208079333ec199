"""Clipping of gradients, by the name of a way."""

from __future__ import annotations

from collections.abc import Iterable

import oneflow as flow
from flowvision.utils.agc import adaptive_clip_grad
from oneflow import nn


def dispatch_clip_grad(
    parameters: Iterable[flow.Tensor], value: float, mode: str = "norm", norm_type: float = 2.0
) -> None:
    """Clip gradients in place.

    Args:
        parameters: the parameters.
        value: the limit.
        mode: ``"norm"`` of all together, ``"value"`` of each number, or ``"agc"``: see
            `adaptive_clip_grad`.
        norm_type: exponent of the norm.

    Raises:
        ValueError: another mode.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import dispatch_clip_grad
        >>> weight = flow.ones(2, requires_grad=True)
        >>> (100 * weight).sum().backward()
        >>> dispatch_clip_grad([weight], 0.5, mode="value")
        >>> weight.grad
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    if mode == "norm":
        nn.utils.clip_grad_norm_(parameters, value, norm_type=norm_type)
    elif mode == "value":
        nn.utils.clip_grad_value_(parameters, value)
    elif mode == "agc":
        adaptive_clip_grad(parameters, value, norm_type=norm_type)
    else:
        raise ValueError(f"mode should be 'norm', 'value' or 'agc', got {mode!r}")
