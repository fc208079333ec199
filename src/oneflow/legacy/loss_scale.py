"""Scales of losses: `oneflow.optimizer.loss_scale`.

Optimizers accept them and do not scale: jobs compute losses and gradients in float32, and products
in half precision add up in float32.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LossScale:
    """An optimizer's `loss_scale_policy`.

    Attributes:
        factor: the factor of the first loss.
        increment_period: steps after which the factor grows; None if it stays.
        multiplier: the factor by which it grows.

    Example:
        >>> import oneflow as flow
        >>> flow.optimizer.loss_scale.LossScale(128.0).increment_period is None
        True
    """

    factor: float
    increment_period: int | None = None
    multiplier: float = 1.0


def static_loss_scale(loss_scale_factor: float) -> LossScale:
    """Describe a factor that stays.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        >>> policy = flow.optimizer.loss_scale.static_loss_scale(128)
        >>> optimizer = flow.optimizer.SGD(schedule, loss_scale_policy=policy)
    """
    return LossScale(loss_scale_factor)


def dynamic_loss_scale(
    initial_loss_scale: float = 2.0**30, increment_period: int = 2000, multiplier: float = 2.0
) -> LossScale:
    """Describe a factor that grows as long as gradients are finite.

    Example:
        >>> import oneflow as flow
        >>> flow.optimizer.loss_scale.dynamic_loss_scale(increment_period=100).increment_period
        100
    """
    return LossScale(initial_loss_scale, increment_period, multiplier)
