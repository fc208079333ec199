"""Compilation of what NumPy has computed for long enough, wherever it comes back.

A loop in which every step has another shape never gets hot. Parts of it do: an elementwise operator
is compiled for blocks of elements, which serves every shape, and an operation that comes back with
the same shapes, such as an optimizer's update, as it is. Both happen on the background thread, when
NumPy has taken about as long as that takes; so at most half of the time is lost, whatever follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any

from oneflow.compiler.lower import Use, compile_operation, compiled_operation
from oneflow.primitives.operation import Operation
from oneflow.runtime.background import COMPILER
from oneflow.runtime.block_functions import BlockFunction, block_function
from oneflow.runtime.counters import STATISTICS, compiling

# Seconds of NumPy after which something is compiled.
_MIN_SECONDS = 0.15
# Seconds of one run; the time of shorter ones is not added up.
_MIN_RUN_SECONDS = 0.0001
# Elements from which on a block pays; and NumPy's seconds for each.
_MIN_ELEMENTS, _MIN_SECONDS_PER_ELEMENT = 1 << 12, 4e-9
# Seconds after which something that was not needed again is not compiled any more.
_MAX_IDLE_SECONDS = 2.0
# Operations and blocks whose time is known, those used last.
_MAX_TIMES = 1024


class NumpyTime:
    """The time NumPy has taken for something that could be compiled.

    Attributes:
        seconds: it has taken.
        elements: it has computed.
        last: when it did so last.
        is_queued: it waits for the background compiler, or could not be compiled.
    """

    __slots__ = ("elements", "is_queued", "last", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.elements = 0
        self.last = 0.0
        self.is_queued = False

    def note(self, seconds: float, elements: int, compile_now: Callable[[], Any]) -> None:
        """Add a run, and have it compiled if that is worth it by now."""
        self.seconds += seconds
        self.elements += elements
        self.last = perf_counter()
        if self.seconds < _MIN_SECONDS or self.is_queued:
            return
        self.is_queued = True
        COMPILER.submit(lambda: self._compile(compile_now), priority=lambda: -1.0)

    def _compile(self, compile_now: Callable[[], Any]) -> None:
        if perf_counter() - self.last < _MAX_IDLE_SECONDS:
            compile_now()
        # Executables that are given up for want of room are made again.
        self.seconds, self.elements, self.is_queued = 0.0, 0, False


@functools.lru_cache(maxsize=_MAX_TIMES)
def _time_of(compiled_later: Operation | BlockFunction) -> NumpyTime:
    """The time that NumPy has taken for an operation, or for blocks."""
    return NumpyTime()


def compiled_blocks(operation: Operation) -> BlockFunction | None:
    """The function for blocks of an operation's elements; None if it is not compiled."""
    blocks = _blocks(operation)
    return blocks if blocks is not None and blocks.executable is not None else None


def note_numpy_time(operation: Operation, seconds: float) -> None:
    """Note that NumPy has taken so long for an operation."""
    if seconds < _MIN_RUN_SECONDS or not COMPILER.is_enabled:
        return
    elements = operation.out_specs[0].numel
    blocks = _blocks(operation)
    if blocks is None:
        _time_of(operation).note(seconds, elements, lambda: _compile(operation))
    elif seconds > _MIN_SECONDS_PER_ELEMENT * elements:
        _time_of(blocks).note(seconds, elements, lambda: blocks.executable or blocks.compile())


def _compile(operation: Operation) -> None:
    if compiled_operation(operation, Use.LONG_RUNS) is not None:
        return
    with compiling():
        compile_operation(operation, Use.LONG_RUNS)
    STATISTICS.operation_compiles += 1


def _blocks(operation: Operation) -> BlockFunction | None:
    if operation.out_specs[0].numel < _MIN_ELEMENTS:
        return None
    return block_function(operation)
