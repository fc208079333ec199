"""``torch.distributed.algorithms.model_averaging.hierarchical_model_averager``: nested groups."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from oneflow import distributed
from oneflow.distributed.groups import ProcessGroup
from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging.averagers import (
    ModelAverager,
    check_warmup,
    warn_of_period_one,
)
from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging.utils import (
    average_parameters_or_parameter_groups,
)
from oneflow.mock_torch.pytorch.distributed.distributed_c10d import new_subgroups


class HierarchicalModelAverager(ModelAverager):
    """The mean of the parameters in groups that grow with their periods.

    Source: Castiglia et al., "Multi-Level Local SGD", 2020.

    Args:
        period_group_size_dict: the sizes of the groups by the numbers of steps between two means,
            in ascending order; the last size is that of `process_group`.
        warmup_steps: the number of steps before the first mean.
        process_group: the processes, by default all.

    Attributes:
        period_process_group_dict: the group of this process for each period.

    Raises:
        ValueError: no groups, a period that is not positive, a last group of another size, or
            negative `warmup_steps`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging import (
        ...     hierarchical_model_averager as hierarchical,
        ... )
        >>> size = flow.distributed.get_world_size()
        >>> averager = hierarchical.HierarchicalModelAverager({4: size}, warmup_steps=100)
        >>> averager.average_parameters([flow.nn.Parameter(flow.ones(2))])
        >>> averager.step
        1
    """

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("`period_group_size_dict` must not be empty")
        periods = list(period_group_size_dict)
        if periods[0] <= 0:
            raise ValueError(
                "the smallest period in `period_group_size_dict` must be a positive value, got "
                f"{periods[0]}"
            )
        if periods[-1] == 1:
            warn_of_period_one()
        size, last = distributed.get_world_size(process_group), period_group_size_dict[periods[-1]]
        if last != size:
            raise ValueError(
                f"the last size in `period_group_size_dict` must be that of the group, {size}, "
                f"got {last}"
            )
        check_warmup(warmup_steps)
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = OrderedDict(
            (period, process_group if members == size else new_subgroups(members, process_group)[0])
            for period, members in period_group_size_dict.items()
        )

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters that have a gradient in the largest group whose time it is.

        Args:
            params: parameters of a model, or groups of an optimizer.
        """
        due = [
            group
            for period, group in self.period_process_group_dict.items()
            if self.step >= self.warmup_steps and self.step % period == 0
        ]
        if due:
            average_parameters_or_parameter_groups(params, due[-1])
        self.step += 1


__all__ = ["HierarchicalModelAverager"]
