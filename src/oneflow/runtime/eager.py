"""Hot traces: recorded programs run op by op while new, and as one executable once hot.

A program's key is what was recorded, which of its results are still held, and which of its inputs
nobody holds any more. Results nobody holds are never materialised; inputs nobody holds give their
memory to the results.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base import environment
from oneflow.base.device import Device
from oneflow.base.heap import HOLES, trim_heap
from oneflow.base.placement import Placement
from oneflow.base.planning import is_planning
from oneflow.compiler.lower import Executable, check_executable, operation_executable, typed_scalar
from oneflow.passes.pipeline import optimize
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program, program_from_key
from oneflow.program.recorder import Recorder
from oneflow.program.value import Value
from oneflow.runtime import checks
from oneflow.runtime.background import COMPILER
from oneflow.runtime.explain import remember_miss
from oneflow.runtime.statistics import STATISTICS


def reference_counts(objects: list[Any]) -> list[int]:
    """How often each object of a list is referred to."""
    return [sys.getrefcount(each) for each in objects]


# The count of an array that only the recorder's list holds; it differs between Python versions.
_UNHELD = reference_counts([object()])[0]


_settings_lock = threading.Lock()


class Settings:
    """How the virtual machine behaves.

    Read from the environment at import, changeable at run time.
    """

    def __init__(self) -> None:
        self._inference = 0  # threads in inference mode
        self.mode = environment.EAGER.read()
        self.hot_after = int(environment.EAGER_HOT_AFTER.read())
        self.background = int(environment.EAGER_BACKGROUND.read())
        self.explain = environment.EAGER_EXPLAIN.read() == "1"

    @property
    def mode(self) -> str:
        """`deferred`, `compiled` or `immediate`, see `oneflow.base.environment.EAGER`."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in ("deferred", "compiled", "immediate"):
            raise ValueError(
                f"{environment.EAGER.name}={mode!r}: expected `deferred`, `compiled` or `immediate`"
            )
        self._mode = mode
        self.limit = 1 if mode == "immediate" else int(environment.EAGER_TRACE_LIMIT.read())

    @property
    def limit(self) -> int:
        """Recorded values after which a recorder is flushed."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        self._update()

    def count_inference(self, change: int) -> None:
        """Note that threads have entered inference mode, or left it (negative)."""
        with _settings_lock:
            self._inference += change
            self._update()

    def _update(self) -> None:
        # Recorded values after which dispatch has more to do than to record.
        self.attend_at = 0 if self._inference else self._limit


SETTINGS = Settings()


class Known:
    """What is remembered about one program key."""

    __slots__ = ("executable", "program", "queued", "seen")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.seen = 0
        self.executable: Executable | None = None
        self.queued = False


# Least recently used first; a program that comes back after it was dropped is simply new again.
_known: OrderedDict[tuple, Known] = OrderedDict()
_MOST_PROGRAMS = 4096


class ThreadState(threading.local):
    """The recorders one thread appends to, one per device.

    Attributes:
        recorder: the one used last.
        capture: the one for all placements, while a graph is recorded.
        pinned: positions in it of conversions that the user asked for.
    """

    recorder: Recorder | None = None
    capture: Recorder | None = None
    pinned: set[int] | None = None

    def __init__(self) -> None:
        self.recorders: dict[Device | Placement, Recorder] = {}


current = ThreadState()
_flush_lock = threading.RLock()


def recorder_for(device: Any, locate: Callable[[], str]) -> Recorder:
    """This thread's open recorder for `device`."""
    recorder = current.recorders.get(device)
    if recorder is None or recorder.closed:
        recorder = current.capture if isinstance(device, Placement) else None
        recorder = recorder or Recorder(device, run_recorder, locate)
        recorder.recorded_by = checks.own_pending()
        current.recorders[device] = recorder
    current.recorder = recorder
    return recorder


def flush_all(reason: str) -> None:
    """Run everything this thread has recorded."""
    for recorder in list(current.recorders.values()):
        if not recorder.closed:
            recorder.flush(reason)
    checks.raise_failed(wait=False)


def read_array(value: Value) -> Any:
    """The array of `value` (a sync point); raises the error of any failed run-time check."""
    array = value.read()
    checks.inherit((array,))
    checks.raise_failed()
    return array


def run_recorder(recorder: Recorder, reason: str) -> None:
    """Run a recorder's program and hand the arrays to the values still held."""
    with _flush_lock:
        if recorder.closed:
            return
        recorder.closed = True
        STATISTICS.flushes[reason] += 1
        STATISTICS.values += len(recorder.outputs)
        held = _held_values(recorder)
        try:
            outputs = _run(recorder, held)
        except BaseException as error:
            recorder.error = error
            raise
        for position, array in outputs:
            for value in held[position]:
                value.array = array
                value.trace = None
        recorder.arrays.clear()
        recorder.leaves.clear()


def _held_values(recorder: Recorder) -> dict[int, list[Value]]:
    """The values somebody still holds, by output position."""
    held: dict[int, list[Value]] = {}
    for position, reference in enumerate(recorder.outputs):
        value = reference()
        if value is not None:
            held[position] = [value]
    for position, reference in recorder.aliases:
        value = reference()
        if value is not None:
            held.setdefault(position, []).append(value)
    return held


