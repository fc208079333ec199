"""Learning rates of the first steps: `oneflow.optimizer.warmup`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Warmup:
    """The first `steps` steps: the learning rate times `factor(step)`.

    Example:
        >>> import oneflow as flow
        >>> warmup = flow.optimizer.warmup.Warmup(2, lambda step: (step + 1) / 4)
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [1.0], warmup=warmup)
        >>> [schedule(step) for step in range(3)]
        [0.25, 0.5, 1.0]
    """

    steps: int
    factor: Callable[[int], float]


def constant(steps: int, multiplier: float) -> Warmup:
    """Multiply the first `steps` learning rates by `multiplier`.

    Example:
        >>> import oneflow as flow
        >>> warmup = flow.optimizer.warmup.constant(2, 0.1)
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [1.0], warmup=warmup)
        >>> [schedule(step) for step in range(4)]
        [0.1, 0.1, 1.0, 1.0]
    """
    return Warmup(steps, lambda step: multiplier)


def linear(steps: int, start_multiplier: float) -> Warmup:
    """Let the first `steps` learning rates grow in a line.

    Example:
        >>> import oneflow as flow
        >>> warmup = flow.optimizer.warmup.linear(2, 0.0)
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [1.0], warmup=warmup)
        >>> [schedule(step) for step in range(4)]
        [0.0, 0.5, 1.0, 1.0]
    """
    return Warmup(steps, lambda step: start_multiplier + (1 - start_multiplier) * step / steps)
