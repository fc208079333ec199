"""``torch.distributed.algorithms.model_averaging.averagers``: means of parameters after steps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from oneflow.distributed.groups import ProcessGroup
from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging.utils import (
    average_parameters_or_parameter_groups,
)


class ModelAverager(ABC):
    """The base of the classes that average parameters over processes.

    Attributes:
        process_group: the processes; None: all.
        step: the number of calls so far.
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average the parameters if it is time, and count the step."""


def check_warmup(warmup_steps: int) -> None:
    """Check a number of steps without means.

    Raises:
        ValueError: it is negative.
    """
    if warmup_steps < 0:
        raise ValueError(f"`warmup_steps` must be a non-negative number, got {warmup_steps}")


def warn_of_period_one() -> None:
    """Warn that means in every step send no less than gradients do."""
    warnings.warn(
        "parameters that are averaged in every step send no less than gradients do: use "
        "DistributedDataParallel alone",
        stacklevel=3,
    )


class PeriodicModelAverager(ModelAverager):
    """The mean of the parameters after each `period` steps.

    Source: Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", 2018.

    Args:
        period: the number of steps from one mean to the next.
        warmup_steps: the number of steps before the first one.
        process_group: the processes, by default all.

    Raises:
        ValueError: `period` is not positive, or `warmup_steps` is negative.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging import averagers
        >>> averager = averagers.PeriodicModelAverager(period=4, warmup_steps=100)
        >>> averager.average_parameters([flow.nn.Parameter(flow.ones(2))])
        >>> averager.step
        1
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        check_warmup(warmup_steps)
        if period < 1:
            raise ValueError(f"`period` must be a positive value, got {period}")
        if period == 1:
            warn_of_period_one()
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters that have a gradient, if it is time, and count the step.

        Args:
            params: parameters of a model, or groups of an optimizer.
        """
        later_steps = self.step - self.warmup_steps
        if later_steps >= 0 and later_steps % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


__all__ = ["ModelAverager", "PeriodicModelAverager"]
