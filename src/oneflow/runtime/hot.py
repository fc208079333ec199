"""Hot programs: when one is compiled as a whole, and where."""

from __future__ import annotations

import logging
import math
from time import perf_counter

from jax.errors import JaxRuntimeError

from oneflow.base import cluster
from oneflow.base.device import CPU, Device
from oneflow.base.errors import OutOfMemoryError
from oneflow.base.placement import Placement
from oneflow.compiler.executable_cache import EXECUTABLES
from oneflow.compiler.lower import Executable, is_compiled
from oneflow.passes.pipeline import PassGroup, run_passes
from oneflow.program.ir import Program
from oneflow.runtime.background import COMPILER
from oneflow.runtime.compile_cost import seconds_for_cold_run, seconds_for_writes
from oneflow.runtime.conversions import any_collective
from oneflow.runtime.counters import STATISTICS, compiling
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import EventKind, span
from oneflow.runtime.program_cache import PROGRAMS, CachedProgram
from oneflow.runtime.trial import RETRY_AFTER, Trial, needs_trial
from oneflow.tuning.linux import FREE_LISTS
from oneflow.tuning.settings import Setting, is_on

logger = logging.getLogger("oneflow.eager")
# Seconds that a cold run takes on average from which on a program is a long one, and the number of
# those runs before it is compiled.
_LONG_RUN = 0.5
_LONG_HOT_AFTER = 4
# Seconds of compiling writes, by estimate, from which on a program is compiled only when its cold
# runs have taken as long: a loop that writes single elements, recorded as one program, compiles for
# minutes. So in all it takes at most twice as long as with the better choice.
_MANY_WRITES = 4.0
# Seconds of cold runs, by an estimate that is rather short, before a program of one of several
# processes on CPUs is compiled, about as many as that takes. They share cores, and each compiles
# it: what is recorded between two conversions is short, and the layers of a model run it several
# times for a shape that does not come back.
_MIN_COLD_SECONDS = 0.05


def warm_up(
    cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement
) -> Executable | Trial | None:
    """Count one more run of a program without executable; compile it when it is hot.

    A cold run of a long program and its compilation both take all cores of a CPU: beside each other
    each takes twice as long. So its first runs are alone, and later ones wait for the compiler.

    Each of several processes decides by facts that are the same in all of them, never by a clock:
    replicas of a parameter hold the same bits only if all ranks make its update hot in the same
    run.
    """
    is_distributed = cluster.is_multiprocess()
    is_long = device is CPU and not is_distributed and cached.cold_seconds > cached.seen * _LONG_RUN
    cached.seen += 1
    if SETTINGS.mode == "immediate" or _is_collective(cached):
        return None
    if SETTINGS.mode == "compiled":
        _compile_for_good(cached, donated, device)
        return cached.executable
    hot_after = max(SETTINGS.hot_after, _LONG_HOT_AFTER) if is_long else SETTINGS.hot_after
    if cached.seen <= max(hot_after, cached.cold_until) or cached.cannot_compile:
        return None
    if _waits_for_writes(cached):
        return None
    if is_distributed and device.type == "cpu" and _cold_seconds(cached) < _MIN_COLD_SECONDS:
        return None
    if cached.trial is not None:
        return _next_in_trial(cached, cached.trial)
    if cached.queued:
        if is_long:
            _wait(cached)
    elif SETTINGS.background:
        cached.queued = True
        cached.compiled = COMPILER.submit(
            lambda: _precompile(cached, donated, device), priority=lambda: cached.seen
        )
    else:
        _compile(cached, donated, device)
    return cached.trial or cached.executable


def _waits_for_writes(cached: CachedProgram) -> bool:
    """Return whether a program compiles for longer than it has run so far."""
    if cached.write_seconds is None:
        cached.write_seconds = seconds_for_writes(cached.program)
    return cached.write_seconds > _MANY_WRITES and cached.write_seconds > _cold_seconds(cached)


