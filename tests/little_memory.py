"""Calls that name sizes no machine has, run one after the other in a process of little memory.

A module of such calls ends with ``run(calls, int(sys.argv[1]))``; a test asks for its `faults`.
They talk in lines of JSON: before a call its number and name, after it also what came of it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The sizes: more than 32 bits hold, than memory holds, than addresses there are.
SIZES = (2**31, 2**40, 2**62)
# Bytes that the process may allocate beyond what it has.
MEMORY = 2**30
# Seconds of processors that a call may take, and after which one that has no end ends the process.
SECONDS = 2.5
NO_END = 20
# Beginnings of errors of NumPy, JAX, XLA and Python that do not say what to do.
FOREIGN = (
    "Unable to allocate",
    "array is too big",
    "Maximum allowed",
    "negative dimensions",
    "Python int too large",
    "RESOURCE_EXHAUSTED",
    "cannot fit",
    "std::bad_alloc",
)
UNCLEAR = ("MemoryError", "_ArrayMemoryError", "OverflowError", "XlaRuntimeError", "SystemError")


def run(calls: Mapping[str, Callable[[], object]], first: int) -> None:
    """Make the calls from number `first` on, and write what comes of each."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    for number, (name, call) in list(enumerate(calls.items()))[first:]:
        _report(number, name)
        faulthandler.dump_traceback_later(NO_END, exit=True)
        started = time.process_time()
        error = _error_of(call)
        faulthandler.cancel_dump_traceback_later()
        _report(number, name, error, time.process_time() - started)
    _report(len(calls))
    os._exit(0)


def _error_of(call: Callable[[], object]) -> tuple[str, str] | None:
    """The kind and text of a call's error, or None."""
    try:
        call()
    except BaseException as error:  # panics of XLA's bindings are no `Exception`
        return type(error).__name__, str(error)
    return None


def _report(*columns: object) -> None:
    sys.stdout.write(json.dumps(columns) + "\n")
    sys.stdout.flush()


def faults(module: str, *arguments: str) -> tuple[int, dict[str, str]]:
    """Run a module of calls; return how many it has, and what is wrong with each that is not right.

    A call that ends the process twice, or has no end, is a fault; a new process goes on after it.
    """
    found: dict[str, str] = {}
    first, tried = 0, -1
    while True:
        command = [sys.executable, "-m", module, str(first), *arguments]
        output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        lines = [json.loads(line) for line in output.stdout.splitlines()]
        assert lines, output.stderr
        for _, name, *outcome in (line for line in lines if len(line) > 1):
            fault = _fault_of(*outcome)
            found.pop(name, None)
            if fault is not None:
                found[name] = fault
        number, *more = lines[-1]
        if not more:
            return number, found
        # The allocations before it may have taken the memory.
        first = number + (number == tried)
        tried = number


def _fault_of(error: tuple[str, str] | None = None, seconds: float | None = None) -> str | None:
    """The fault of an outcome, or None; without one, the call did not return."""
    if seconds is None:
        return "the process ended, or had to be ended"
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if error is None:
        return None
    kind, text = error
    is_clear = kind not in UNCLEAR and text and not text.startswith(FOREIGN)
    return None if is_clear else f"{kind}: {text}"
