"""Training with unequal numbers of batches: processes that have none left go along with the others.

A process joins when its data end. From then on it takes part in what the others communicate, with
contributions that change nothing, until all have joined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.base.placement import Placement
from oneflow.distributed.groups import ProcessGroup, group_ranks
from oneflow.tensor.global_values import all_gather_ints


class JoinHook:
    """The actions of a process that has joined, in the place of an object that trains.

    Example:
        >>> from oneflow.distributed.joining import JoinHook
        >>> JoinHook().post_hook(is_last_joiner=True)
    """

    def main_hook(self) -> None:
        """Communicate as the object does in one step of the other processes."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Finish when all processes have joined.

        Args:
            is_last_joiner: whether this process has trained until the end.
        """


@dataclass(frozen=True)
class JoinConfig:
    """The facts about its context that an object needs to train in it.

    Attributes:
        enable: whether there is one.
        throw_on_early_termination: raise on all processes when one joins.
        is_first_joinable: whether this is the object that tells joined processes of each step.
    """

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """The base of objects that communicate in each step and can do so beside joined processes.

    Each calls `Join.notify_join_context` before what it communicates in a step.
    """

    _join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what this process does in the object's place when it has joined."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the communicated tensors."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup | None:
        """The processes that train together."""


class Join:
    """The context of training in which processes may run out of data at different times.

    Args:
        joinables: the objects that communicate in each step, in this order.
        enable: False does nothing, for data known to be even.
        throw_on_early_termination: raise on all processes when the first one has no data left.
        kwargs: is passed to `join_hook` of all objects.

    Raises:
        ValueError: there is no object, or they belong to different groups.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.parallel import DistributedDataParallel
        >>> model = DistributedDataParallel(flow.nn.Linear(2, 1))
        >>> with model.join():
        ...     for _ in range(3 + flow.env.get_rank()):
        ...         model(flow.ones(4, 2)).sum().backward()
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("`joinables` must hold at least one object, got none")
        groups = {group_ranks(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ValueError(
                f"all `joinables` must belong to one group of processes, got {sorted(groups)}"
            )
        (self._ranks,) = groups
        self._joinables, self._enable = list(joinables), enable
        self._throws = throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]

    def __enter__(self) -> None:
        for index, joinable in enumerate(self._joinables):
            joinable._join_config = JoinConfig(self._enable, self._throws, index == 0)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Go along with the processes that still train, and finish together.

        Raises:
            RuntimeError: they asked for an error when data end.
        """
        for joinable in self._joinables:
            joinable._join_config = JoinConfig()
        if not self._enable or kind is not None:
            return
        is_last = True
        while any(_gather_flags(False, self._ranks)):
            if self._throws:
                _gather_flags(True, self._ranks)
                raise RuntimeError("this process has no data left, and others have")
            for hook in self._hooks:
                hook.main_hook()
            is_last = False
        for hook in self._hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Tell the processes that have joined of one more step; does nothing outside of a context.

        Args:
            joinable: the object that is about to communicate.

        Raises:
            RuntimeError: another process has no data left, and the context asks for an error then.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return
        ranks = group_ranks(joinable.join_process_group)
        _gather_flags(True, ranks)
        if config.throw_on_early_termination and any(_gather_flags(False, ranks)):
            raise RuntimeError("another process has no data left")


def _gather_flags(flag: bool, ranks: tuple[int, ...]) -> list[bool]:
    """Return what each process says."""
    gathered = all_gather_ints([flag], Placement("cpu", ranks))
    return gathered[:, 0].astype(bool).tolist()