def _cold_seconds(cached: CachedProgram) -> float:
    """Seconds that a program's cold runs have taken; an estimate in one of several processes."""
    if not cluster.is_multiprocess():
        return cached.cold_seconds
    if cached.run_seconds is None:
        cached.run_seconds = seconds_for_cold_run(cached.program)
    return cached.seen * cached.run_seconds


def _compile_for_good(
    cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement
) -> None:
    """Make a program hot however long it takes, so that all its runs give the same bits."""
    if cached.trial is not None:
        _set_executable(cached, cached.trial.executable)
    elif not cached.cannot_compile:
        _compile(cached, donated, device)


def _next_in_trial(cached: CachedProgram, trial: Trial) -> Executable | Trial | None:
    """Return what runs a program during its trial, which ends if it is decided; None for cold."""
    if trial.is_won:
        _set_executable(cached, trial.executable)
        return cached.executable
    if trial.is_lost:
        # Another process may have kept the cores; it is compiled again after many more runs.
        cached.trial, cached.queued = None, False
        cached.cold_until = RETRY_AFTER * cached.seen
        cached.fastest_cold = math.inf  # the next trial is compared with the runs before it
        trial.report(cached.program)
        return None
    return None if trial.is_cold_next else trial


def _wait(cached: CachedProgram) -> None:
    """Wait for the background compiler; in all at most twice as long as cold runs have taken.

    So what compiles for minutes does not keep a program from running.
    """
    budget = 2 * cached.cold_seconds - cached.waited_seconds
    if cached.compiled is None or budget <= 0:
        return
    started = perf_counter()
    try:
        cached.compiled.wait(budget)
    finally:
        seconds = perf_counter() - started
        cached.waited_seconds += seconds
        STATISTICS.waiting_seconds += seconds


def _is_collective(cached: CachedProgram) -> bool:
    """Return whether a program exchanges data between processes, and so is never hot as a whole.

    A whole program sends other messages than its instructions do one by one, and a rank that has no
    memory for it runs it so.
    """
    if cached.is_collective is None:
        cached.is_collective = any_collective(cached.program)
    return cached.is_collective


def _compile(cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement) -> None:
    """Make a program hot. If that fails it keeps running op by op."""
    executable = _executable(cached, donated, device)
    if executable is not None:
        _set_executable(cached, executable)


def _precompile(
    cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement
) -> None:
    """Make a program hot while it still runs op by op; its next run takes no longer than others."""
    executable = _executable(cached, donated, device)
    if executable is None:
        return
    executable.warm_up()
    if device is CPU and needs_trial(cached.fastest_cold):
        cached.trial = Trial(executable, cached.fastest_cold)
    else:
        _set_executable(cached, executable)


def _executable(
    cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement
) -> Executable | None:
    """The compiled program; None if it cannot be compiled."""
    program = run_passes(cached.program, PassGroup.EXECUTABLE)
    try:
        with span(EventKind.COMPILATION, "compile a program"), compiling():
            executable = Executable(program, donated, device, guarded=cached.guarded)
            executable.compile()
        STATISTICS.program_compiles += 1
        return executable
    except OutOfMemoryError:
        cached.queued = False  # the instruction that needs so much will say so
    except JaxRuntimeError as error:
        cached.cannot_compile = True
        logger.warning("a program keeps running op by op; compiling it failed: %s", error)
    return None


def _set_executable(cached: CachedProgram, executable: Executable) -> None:
    cached.trial = None
    cached.set_executable(executable)
    _release_cold(cached.program)


def _release_cold(program: Program) -> None:
    """Release the executables of a program's instructions when it has become hot.

    XLA keeps working memory with each: two megabytes, more for a convolution. Executables that
    another cold program uses stay.
    """
    if is_on(Setting.COLD_EXECUTABLES) and any(
        is_compiled(instruction.operation) for instruction in program.instructions
    ):
        EXECUTABLES.evict(PROGRAMS.operations_only_in(program))
        FREE_LISTS.trim()
