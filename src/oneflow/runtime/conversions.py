"""Conversions of global tensors on CPUs, on the host and by messages.

A message is sent for any shape, where Gloo needs a program for each; and it is no slower: between
two processes on one machine all-reduces of 256 bytes to 16 MB took as long or half as long. So all
eager conversions on CPUs go by messages, and no process waits for what another compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement
from oneflow.control_plane.message import Address
from oneflow.control_plane.message_channel import NO_TIMEOUT, message_channel
from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.primitives.sharding.host_boxing import Chunks, Exchange
from oneflow.program.ir import Program
from oneflow.runtime.part_arrays import PartArrays, convert_parts
from oneflow.runtime.shards import Coordinate


def is_collective(operation: Operation) -> bool:
    """Return whether an operation exchanges data between processes."""
    return (
        isinstance(operation.device, Placement)
        and cluster.is_multiprocess()
        and bool(collectives_of(operation))
    )


def any_collective(program: Program) -> bool:
    """Return whether an instruction of a program exchanges data between processes."""
    return any(is_collective(instruction.operation) for instruction in program.instructions)


def convert(operation: Operation, operand: Any) -> PartArrays:
    """The result of a conversion.

    Args:
        operation: `boxing`.
        operand: its array.
    """
    exchange = exchange_on(operation.device, (operation.device.flat, repr(operation)))
    if not is_collective(operation):
        return convert_parts(operation, operand, exchange)

    def run() -> PartArrays:
        # Another thread than the one whose errors are ignored.
        with np.errstate(all="ignore"):
            return convert_parts(operation, operand, exchange)

    # Half an exchange would be taken for the beginning of the next one.
    return run_without_interrupt(run)


def receive(rank: int, address: Address) -> np.ndarray:
    """The next message of another process under an address."""
    return message_channel().recv((rank,), address, NO_TIMEOUT)[1]


def exchange_on(placement: Placement, address: Address) -> Exchange:
    """A function that sends chunks between the devices of a placement.

    Args:
        placement: the devices.
        address: the address of what is sent; other processes take it for nothing else.
    """
    ranks = dict(zip(np.ndindex(*placement.hierarchy), placement.flat, strict=True))

    def exchange(axis: int, chunks: Chunks) -> Chunks:
        received: dict[Coordinate, list[Any]] = {
            coordinate: [None] * len(own) for coordinate, own in chunks.items()
        }
        remote = []
        for coordinate, own in chunks.items():
            for position, chunk in enumerate(own):
                peer = (*coordinate[:axis], position, *coordinate[axis + 1 :])
                if peer in chunks:
                    received[peer][coordinate[axis]] = chunk
                else:
                    message_channel().send(ranks[peer], address, chunk)
                    remote.append((coordinate, position, ranks[peer]))
        for coordinate, position, rank in remote:
            received[coordinate][position] = receive(rank, address)
        return received

    return exchange
