"""Operators beneath the scaling of gradients."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from oneflow.tensor.tensor import Tensor


def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiply gradients by a number, in place, and set another one to 1 if one is not finite.

    Args:
        self: the gradients.
        found_inf: becomes 1 if an element is infinite or NaN, and stays as it is otherwise.
        inv_scale: the number.
    """
    for gradient in self:
        is_finite = flow.isfinite(gradient).all()
        found_inf.copy_(flow.where(is_finite, found_inf, flow.ones_like(found_inf)))
        gradient.mul_(inv_scale.to(gradient.dtype))


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Update the factor of gradients, in place: less after an overflow, more after many steps.

    Args:
        self: the factor.
        growth_tracker: how many steps there were without an overflow; updated, too.
        found_inf: not 0 after an overflow.
        scale_growth_factor: multiplies the factor after `growth_interval` such steps.
        scale_backoff_factor: multiplies it after an overflow.
        growth_interval: the number of steps.

    Returns:
        The factor.
    """
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.zero_()
        return self
    if growth_tracker.item() + 1 < growth_interval:
        growth_tracker.add_(1)
        return self
    scaled = self * scale_growth_factor
    if flow.isfinite(scaled).item():
        self.copy_(scaled)
    growth_tracker.zero_()
    return self
