"""The run-time numbers of a program on its device; unchanged numbers are not sent again.

On accelerators a program takes a table of float64 and one of int64, and the row that holds the
numbers of this run. The numbers that optimizers, their schedules and generators will need are known
in advance. So a table is sent once for many steps, and rows are numbers that are on the device for
good: in the steps between nothing is sent. The host counts as if there were no tables, and
compares: numbers that are others than those expected are sent, so that a table never decides what a
step computes with. On CPUs programs take vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

from oneflow.base.device import Device, xla_device
from oneflow.base.placement import Placement
from oneflow.base.x64 import in_x64
from oneflow.compiler.sharding import on_local_devices
from oneflow.program.update_number import UpdateNumber, uses_number_tables

_MAX_ROWS = 64
_MAX_BYTES = 2**16  # of a table
# Runs for which nobody asks what is to come after it was wrong; they double each time.
_FIRST_BACKOFF, _MAX_BACKOFF = 1, 4096
# Devices and placements of which the rows are kept.
_MAX_DEVICES = 512


def number_arguments(
    floats: int, integers: int, device: Device | Placement
) -> NumberVectors | NumberTables:
    """The arguments of a program for its run-time numbers.

    Args:
        floats: how many numbers are passed as floats.
        integers: how many are passed as integers.
        device: where the program runs.
    """
    sizes = ((floats, np.float64), (integers, np.int64))
    kinds = [(count, np.dtype(kind)) for count, kind in sizes if count]
    largest = max((count * dtype.itemsize for count, dtype in kinds), default=_MAX_BYTES)
    rows = min(_MAX_ROWS, _MAX_BYTES // largest)
    if rows < 2 or not uses_number_tables(device):
        return NumberVectors(kinds, device)
    return NumberTables(kinds, device, rows)


class NumberVectors:
    """The numbers that each run of a program takes, as vectors.

    A vector of which the last run had an equal one stays on the device from then on. Others are
    given as NumPy's: XLA copies these in less time than a transfer of their own takes.

    Args:
        kinds: the length and dtype of each vector.
        device: where the program runs.
    """

    def __init__(self, kinds: Sequence[tuple[int, np.dtype]], device: Device | Placement) -> None:
        self._kinds = kinds
        self._device = device
        # The bits of each vector, and its array; one object, for several threads may come here.
        self._last: list[tuple[bytes, Any]] = [(b"", None) for _ in kinds]

    def abstract(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the vectors."""
        return _abstract([((count,), dtype) for count, dtype in self._kinds], self._device)

    def with_row(self, function: Callable[..., Any], first: int) -> Callable[..., Any]:
        """The function itself, which takes vectors."""
        return function

    def __call__(self, vectors: Sequence[np.ndarray], floats: Sequence[Any]) -> list[Any]:
        """The vectors as arguments of the program."""
        arguments: list[Any] = []
        for place, vector in enumerate(vectors):
            bits = vector.tobytes()
            last, array = self._last[place]
            if bits != last:
                self._last[place] = bits, None
                array = vector
            elif array is None:
                array = _replicated(vector, self._device)
                self._last[place] = bits, array
            arguments.append(array)
        return arguments


class _Transfer(NamedTuple):
    """The arguments of a run.

    Attributes:
        rows: the bits of each row of the tables that is in use.
        row: the one of that run.
        tables: the tables.
        numbers: for each row its number, on the device.
        on_device: the tables are there, too; else they are NumPy's.
    """

    rows: Sequence[bytes]
    row: int
    tables: list[Any]
    numbers: Sequence[Any]
    on_device: bool