def _run(recorder: Recorder, held: dict[int, list[Value]]) -> list[tuple[int, Any]]:
    positions = sorted(held) if recorder.aliases else list(held)
    if not positions and not recorder.checked:
        return []
    if is_planning() or _is_elsewhere(recorder.device):
        return [(position, Absent()) for position in positions]
    key = tuple(recorder.key)
    counts = reference_counts(recorder.arrays)
    donated = tuple([i for i, count in enumerate(counts) if count == _UNHELD])
    known = _lookup(key, tuple(positions), donated)
    executable = known.executable or _warm_up(known, donated, recorder.device)
    if executable is not None:
        STATISTICS.hot_runs += 1
        if known.queued:
            known.queued = False
            _release_cold()
        arrays, rows = executable(recorder.arrays, recorder.scalars)
    else:
        STATISTICS.cold_runs += 1
        arrays, rows = _run_cold(known.program, recorder.arrays, recorder.scalars)
    checks.inherit(recorder.arrays)
    if rows is not None:
        checks.add(rows, recorder.checked, arrays, recorder.recorded_by)
    return list(zip(positions, arrays, strict=True))


def _is_elsewhere(device: Device | Placement) -> bool:
    """Whether this process has nothing to run on a placement."""
    return isinstance(device, Placement) and not device.includes_this_process


class Absent:
    """Stands for an array of which this process holds nothing.

    It belongs to a global tensor on other processes' devices, or was made while planning.
    """

    __slots__ = ()

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise RuntimeError(
            "a tensor made while planning has a shape and a place, but no values to read"
        )

    def copy(self) -> Absent:
        """Another one."""
        return Absent()


def _lookup(key: tuple, positions: tuple[int, ...], donated: tuple[int, ...]) -> Known:
    whole = (key, positions, donated)
    known = _known.get(whole)
    if known is None:
        STATISTICS.new_programs += 1
        remember_miss(key, positions, donated, log=SETTINGS.explain)
        known = _known[whole] = Known(optimize(program_from_key(key, positions)))
        if len(_known) > _MOST_PROGRAMS:
            _known.popitem(last=False)
    else:
        _known.move_to_end(whole)
    return known


def _warm_up(
    known: Known, donated: tuple[int, ...], device: Device | Placement
) -> Executable | None:
    """Count one more run of a program without executable; compile it when it is hot."""
    known.seen += 1
    if SETTINGS.mode == "immediate":
        return None
    if SETTINGS.mode == "deferred" and known.seen <= SETTINGS.hot_after:
        return None
    large = len(known.program.instructions) >= SETTINGS.background
    if not large or SETTINGS.mode == "compiled":
        STATISTICS.program_compiles += 1
        known.executable = Executable(known.program, donated, device)
    elif not known.queued:
        known.queued = True
        COMPILER.submit(lambda: _compile(known, donated, device))
    return known.executable


def _compile(known: Known, donated: tuple[int, ...], device: Device | Placement) -> None:
    """Make a program hot; runs on the background thread."""
    known.executable = Executable(known.program, donated, device).compile()
    STATISTICS.program_compiles += 1


def _release_cold() -> None:
    """Let go of all executables of single instructions when a large program becomes hot.

    XLA keeps working memory with each: two megabytes, more for a convolution. Programs that ran
    before the hot one, to make parameters, seldom run again; should one, they come from the
    persistent cache.
    """
    for known in list(_known.values()):
        for instruction in known.program.instructions:
            instruction.operation.executable = None
    trim_heap()
    HOLES.close()


def _run_cold(
    program: Program, arrays: Sequence[Any], scalars: Sequence[Any]
) -> tuple[list[Any], Any]:
    """Run instruction by instruction, each with its own executable.

    Values are freed after their last use.
    """
    numbers = [
        typed_scalar(s, spec.dtype.numpy) for s, spec in zip(scalars, program.scalars, strict=True)
    ]
    environment: dict[int, Any] = dict(enumerate((*arrays, *numbers)))
    last_use = _last_uses(program)
    rows = []
    for index, instruction in enumerate(program.instructions):
        operation = instruction.operation
        operands = [environment[number] for number in instruction.operands]
        if operation.executable is None:
            STATISTICS.operation_compiles += 1
        results = operation_executable(operation)(*operands)
        environment.update(
            zip(instruction.results, (results,) if operation.single else results, strict=True)
        )
        if operation.needs_check:
            rows.append(_run_check(operation, operands))
        for number in last_use.get(index, ()):
            del environment[number]
    return [environment[number] for number in program.outputs], np.array(rows) if rows else None


def _run_check(operation: Operation, operands: Sequence[Any]) -> tuple[int, int]:
    row = check_executable(operation)(*operands)
    bad, value = row if isinstance(row, tuple) else checks.own_rows(row, 1)[0]
    return int(bad), int(value)


def _last_uses(program: Program) -> dict[int, list[int]]:
    """For each instruction, the values that nothing after it needs."""
    last: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        for number in (*instruction.operands, *instruction.results):
            last[number] = index
    by_instruction: dict[int, list[int]] = {}
    kept = set(program.outputs)
    for number, index in last.items():
        if number not in kept:
            by_instruction.setdefault(index, []).append(number)
    return by_instruction
