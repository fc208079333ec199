"""Hot programs: when one is compiled as a whole, and where."""

from __future__ import annotations

import logging

from jax.errors import JaxRuntimeError

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.errors import OutOfMemoryError
from oneflow.base.placement import Placement
from oneflow.compiler.executable_cache import EXECUTABLES
from oneflow.compiler.lower import Executable
from oneflow.passes.pipeline import PassGroup, run_passes
from oneflow.program.ir import Program
from oneflow.runtime.background import COMPILER
from oneflow.runtime.counters import STATISTICS, compiling
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import EventKind, span
from oneflow.runtime.program_cache import PROGRAMS, CachedProgram
from oneflow.tuning.linux import FREE_LISTS
from oneflow.tuning.settings import Setting, is_on

logger = logging.getLogger("oneflow.eager")


def warm_up(
    cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement
) -> Executable | None:
    """Count one more run of a program without executable; compile it when it is hot."""
    cached.seen += 1
    if SETTINGS.mode == "immediate":
        return None
    if SETTINGS.mode == "deferred" and cached.seen <= SETTINGS.hot_after:
        return None
    if cached.queued:
        return None
    if SETTINGS.background and SETTINGS.mode == "deferred" and not is_collective(device):
        cached.queued = True
        COMPILER.submit(lambda: _precompile(cached, donated, device), priority=lambda: cached.seen)
    else:
        _compile(cached, donated, device)
    return cached.executable


def is_collective(device: Device | Placement) -> bool:
    """Return whether other processes run the same program, and must make it hot in the same step.

    What they exchange as a whole program does not match what they exchange op by op.
    """
    return isinstance(device, Placement) and cluster.is_multiprocess()


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
    if executable is not None:
        executable.warm_up()
        _set_executable(cached, executable)


def _executable(
    cached: CachedProgram, donated: tuple[int, ...], device: Device | Placement
) -> Executable | None:
    """The compiled program; None if it cannot be compiled."""
    program = run_passes(cached.program, PassGroup.EXECUTABLE)
    try:
        with span(EventKind.COMPILATION, "compile a program"), compiling():
            return Executable(program, donated, device).compile()
    except OutOfMemoryError:
        cached.queued = False  # the instruction that needs so much will say so
    except JaxRuntimeError as error:
        cached.queued = True  # not again
        logger.warning("a program keeps running op by op; compiling it failed: %s", error)
    return None


def _set_executable(cached: CachedProgram, executable: Executable) -> None:
    cached.set_executable(executable)
    STATISTICS.program_compiles += 1
    _release_cold(cached.program)


def _release_cold(program: Program) -> None:
    """Release the executables of a program's instructions when it has become hot.

    XLA keeps working memory with each: two megabytes, more for a convolution. Those that another
    cold program uses stay.
    """
    if is_on(Setting.COLD_EXECUTABLES) and any(
        each.operation.executable is not None for each in program.instructions
    ):
        EXECUTABLES.evict(PROGRAMS.operations_only_in(program))
        FREE_LISTS.trim()
