"""Collective operations: functions of this process's arrays, with tuples of results.

All processes of a group call them at once. The `Transport` says how their arrays reach each other:
within a compiled program (`compiled_transport.py`), or by messages (`message_transport.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Protocol

from oneflow.distributed.reduce_op import ReduceOp

# NumPy's names of the functions that reduce two arrays to one; sums are the transport's.
_COMBINATIONS = {
    ReduceOp.PRODUCT: "multiply",
    ReduceOp.MIN: "minimum",
    ReduceOp.MAX: "maximum",
    ReduceOp.BAND: "bitwise_and",
    ReduceOp.BOR: "bitwise_or",
    ReduceOp.BXOR: "bitwise_xor",
}


class Transport(Protocol):
    """The way of arrays between the processes of a group.

    Attributes:
        size: the number of processes.
        numpy: the functions of NumPy for its arrays.
    """

    size: int
    numpy: Any

    def sum(self, array: Any) -> Any:
        """The sum of the arrays of all processes."""
        ...

    def sum_of_part(self, parts: Sequence[Any]) -> Any:
        """On process `i` the sum of part `i` of all processes."""
        ...

    def all_gather(self, array: Any) -> Sequence[Any]:
        """The array of each process."""
        ...

    def all_to_all(self, parts: Sequence[Any]) -> Sequence[Any]:
        """On process `i` part `i` of each process."""
        ...

    def broadcast(self, arrays: Sequence[Any], source: int) -> tuple[Any, ...]:
        """The arrays of process `source`, bit for bit."""
        ...

    def scatter(self, parts: Sequence[Any], source: int) -> Any:
        """On process `i` part `i` of process `source`, bit for bit."""
        ...

    def transfer(self, array: Any, source: int, destination: int) -> Any:
        """On process `destination` the array of process `source`."""
        ...


def all_reduce(transport: Transport, array: Any, op: ReduceOp = ReduceOp.SUM) -> tuple[Any]:
    """Return the sum of the arrays of all processes, or another reduction of them."""
    if op is ReduceOp.SUM:
        return (transport.sum(array),)
    if op is ReduceOp.AVG:
        return average(transport, array)
    return (_combined(transport, transport.all_gather(array), op),)


def average(transport: Transport, *arrays: Any) -> tuple[Any, ...]:
    """Return the means over all processes, of arrays known to have equal shapes everywhere.

    Each array is divided before they are added, so that no sum overflows whose mean is finite.
    """
    return tuple(transport.sum(_scaled(transport, array)) for array in arrays)


def all_gather(transport: Transport, array: Any) -> tuple[Any, ...]:
    """Return the array of each process."""
    return tuple(transport.all_gather(array))


def all_gather_into_tensor(transport: Transport, array: Any, shape: tuple[int, ...]) -> tuple[Any]:
    """Concatenate the elements of the arrays of all processes, in this shape."""
    return (transport.numpy.stack(transport.all_gather(array)).reshape(shape),)


def reduce_scatter(transport: Transport, *parts: Any, op: ReduceOp = ReduceOp.SUM) -> tuple[Any]:
    """Sum part `i` of all processes for process `i`, or reduce them otherwise."""
    if op is ReduceOp.SUM:
        return (transport.sum_of_part(parts),)
    if op is ReduceOp.AVG:
        return (transport.sum_of_part([_scaled(transport, part) for part in parts]),)
    return (_combined(transport, transport.all_to_all(parts), op),)


def reduce_scatter_tensor(
    transport: Transport, array: Any, shape: tuple[int, ...], op: ReduceOp = ReduceOp.SUM
) -> tuple[Any]:
    """Reduce the arrays of all processes; process `i` gets part `i` along dimension 0."""
    return reduce_scatter(transport, *array.reshape(transport.size, *shape), op=op)


def all_to_all(transport: Transport, *parts: Any) -> tuple[Any, ...]:
    """Send part `i` to process `i`."""
    return tuple(transport.all_to_all(parts))


def broadcast(transport: Transport, *arrays: Any, source: int) -> tuple[Any, ...]:
    """Return the arrays of process `source` on all processes."""
    return transport.broadcast(arrays, source)


def scatter(transport: Transport, *parts: Any, source: int) -> tuple[Any]:
    """Return part `i` of process `source` on process `i`."""
    return (transport.scatter(parts, source),)


def barrier(transport: Transport, array: Any) -> tuple[Any]:
    """Return a result that depends on all processes."""
    return (transport.sum(array),)


def transfer(transport: Transport, array: Any, source: int, destination: int) -> tuple[Any]:
    """Send the array of process `source` to process `destination`, of two."""
    return (transport.transfer(array, source, destination),)


def _scaled(transport: Transport, array: Any) -> Any:
    return array / transport.numpy.asarray(transport.size, array.dtype)


def _combined(transport: Transport, arrays: Sequence[Any], op: ReduceOp) -> Any:
    return functools.reduce(getattr(transport.numpy, _COMBINATIONS[op]), arrays)