class NumberTables:
    """The numbers that each run of a program takes, as rows of tables.

    The first ones are given as NumPy's, for one run: XLA copies these in less time than a transfer
    of their own takes. If the next run needs the same numbers, or others of which those of the runs
    to come are known, they stay on the device from then on.

    Args:
        kinds: the number of columns and the dtype of each table.
        device: where the program runs.
        rows: the rows of each, at least two.
    """

    def __init__(
        self, kinds: Sequence[tuple[int, np.dtype]], device: Device | Placement, rows: int
    ) -> None:
        self._kinds = kinds
        self._device = device
        self._count = rows
        # One object, for several threads may come here.
        self._sent = _Transfer((), 0, [], [], False)
        self._backoff, self._next_backoff = 0, _FIRST_BACKOFF

    def abstract(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the tables and of the row."""
        tables = [_as_words(table) for table in self._empty()]
        shapes: list[Any] = [(table.shape, table.dtype) for table in tables]
        return _abstract([*shapes, ((), np.dtype(np.uint32))], self._device)

    def with_row(self, function: Callable[..., Any], first: int) -> Callable[..., Any]:
        """A function of tables and a row, made of one of vectors.

        Args:
            function: takes the vectors after its first arguments.
            first: the number of these.
        """
        end = first + len(self._kinds)

        def run(*arguments: Any) -> Any:
            row = arguments[end]
            vectors = [
                _as_numbers(lax.dynamic_index_in_dim(table, row, keepdims=False))
                for table in arguments[first:end]
            ]
            return function(*arguments[:first], *vectors, *arguments[end + 1 :])

        return run

    def __call__(self, vectors: Sequence[np.ndarray], floats: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a run: the tables and the row.

        Args:
            vectors: the numbers.
            floats: those passed as floats as they came, by which those to come are known.
        """
        bits = b"".join([vector.tobytes() for vector in vectors])
        rows, row, tables, numbers, on_device = self._sent
        if not on_device:
            return self._send(bits, vectors, floats)
        if bits != rows[row]:
            row += 1
            if row == len(rows) or bits != rows[row]:
                return self._send(bits, vectors, floats)
            self._sent = _Transfer(rows, row, tables, numbers, True)
        return *tables, numbers[row]

    def _send(
        self, bits: bytes, vectors: Sequence[np.ndarray], floats: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The arguments of a run that needs other numbers than expected."""
        rows, row, _, _, on_device = self._sent
        if rows and bits == rows[row]:  # and so they will be
            return self._transfer([bits], self._filled(vectors))
        if on_device and len(rows) > 1:
            if row == 0:
                self._backoff = self._next_backoff
                self._next_backoff = min(2 * self._next_backoff, _MAX_BACKOFF)
            elif row == len(rows) - 1:
                self._next_backoff = _FIRST_BACKOFF
        if not rows or self._backoff:
            self._backoff = max(self._backoff - 1, 0)
            return self._pass_from_host(bits, vectors)
        tables = self._filled(vectors)
        self._extrapolate(tables, floats, rows[row])
        pairs = zip(*[[row.tobytes() for row in table] for table in tables], strict=True)
        expected = list(map(b"".join, pairs))
        if expected[1] == bits:
            return self._pass_from_host(bits, vectors)
        return self._transfer(expected, tables)

    def _empty(self) -> list[np.ndarray]:
        """Tables without numbers."""
        return [np.empty((self._count, count), dtype) for count, dtype in self._kinds]

    def _filled(self, vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Tables all of whose rows are these numbers."""
        return [np.tile(vector, (self._count, 1)) for vector in vectors]

    def _extrapolate(self, tables: list[np.ndarray], floats: Sequence[Any], before: bytes) -> None:
        """Write the numbers to come into all rows but the first.

        The integers, which belong to generators, grow as they did from the run before to this one.
        """
        steps = self._count - 1
        for place, number in enumerate(floats):
            if type(number) is UpdateNumber:
                try:
                    numbers = np.array(number.ahead(steps), np.float64)
                except Exception:  # which the steps themselves will raise if they are made
                    continue
                tables[0][1:, place : place + numbers.shape[1]] = numbers
        last = tables[-1]
        if last.dtype.kind == "i":
            step = last[0] - np.frombuffer(before, last.dtype)[-last.shape[1] :]
            last += step * np.arange(self._count)[:, None]

    def _pass_from_host(self, bits: bytes, vectors: Sequence[np.ndarray]) -> tuple[Any, ...]:
        """Give the numbers of one run to the program itself."""
        tables = self._empty()
        for table, vector in zip(tables, vectors, strict=True):
            table[0] = vector
        tables = list(map(_as_words, tables))
        numbers = [_row_on(self._device, 0)]
        self._sent = _Transfer((bits,), 0, tables, numbers, False)
        return *tables, numbers[0]

    def _transfer(self, rows: list[bytes], tables: list[np.ndarray]) -> tuple[Any, ...]:
        """Send tables that stay on the device."""
        arrays = [_replicated(_as_words(table), self._device) for table in tables]
        numbers = [_row_on(self._device, row) for row in range(len(rows))]
        self._sent = _Transfer(rows, 0, arrays, numbers, True)
        return *arrays, numbers[0]


def _as_words(table: np.ndarray) -> np.ndarray:
    """Integers as their words, all low ones first: TPUs would take each apart in each run."""
    if table.dtype != np.int64:
        return table
    words = table.view(np.uint32)
    return np.concatenate([words[:, 0::2], words[:, 1::2]], axis=1)


def _as_numbers(row: jax.Array) -> jax.Array:
    """The numbers of a row as it was sent."""
    if row.dtype != np.uint32:
        return row
    low, high = jnp.split(row.astype(np.uint64), 2)
    return (high << np.uint64(32) | low).astype(np.int64)


def _abstract(shapes: Sequence[tuple[Any, Any]], device: Device | Placement) -> list[Any]:
    """Arguments of these shapes and dtypes, on each device of a placement."""
    sharding = None
    if isinstance(device, Placement):
        sharding = NamedSharding(device.mesh, PartitionSpec())
    return [jax.ShapeDtypeStruct(shape, dtype, sharding=sharding) for shape, dtype in shapes]


@functools.lru_cache(maxsize=_MAX_DEVICES * _MAX_ROWS)
def _row_on(device: Device | Placement, row: int) -> Any:
    """The number of a row, on a device."""
    return _replicated(np.uint32(row), device)


@in_x64
def _replicated(array: Any, device: Device | Placement) -> Any:
    """An array on a device, or on each of a placement."""
    if not isinstance(device, Placement):
        return jax.device_put(array, xla_device(device))
    return on_local_devices(array, device, array.shape, PartitionSpec())
