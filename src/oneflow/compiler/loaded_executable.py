"""Starting compiled programs so that nothing they take over is lost.

A program overwrites inputs that were donated to it. From then on their content exists only in its
results, so these must not get lost. Two things could lose them:

- A signal handler that raises, such as Python's own for Ctrl-C, between the call and the statement
  that stores what it returned. Handlers run between the bytecodes of the main thread, and never
  within one; so a single one calls the program and stores the results. (A garbage collection in
  the midst of it could run Python code, and so handlers; it waits until afterwards.) JAX prepares
  calls in Python, anew for each combination of JAX's arrays and NumPy's and of its 64-bit setting;
  so the first call of each combination is made on a thread on which no handler runs.
- Memory that is not there. XLA finds that out after it has taken the inputs, so it is looked for
  before.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any

import jax
import numpy as np

from oneflow.base.device import CPU, Device, xla_device
from oneflow.base.errors import OutOfMemoryError
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement
from oneflow.base.planning import is_planning
from oneflow.base.units import bytes_text
from oneflow.base.x64 import has_x64, x64
from oneflow.compiler import other_threads
from oneflow.compiler.sequential_runs import LARGE, SequentialRuns
from oneflow.tuning.linux import can_allocate
from oneflow.tuning.settings import Setting, is_on

# Bytes of results and working memory from which on a program looks for them first.
_LARGE = 2**20
# Bytes of an array from which on it is made sure that there can be one before it is compiled.
_HUGE = 2**32
# Bytes of an array that nobody plans for.
_TOO_LARGE = 2**40
# The arguments that can be NumPy's arrays, all at the end: two tables of numbers, a row, the flag.
# JAX would give them 32 bits; its own arrays keep what they have.
_MAX_VECTORS = 4
# Signal handlers run nowhere else.
_MAIN_THREAD = threading.main_thread().ident


class LoadedExecutable:
    """Starts a compiled program.

    Args:
        compiled: the program, compiled by JAX.
        device: where it runs.
    """

    def __init__(self, compiled: Any, device: Device | Placement) -> None:
        self._compiled = compiled
        self._device = device
        # Once it has run: calls XLA without any Python in between, where JAX has prepared that.
        self._direct: Callable[..., Any] | None = None
        self._prepared: set[tuple[type | bool, ...]] = set()
        memory = compiled.memory_analysis()
        temporary = memory.temp_size_in_bytes if memory else 0
        output_bytes = memory.output_size_in_bytes - memory.alias_size_in_bytes if memory else 0
        self._needs = output_bytes + temporary
        # Programs on placements may be stages of a pipeline, which run side by side.
        is_sequential = device is CPU and temporary >= LARGE and is_on(Setting.SEQUENTIAL_RUNS)
        self.sequential_runs = SequentialRuns() if is_sequential else None

    def __call__(self, arguments: tuple, returned: list) -> None:
        """Run the program, unless it has left its results in `returned` already.

        Args:
            arguments: the arguments of the program.
            returned: an empty list, which gets one element: the list of results.

        Raises:
            OutOfMemoryError: there is not enough memory; nothing has been overwritten.
        """
        if self.sequential_runs is not None:
            self.sequential_runs.wait(arguments)
        if self._needs >= _LARGE:
            check_memory(self._device, self._needs, arguments)
        self._start(arguments, returned)
        if self.sequential_runs is not None:
            self.sequential_runs.note_start(returned[0])
        if threading.get_ident() != _MAIN_THREAD and isinstance(self._device, Device):
            other_threads.THREAD.devices.add(self._device)

    def warm_up(self, inputs: Sequence[jax.ShapeDtypeStruct]) -> None:
        """Run the program on zeros if it is for the CPU and needs little memory.

        The first run of a perceptron's training step took 30 to 60 ms longer than others.

        Args:
            inputs: shapes and dtypes of the arguments.
        """
        input_bytes = sum(argument.size * argument.dtype.itemsize for argument in inputs)
        if self._device is not CPU or self._needs + input_bytes > LARGE:
            return
        zeros = [np.zeros(argument.shape, argument.dtype) for argument in inputs]
        returned: list[Any] = []
        with x64():
            arguments = tuple(jax.device_put(zeros, xla_device(CPU)))
        self._start(arguments, returned)
        jax.block_until_ready(returned)

    def _start(self, arguments: tuple, returned: list) -> None:
        kinds = tuple(map(type, arguments[-_MAX_VECTORS:]))
        needs_x64 = np.ndarray in kinds
        call = (*kinds, needs_x64 or has_x64())
        if self._direct is not None and call in self._prepared:
            results = starmap(self._direct, (arguments,))
            gc_enabled = gc.isenabled() and threading.get_ident() == _MAIN_THREAD
            try:
                if gc_enabled:
                    gc.disable()
                # One bytecode calls the program and stores what it returns.
                if needs_x64:
                    with x64():
                        if not returned:
                            returned += results
                elif not returned:
                    returned += results
            finally:
                if gc_enabled:
                    gc.enable()
        else:
            run_without_interrupt(lambda: self._run_first(arguments, returned, call))

    def _run_first(self, arguments: tuple, returned: list, call: tuple[type | bool, ...]) -> None:
        """Run once through JAX's Python code, which prepares later runs."""
        with jax.enable_x64(bool(call[-1])):
            if not returned:
                returned.append(self._compiled(*arguments))
        self._direct = _direct_call(self._compiled)
        self._prepared.add(call)


