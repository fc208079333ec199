"""Hot traces: recorded programs run op by op while new, and as one executable once hot.

A program's key is what was recorded, which of its results are still held, and which of its inputs
nobody holds any more. Results nobody holds are never materialised; inputs nobody holds give their
memory to the results.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from time import perf_counter
from typing import Any

import jax
from jax.errors import JaxRuntimeError

from oneflow.base.device import CPU, Device
from oneflow.base.errors import OutOfMemoryError
from oneflow.base.placement import Placement
from oneflow.base.planning import is_planning
from oneflow.base.tensor_threads import note_thread
from oneflow.compiler.failed_flag import CheckResults
from oneflow.compiler.lower import Executable
from oneflow.passes.pipeline import PassContext, PassGroup, run_passes
from oneflow.program.ir import Program, number_of, program_from_key
from oneflow.program.recorder import Recorder
from oneflow.program.value import Value
from oneflow.runtime import checks
from oneflow.runtime.cache_misses import ProgramKey, record_miss
from oneflow.runtime.cold import FailedResult, run_cold
from oneflow.runtime.counters import STATISTICS
from oneflow.runtime.dead_inputs import MANY_BYTES, dead_inputs, wastes_memory
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import SINK, EventKind, span
from oneflow.runtime.hot import warm_up
from oneflow.runtime.lazy_array import HostArray
from oneflow.runtime.meta_array import MetaArray
from oneflow.runtime.program_cache import PROGRAMS, CachedProgram
from oneflow.runtime.restore import restore_replaced
from oneflow.runtime.small_programs import MAX_INSTRUCTIONS, give_numbers, run_small
from oneflow.runtime.trial import Trial

logger = logging.getLogger("oneflow.eager")


class EagerRecorder(Recorder):
    """A recorder whose program this room runs.

    Attributes:
        recorded_by: the run-time checks of the thread that records.
        program_run: how the program is run, once that is decided.
        input_bytes: bytes of its inputs until it is looked who still has them.
        running: how often it was begun; a signal handler can come in between.
    """

    __slots__ = ("input_bytes", "program_run", "recorded_by", "running")

    recorded_by: checks.ThreadChecks
    program_run: Any  # a `ProgramRun`
    running: int

    def __init__(self, device: Device | Placement, user_line: Callable[[], str]) -> None:
        super().__init__(device, user_line)
        self.recorded_by, self.program_run, self.running = checks.thread_checks(), None, 0
        self.input_bytes = MANY_BYTES

    def add_input(self, value: Value) -> int:
        """Take an input, or run first what holds much that is overwritten; then record anew."""
        if wastes_memory(self, value):
            self.flush("limit")
        return super().add_input(value)

    def add_replaced_input(self, value: Value) -> int:
        """Take an input and run nothing: the write must be noted before it may run."""
        return Recorder.add_input(self, value)

    def read_input(self, value: Value) -> Any:
        """The array of a value; one on the host stays there for small programs, and in plans."""
        recorder = value.recorder
        if type(recorder) is HostArray and (
            (self.device is CPU and len(self.outputs) < MAX_INSTRUCTIONS) or is_planning()
        ):
            return recorder
        return value.read()

    def flush(self, reason: str) -> None:
        """Run the recorded instructions; afterwards every live value has its array.

        Raises:
            Whatever running it raised, now or when it was first tried.
        """
        if not self.done:
            if reason != "read" or not _run_small(self):
                run_recorder(self, reason)
        elif self.error is not None and reason == "read":
            raise self.error.with_traceback(None)


class ThreadState(threading.local):
    """The recorders one thread appends to, one per device.

    Attributes:
        recorder: the one used last.
        capture: makes the one for a further device while a graph is recorded.
        pinned: positions in it of conversions that the user asked for.
    """

    recorder: Recorder | None = None
    capture: Callable[[Device | Placement], Recorder] | None = None
    pinned: set[int] | None = None

    def __init__(self) -> None:
        self.recorders: dict[Device | Placement, Recorder] = {}
        note_thread()


current = ThreadState()
_IS_SYMBOLIC = attrgetter("symbolic")
_flush_lock = threading.RLock()


def recorder_for(device: Any, user_line: Callable[[], str]) -> Recorder:
    """This thread's open recorder for `device`."""
    recorder = current.recorders.get(device)
    if recorder is None or recorder.closed:
        capture = current.capture
        recorder = EagerRecorder(device, user_line) if capture is None else capture(device)
        recorder.guarded = checks.thread_checks().guards(device)
        current.recorders[device] = recorder
    current.recorder = recorder
    return recorder


