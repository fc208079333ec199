"""Learning rates as functions of the step, counted from 0: `oneflow.optimizer.*LrScheduler`.

Schedules with `steps` reach their end after that many; `warmup` changes the first rates.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from oneflow.legacy.warmup import Warmup


class LrScheduler:
    """A learning rate for each step.

    Args:
        base_lr: the first learning rate.
        warmup: the warmup of the first steps; it multiplies the learning rate of the step 0, and
            the schedule goes on from there as if it had run from the beginning.

    Example:
        >>> import oneflow as flow
        >>> class Halving(flow.optimizer.LrScheduler):
        ...     def learning_rate(self, step):
        ...         return self.base_lr / 2**step
        >>> [Halving(1.0)(step) for step in range(3)]
        [1.0, 0.5, 0.25]
    """

    def __init__(self, base_lr: float, warmup: Warmup | None = None) -> None:
        self.base_lr, self.warmup = base_lr, warmup

    def __call__(self, step: int) -> float:
        """Return the learning rate of this step."""
        if self.warmup is not None and step < self.warmup.steps:
            return self.learning_rate(0) * self.warmup.factor(step)
        return self.learning_rate(step)

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        raise NotImplementedError


class PiecewiseConstantScheduler(LrScheduler):
    """``values[i]`` between two boundaries.

    Args:
        boundaries: the steps after which the next value holds, in order.
        values: one more than boundaries.
        warmup: the warmup of the first steps.

    Raises:
        ValueError: there is another number of values.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([2], [0.1, 0.01])
        >>> [schedule(step) for step in range(4)]
        [0.1, 0.1, 0.01, 0.01]
    """

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], warmup: Warmup | None = None
    ) -> None:
        if len(values) != len(boundaries) + 1:
            raise ValueError(
                f"there must be one value more than boundaries, got {len(values)} and "
                f"{len(boundaries)}"
            )
        super().__init__(values[0], warmup)
        self.boundaries, self.values = list(boundaries), list(values)

    def learning_rate(self, step: int) -> float:
        """Return the value between the boundaries around the step."""
        return self.values[bisect.bisect_right(self.boundaries, step)]


class PiecewiseScalingScheduler(LrScheduler):
    """`base_lr`, multiplied by a scale at each boundary.

    Args:
        base_lr: the first learning rate.
        boundaries: the steps from which the next scale holds, in order.
        scale: one factor for all boundaries, or one for each.
        warmup: the warmup of the first steps.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseScalingScheduler(1.0, [2, 3], 0.5)
        >>> [schedule(step) for step in range(4)]
        [1.0, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        base_lr: float,
        boundaries: Sequence[int],
        scale: float | Sequence[float],
        warmup: Warmup | None = None,
    ) -> None:
        super().__init__(base_lr, warmup)
        self.boundaries = list(boundaries)
        self.scales = [scale] * len(boundaries) if isinstance(scale, int | float) else list(scale)
        if len(self.scales) != len(boundaries):
            raise ValueError(
                f"there must be a scale for each boundary, got {len(self.scales)} for "
                f"{len(boundaries)}"
            )

    def learning_rate(self, step: int) -> float:
        """Return `base_lr` times the scales of the boundaries that have been passed."""
        return self.base_lr * math.prod(self.scales[: bisect.bisect_right(self.boundaries, step)])


class _Decay(LrScheduler):
    """A schedule that ends after `steps`."""

    def __init__(self, base_lr: float, steps: int, warmup: Warmup | None) -> None:
        if steps <= 0:
            raise ValueError(f"`steps` must be positive, got {steps}")
        super().__init__(base_lr, warmup)
        self.steps = steps