def _direct_call(compiled: Any) -> Callable[..., Any] | None:
    """The function by which a compiled program that has run once calls XLA without any Python.

    None where this version of JAX has no such function.
    """
    call = getattr(compiled, "_call", None)
    return call if type(call).__name__ == "PjitFunction" else None


def check_largest_array(device: Device | Placement, size: int) -> None:
    """See that a device can hold the largest array of a program that is about to be compiled.

    XLA's compiler plans loops over it, and for some sizes ends the process.

    Args:
        device: the device that the program is compiled for.
        size: the bytes of the array on each device.

    Raises:
        OutOfMemoryError: it cannot; while planning, no device could.
    """
    if size < _HUGE:
        return
    if not is_planning():
        check_memory(device, size)
    elif size >= _TOO_LARGE:
        raise OutOfMemoryError(
            f"out of memory: an array of {bytes_text(size)} on each device of `{device}` fits into "
            "none; use a smaller batch, or split it over more devices"
        )


def check_memory(device: Device | Placement, size: int, waiting_for: Any = ()) -> None:
    """See that a device has memory for a program.

    Args:
        device: where the program runs; on a placement, its devices in this process.
        size: what it needs on each device, in bytes.
        waiting_for: arrays; when they are there, memory that was used to make them is free again.

    Raises:
        OutOfMemoryError: it has not.
    """
    is_placement = isinstance(device, Placement)
    devices = device.mesh.local_devices if is_placement else [xla_device(device)]
    if device.type == "cpu":
        size *= len(devices)

    def can_fit() -> bool:
        if device.type == "cpu":
            return can_allocate(size)
        return all(_has_free(local_device, size) for local_device in devices)

    if can_fit():
        return
    jax.block_until_ready(waiting_for)
    gc.collect()  # tensors that only each other's objects refer to
    if not can_fit():
        raise OutOfMemoryError(
            f"out of memory: a program needs {bytes_text(size)} on `{device}` for results and "
            "intermediate values, more than is left; use a smaller batch, or keep fewer tensors"
        )


def _has_free(device: Any, size: int) -> bool:
    """Return whether an accelerator has `size` bytes left; True if it does not say."""
    statistics = device.memory_stats() or {}
    limit = statistics.get("bytes_limit")
    return limit is None or limit - statistics.get("bytes_in_use", 0) >= size