def flush_all(reason: str) -> None:
    """Run everything this thread has recorded."""
    for recorder in list(current.recorders.values()):
        if not recorder.closed:
            recorder.flush(reason)
    checks.thread_checks().poll()


def flush_devices_for_step() -> None:
    """Run what this thread has recorded on single devices, before a step of an optimizer.

    Programs of placements go on: all processes must end them at the same operator.
    """
    for device, recorder in list(current.recorders.items()):
        if isinstance(device, Device) and not recorder.closed:
            recorder.flush("step")


def is_capturing() -> bool:
    """Return True if this thread records a graph, and nothing it records runs."""
    return any(map(_IS_SYMBOLIC, current.recorders.values()))


def has_unknown_checks() -> bool:
    """Return True if a check may fail that this thread has recorded, and nobody has looked at."""
    recorders = [r for r in current.recorders.values() if r.checked and not r.closed]
    return bool(recorders or checks.thread_checks())


def note_undo(undo: Callable[[], None]) -> None:
    """Have something called should what this thread has recorded fail."""
    for recorder in list(current.recorders.values()):
        if not recorder.closed:
            recorder.rollback.undo += (undo,)


def read_array(value: Value) -> Any:
    """The array of `value` (a sync point); raises the error of any failed run-time check."""
    array = value.read()
    checks.inherit((array,))
    checks.raise_failed()
    return array


def started_array(value: Value) -> Any:
    """The array of `value` for others that this thread runs in this process; waits for no check."""
    array = value.read()
    checks.inherit((array,))
    return array


def read_ready(value: Value) -> Any:
    """The array of `value` as `read_array` gives it, after everything that computes it has run."""
    if value.array is None:
        recorder = value.recorder
        if recorder is not None and type(recorder) is not HostArray:
            recorder.flush("read")
            recorder = value.recorder
        if type(recorder) is HostArray:
            checks.raise_failed()
            return recorder.numbers
    array = value.read()
    started = perf_counter()
    checks.inherit((array,))
    checks.raise_failed()
    if isinstance(array, jax.Array):
        array.block_until_ready()
    STATISTICS.waiting_seconds += perf_counter() - started
    return array


@dataclass(slots=True)
class ProgramRun:
    """The run of a recorder's program.

    Attributes:
        positions: the outputs that it returns.
        cached: the program's cache entry; None where there is nothing to run.
        executable: the program as a whole; None if it runs cold.
        invalid: the outputs that are wrong if a run-time check has failed.
        returned: where the executable leaves what XLA returns, see `Executable`.
    """

    positions: list[int]
    cached: CachedProgram | None = None
    executable: Executable | Trial | None = None
    invalid: tuple[int, ...] = ()
    returned: list[Any] = field(default_factory=list)


def _run_small(recorder: EagerRecorder) -> bool:
    """Run the program of this thread's recorder if it is small.

    One behind which the thread has checks to look at waits for these in the ordinary way. A signal
    handler that records here meanwhile makes it another program.

    Returns:
        Whether it has run; otherwise nothing has changed.
    """
    with _flush_lock:
        end, owner = recorder.end, recorder.recorded_by
        if recorder.closed or owner or owner is not checks.thread_checks():
            return False
        arrays = run_small(recorder)
        # From the comparison on nothing is called: a signal handler may record, and is heard first.
        if arrays is None or recorder.end != end:
            return False
        recorder.end, recorder.closed = -1, True
        give_numbers(recorder, arrays)
        recorder.done = True
        checks.inherit(recorder.arrays)
        recorder.release()
    STATISTICS.flushes["read"] += 1
    STATISTICS.values += end
    return True


