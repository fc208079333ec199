"""The cache of eager programs: executable, timings and state of each."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import Any

from oneflow.compiler.executable_cache import EXECUTABLES, program_bytes
from oneflow.compiler.lower import Executable
from oneflow.passes.checked_updates import invalid_outputs
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program
from oneflow.runtime.trial import Trial

# Instructions of all programs: twice as many as can be hot within the default memory for compiled
# code. An instruction takes two kilobytes with its operation and what NumPy computes for it.
_MAX_INSTRUCTIONS = 1 << 15
# The memory of a program besides its instructions, counted as so many of them.
_FIXED_COST = 8


class CachedProgram:
    """The cache entry of one program key.

    Attributes:
        program: the program.
        guarded: it takes the flag of failed checks before it.
        invalid: indices of the outputs that are wrong if a run-time check has failed.
        seen: how often it was wanted without an executable.
        executable: the program as a whole, once it is hot.
        queued: it waits for the background compiler.
        cannot_compile: compiling it failed.
        cold_until: the number of runs up to which it stays cold, since it took longer as a whole.
        compiled: set when the background compiler has ended with it; None before it was queued.
        is_collective: it exchanges data between processes; None if nobody has asked.
        cold_seconds: the seconds that its cold runs have taken.
        fastest_cold: seconds of the shortest of them.
        run_seconds: the time of a cold run, by an estimate that is the same in all processes; None
            if nobody has asked.
        trial: its first runs as a whole, beside cold ones; None before and after.
        waited_seconds: the seconds that runs have waited for the background compiler.
        write_seconds: the seconds that XLA takes to compile its writes to parts of arrays, by
            estimate; None if nobody has asked.
    """

    __slots__ = (
        "cannot_compile",
        "cold_seconds",
        "cold_until",
        "compiled",
        "executable",
        "fastest_cold",
        "guarded",
        "invalid",
        "is_collective",
        "program",
        "queued",
        "run_seconds",
        "seen",
        "trial",
        "waited_seconds",
        "write_seconds",
    )

    def __init__(self, program: Program, guarded: bool = False) -> None:
        self.program = program
        self.guarded = guarded
        self.invalid = invalid_outputs(program)
        self.seen = self.cold_until = 0
        self.executable: Executable | None = None
        self.queued = self.cannot_compile = False
        self.is_collective: bool | None = None
        self.compiled: threading.Event | None = None
        self.cold_seconds = self.waited_seconds = 0.0
        self.write_seconds: float | None = None
        self.run_seconds: float | None = None
        self.fastest_cold = math.inf
        self.trial: Trial | None = None

    def note_cold_run(self, seconds: float) -> None:
        """Take the time of a cold run into account."""
        self.cold_seconds += seconds
        self.fastest_cold = min(self.fastest_cold, seconds)
        if self.trial is not None:
            self.trial.note_cold_run(seconds)

    def set_executable(self, executable: Executable) -> None:
        """Have an executable, until others need its entry."""
        self.executable, self.queued = executable, False
        EXECUTABLES.add(self, program_bytes(self.program), self._release)

    def _release(self) -> None:
        self.executable, self.queued = None, False


class ProgramCache(OrderedDict[tuple[Any, ...], CachedProgram]):
    """Programs by key, least recently used first; one that was dropped is simply new again.

    While it is less than half full it keeps the order in which they came: hashing a key again to
    move its entry takes some microseconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.instructions = 0

    def find(self, key: tuple[Any, ...]) -> CachedProgram | None:
        """The entry of a program, which becomes the most recently used; None if it is new."""
        cached = self.get(key)
        if cached is not None:
            if self.instructions > _MAX_INSTRUCTIONS // 2:
                self.move_to_end(key)
            EXECUTABLES.touch(cached)
        return cached

    def add(self, key: tuple[Any, ...], program: Program, guarded: bool = False) -> CachedProgram:
        """Remember a new program, and forget the oldest if there are too many instructions."""
        self._evict(self.pop(key, None))
        cached = self[key] = CachedProgram(program, guarded)
        self.instructions += _FIXED_COST + len(program.instructions)
        while self.instructions > _MAX_INSTRUCTIONS and len(self) > 1:
            self._evict(self.popitem(last=False)[1])
        return cached

    def operations_only_in(self, program: Program) -> set[Operation]:
        """The operations of a program that no other cold program uses."""
        # In one step: the thread that runs programs may add some meanwhile.
        entries = list(self.values())
        others = [entry.program for entry in entries if entry.executable is None]
        used = {instruction.operation for other in others for instruction in other.instructions}
        return {instruction.operation for instruction in program.instructions} - used

    def _evict(self, cached: CachedProgram | None) -> None:
        if cached is not None:
            self.instructions -= _FIXED_COST + len(cached.program.instructions)


PROGRAMS = ProgramCache()