class CosineScheduler(_Decay):
    """Half a cosine from `base_lr` to ``alpha * base_lr``.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.CosineScheduler(1.0, steps=4)
        >>> [round(schedule(step), 3) for step in range(6)]
        [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    def __init__(
        self, base_lr: float, steps: int, alpha: float = 0.0, warmup: Warmup | None = None
    ) -> None:
        super().__init__(base_lr, steps, warmup)
        self.alpha = alpha

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        done = min(step, self.steps) / self.steps
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        return self.base_lr * ((1 - self.alpha) * cosine + self.alpha)


class LinearCosineScheduler(_Decay):
    """A cosine of `num_periods` periods under a falling line, plus a constant.

    With ``t`` from 0 to 1 it is
    ``base_lr * ((alpha + 1 - t) * (1 + cos(2 pi num_periods t)) / 2 + beta)``.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.LinearCosineScheduler(1.0, steps=4, beta=0.0)
        >>> [round(schedule(step), 3) for step in range(5)]
        [1.0, 0.64, 0.25, 0.037, 0.0]
    """

    def __init__(
        self,
        base_lr: float,
        steps: int,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        warmup: Warmup | None = None,
    ) -> None:
        super().__init__(base_lr, steps, warmup)
        self.num_periods, self.alpha, self.beta = num_periods, alpha, beta

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        done = min(step, self.steps) / self.steps
        cosine = 0.5 * (1 + math.cos(2 * math.pi * self.num_periods * done))
        return self.base_lr * ((self.alpha + 1 - done) * cosine + self.beta)


class PolynomialScheduler(_Decay):
    """``(1 - step / steps) ** power`` from `base_lr` to `end_learning_rate`.

    Args:
        base_lr: the first learning rate.
        steps: after how many the end is reached.
        end_learning_rate: the last learning rate.
        power: the power of the polynomial.
        cycle: go on falling from above again, each time over more steps.
        warmup: the warmup of the first steps.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PolynomialScheduler(1.0, steps=4, end_learning_rate=0.0)
        >>> [schedule(step) for step in range(6)]
        [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """

    def __init__(
        self,
        base_lr: float,
        steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        warmup: Warmup | None = None,
    ) -> None:
        super().__init__(base_lr, steps, warmup)
        self.end_learning_rate, self.power, self.cycle = end_learning_rate, power, cycle

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        steps = self.steps * max(1, math.ceil(step / self.steps)) if self.cycle else self.steps
        left = 1 - min(step, steps) / steps
        return (self.base_lr - self.end_learning_rate) * left**self.power + self.end_learning_rate


class _Staircase(_Decay):
    """A decay by `decay_rate` per `steps` steps, in steps of that many if `staircase`."""

    def __init__(
        self,
        base_lr: float,
        steps: int,
        decay_rate: float,
        staircase: bool = False,
        warmup: Warmup | None = None,
    ) -> None:
        super().__init__(base_lr, steps, warmup)
        self.decay_rate, self.staircase = decay_rate, staircase

    def _progress(self, step: int) -> float:
        return step // self.steps if self.staircase else step / self.steps


class ExponentialScheduler(_Staircase):
    """``base_lr * decay_rate ** (step / steps)``.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.ExponentialScheduler(1.0, 2, 0.5, staircase=True)
        >>> [schedule(step) for step in range(4)]
        [1.0, 1.0, 0.5, 0.5]
    """

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        return self.base_lr * self.decay_rate ** self._progress(step)


class InverseTimeScheduler(_Staircase):
    """``base_lr / (1 + decay_rate * step / steps)``.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.InverseTimeScheduler(1.0, 1, 1.0)
        >>> [schedule(step) for step in range(2)]
        [1.0, 0.5]
    """

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        return self.base_lr / (1 + self.decay_rate * self._progress(step))


class NaturalExpScheduler(_Staircase):
    """``base_lr * exp(-decay_rate * step / steps)``.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.NaturalExpScheduler(1.0, steps=2, decay_rate=1.0)
        >>> [round(schedule(step), 3) for step in range(3)]
        [1.0, 0.607, 0.368]
    """

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of this step without warm-up."""
        return self.base_lr * math.exp(-self.decay_rate * self._progress(step))


class CustomScheduler(LrScheduler):
    """Refuses a learning rate that the job itself computes.

    Args:
        lbn: name of the blob.

    Raises:
        NotImplementedError: always; a learning rate is a function of the step.

    Example:
        >>> import oneflow as flow
        >>> flow.optimizer.CustomScheduler("rate")
        Traceback (most recent call last):
            ...
        NotImplementedError: blob `rate` cannot be a learning rate: the step's numbers...
    """

    def __init__(self, lbn: str) -> None:
        raise NotImplementedError(
            f"blob `{lbn}` cannot be a learning rate: the step's numbers are made before it runs; "
            "subclass oneflow.optimizer.LrScheduler and define `learning_rate(step)`"
        )