def run_recorder(recorder: EagerRecorder, reason: str) -> None:
    """Run a recorder's program and hand the arrays to the values still held.

    A signal handler may interrupt this anywhere, and may read a value and so come here itself. What
    was interrupted runs when it is next asked for; but an executable, which has then given up its
    inputs, runs only once.

    Raises:
        Exception: some values could not be computed. Tensors that should have got them hold what
            they held before; reading other tensors raises it again.
    """
    with _flush_lock:
        if recorder.done:
            return
        if not recorder.closed:
            if recorder.recorded_by is checks.thread_checks():
                recorder.close()
            else:
                recorder.take()
            STATISTICS.flushes[reason] += 1
            STATISTICS.values += len(recorder.outputs)
        recorder.running += 1
        try:
            if recorder.done:  # by a signal handler
                return
            computed, results, error = _run(recorder)
            if not recorder.done:
                checks.inherit(recorder.arrays)
                _add_checks(recorder, computed, results)
                alias_count = len(recorder.aliases)
                _assign_arrays(recorder, computed, error)
                recorder.done = True
                if len(recorder.aliases) > alias_count:  # other threads have made some meanwhile
                    _assign_arrays(recorder, computed, None)
        finally:
            recorder.running -= 1
            if recorder.done and not recorder.running:
                recorder.program_run = None
                recorder.release()
    if error is not None:
        raise error


def _run(
    recorder: EagerRecorder,
) -> tuple[dict[int, Any], CheckResults | None, BaseException | None]:
    """Run a program, as a whole or, where that fails, instruction by instruction.

    Returns:
        The arrays that could be computed, by output position; the results of the run-time checks
        or None; and what is to be raised.
    """
    try:
        _put_inputs(recorder)
        prepared = recorder.program_run or _prepare(recorder)
    except Exception as error:
        return {}, None, error
    if recorder.program_run is None:
        recorder.program_run = prepared
    run = recorder.program_run
    positions, cached, executable = run.positions, run.cached, run.executable
    if cached is None:
        return {position: MetaArray() for position in positions}, None, None
    failed, error = _failed_before(recorder, executable)
    if error is not None:
        return {}, None, error
    if executable is not None:
        error = _run_executable(recorder, cached.program, executable, failed)
        if run.returned:
            STATISTICS.hot_runs += 1
            outputs, results = executable.sorted_results(run.returned[0])
            return dict(zip(positions, outputs, strict=True)), results, error
        _, check_error = _failed_before(recorder, None)
        if check_error is not None:
            return {}, None, check_error
    STATISTICS.cold_runs += 1
    started = perf_counter()
    outputs, results = run_cold(cached.program, recorder.arrays, recorder.scalars)
    cached.note_cold_run(perf_counter() - started)
    failures = [output.error for output in outputs if type(output) is FailedResult]
    if failures:
        error = failures[0]
    elif isinstance(error, OutOfMemoryError | JaxRuntimeError):
        logger.warning("a hot program was run op by op, because as a whole it failed: %s", error)
        error = None
    pairs = zip(positions, outputs, strict=True)
    return {p: array for p, array in pairs if type(array) is not FailedResult}, results, error


def _put_inputs(recorder: EagerRecorder) -> None:
    """Put those inputs on the device that were left on the host.

    One after the other, so that a signal handler which runs the program meanwhile finds each held
    by nobody else, and the same program. A plan puts nothing on a device.
    """
    if is_planning():
        return
    arrays = recorder.arrays
    for place, array in enumerate(arrays):
        if type(array) is HostArray:
            if type(arrays) is tuple:  # of a recorder that another thread took
                recorder.arrays = tuple([a.put() if type(a) is HostArray else a for a in arrays])
                return
            arrays[place] = array.put()


def _failed_before(
    recorder: EagerRecorder, executable: Executable | Trial | None
) -> tuple[Any, BaseException | None]:
    """Learn if checks before a program have failed, as a program must that writes to tensors.

    Returns:
        The flag that it takes, None if it takes none or nothing can have failed; and the error of a
        check for which one without it has waited. Then tensors hold what they held before.
    """
    owner = recorder.recorded_by
    if recorder.rollback.replaced:
        checks.inherit(recorder.arrays)
    if not owner:
        return None, None
    try:
        if executable is not None and executable.guarded:
            return owner.flag_on(recorder.device, recorder.rollback.undo), None
        if recorder.rollback.replaced:
            owner.raise_failed(recorder.rollback.undo)
    except Exception as error:
        restore_replaced(recorder, to_start=True)
        return None, error
    return None, None


