"""Pipes of a part of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.data.pipe_graph import SHARDING_PRIORITIES
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import length_of


class _ShardingIterDataPipe(IterDataPipe):
    """The base of pipes that take a part of the samples."""

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES
    ) -> None:
        """Choose the part."""
        raise NotImplementedError(f"`{type(self).__name__}` must define `apply_sharding`")


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Every n-th sample of the source, for n parts.

    Args:
        source_datapipe: the source.
        sharding_group_filter: the division that counts; None: all.
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self._update_num_of_instances()

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Take a part.

        Args:
            num_of_instances: the number of parts.
            instance_id: the number of this one.
            sharding_group: what the samples are divided among; divisions nest in their order.

        Raises:
            ValueError: there are fewer parts.
            RuntimeError: the default division stands beside others.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (default in self.groups) != (sharding_group == default):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        self._update_num_of_instances()

    def _update_num_of_instances(self) -> None:
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter in (None, group):
                count, number = self.groups[group]
                self.instance_id += self.num_of_instances * number
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        for number, sample in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        full, rest = divmod(length_of(self, self.source_datapipe), self.num_of_instances)
        return full + (self.instance_id < rest)
