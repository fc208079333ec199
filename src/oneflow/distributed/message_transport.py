"""The way of arrays between processes by messages, on NumPy: no shape is compiled for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.placement import Placement
from oneflow.control_plane.message_channel import message_channel
from oneflow.primitives.sharding.host_boxing import add_parts, all_reduce
from oneflow.runtime.conversions import exchange_on, receive
from oneflow.tuning.host_memory import empty_for_xla


class MessageTransport:
    """See `Transport`.

    Args:
        ranks: the processes.
        description: the description of what is sent; other processes take it for nothing else.
    """

    numpy = np

    def __init__(self, ranks: tuple[int, ...], description: str) -> None:
        self.size = len(ranks)
        self._ranks = ranks
        self._index = ranks.index(cluster.rank())
        self._address = ranks, description
        placement = Placement("cpu", ranks)
        self._exchange = functools.partial(exchange_on(placement, self._address), 0)

    def sum(self, array: Any) -> Any:
        """The sum of the arrays of all processes."""
        own = {(self._index,): array}
        return all_reduce(own, self.size, self._exchange, empty_for_xla)[self._index,]

    def sum_of_part(self, parts: Sequence[Any]) -> Any:
        """On process `i` the sum of part `i` of all processes."""
        return add_parts(self.all_to_all(parts), empty_for_xla)

    def all_gather(self, array: Any) -> Sequence[Any]:
        """The array of each process."""
        return self.all_to_all([array] * self.size)

    def all_to_all(self, parts: Sequence[Any]) -> Sequence[Any]:
        """On process `i` part `i` of each process."""
        return self._exchange({(self._index,): parts})[self._index,]

    def broadcast(self, arrays: Sequence[Any], source: int) -> tuple[Any, ...]:
        """The arrays of process `source`."""
        return tuple(self.scatter([array] * self.size, source) for array in arrays)

    def scatter(self, parts: Sequence[Any], source: int) -> Any:
        """On process `i` part `i` of process `source`."""
        if self._index != source:
            return receive(self._ranks[source], self._address)
        for rank, part in zip(self._ranks, parts, strict=True):
            if rank != cluster.rank():
                message_channel().send(rank, self._address, part, is_one_way=True)
        return parts[source]

    def transfer(self, array: Any, source: int, destination: int) -> Any:
        """On process `destination` the array of process `source`."""
        if self._index == source:
            rank = self._ranks[destination]
            message_channel().send(rank, self._address, array, is_one_way=True)
        return receive(self._ranks[source], self._address) if self._index == destination else array