def _run_executable(
    recorder: EagerRecorder, program: Program, executable: Executable | Trial, failed: Any
) -> BaseException | None:
    """Run a hot program; while events are recorded, as one event that ends with its results.

    Returns:
        The exception that was raised, unless nothing was started and it is no error: that goes on.
    """
    arguments = recorder.arrays, recorder.scalars, recorder.program_run.returned, failed
    try:
        if SINK.record is None:
            executable(*arguments)
            return None
        results: list[Any] = []
        with span(EventKind.PROGRAM, f"program of {len(program.instructions)} operators", results):
            results += executable(*arguments)[0]
    except BaseException as failure:
        if not recorder.program_run.returned and not isinstance(failure, Exception):
            raise
        return failure
    return None


def _add_checks(
    recorder: EagerRecorder, computed: dict[int, Any], results: CheckResults | None
) -> None:
    """Add a program's checks to those at which threads look."""
    run, owner, device = recorder.program_run, recorder.recorded_by, recorder.device
    if results is not None:
        outputs = [computed[position] for position in run.invalid if position in computed]
        added = checks.add(results, recorder.checked, device, outputs, owner)
    else:
        added = checks.add_write(device, owner) if recorder.rollback.undo else None
    if added is not None:
        added.undo += recorder.rollback.undo


def _assign_arrays(
    recorder: EagerRecorder, computed: dict[int, Any], error: BaseException | None
) -> None:
    """Give the values their arrays."""
    live_values = _live_values(recorder)
    for position, array in computed.items():
        for value in live_values.get(position, ()):
            if value.array is None:
                value.array = array
                value.recorder = None
    if error is not None and len(computed) < len(live_values):
        recorder.error = error.with_traceback(None)
        restore_replaced(recorder)
        for undo in recorder.rollback.undo:
            undo()


def _live_values(recorder: EagerRecorder) -> dict[int, list[Value]]:
    """The values somebody still holds, by output position."""
    live_values: dict[int, list[Value]] = {}
    for position, reference in enumerate(recorder.outputs):
        value = reference()
        if value is not None:
            live_values[position] = [value]
    for position, reference in recorder.aliases:
        value = reference()
        if value is not None:
            live_values.setdefault(position, []).append(value)
    return live_values


def _prepare(recorder: EagerRecorder) -> ProgramRun:
    """Prepare the run of a recorder's program; compile it if it has just become hot."""
    live_values = _live_values(recorder)
    positions = sorted(live_values) if recorder.aliases else list(live_values)
    del live_values
    if not positions and not recorder.checked:
        return ProgramRun(positions)
    if is_planning() or not _is_addressable(recorder.device):
        return ProgramRun(positions)
    cached, donated = _lookup(recorder, positions)
    executable = None
    if not SETTINGS.by_operator:
        executable = cached.executable or warm_up(cached, donated, recorder.device)
    invalid = tuple([positions[slot] for slot in cached.invalid])
    return ProgramRun(positions, cached, executable, invalid)


def _is_addressable(device: Device | Placement) -> bool:
    """Return whether this process runs programs there."""
    return not device.is_meta if isinstance(device, Device) else device.includes_this_process


def _lookup(recorder: EagerRecorder, positions: list[int]) -> tuple[CachedProgram, tuple[int, ...]]:
    """The cache entry of a recorder's program, and the inputs that it donates."""
    key_parts = key, live, donated, updates, guarded = _key(recorder, positions)
    cached = PROGRAMS.find(key_parts)
    if cached is not None and len(cached.program.inputs) == len(recorder.arrays):
        return cached, donated
    if recorder.drop_unused_inputs():
        return _lookup(recorder, positions)
    STATISTICS.new_programs += 1
    record_miss(ProgramKey(*key_parts), log=SETTINGS.explain)
    program = program_from_key(key, live, recorder.rollback.updated)
    numbers = [number_of(reference, program) for reference in updates]
    writes = list(zip(numbers[::2], numbers[1::2], strict=True))
    context = PassContext(writes=writes, guarded=guarded)
    program = run_passes(program, PassGroup.PROGRAM, context=context)
    return PROGRAMS.add(key_parts, program, guarded), donated


def _key(recorder: EagerRecorder, positions: list[int]) -> tuple[tuple, tuple, tuple, tuple, bool]:
    """The key of a recorder's program, see `ProgramKey`."""
    donated = tuple(dead_inputs(recorder))
    guarded = recorder.guarded and bool(recorder.rollback.replaced or recorder.checked)
    return tuple(recorder.key), tuple(positions), donated, tuple(recorder.rollback.updates), guarded
