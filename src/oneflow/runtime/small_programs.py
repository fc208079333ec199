"""Small programs on the CPU whose value is read: NumPy computes them from what was recorded.

Starting an executable and reading its result take longer than such a program on NumPy, so it never
becomes hot. Its results stay NumPy's until a program that is not small takes them. All is computed
before anything is written, so that an exception, of a signal handler too, leaves the program as it
was. A run that must wait, or finds something wrong, goes the ordinary way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax
import numpy as np

from oneflow.base.device import Device
from oneflow.base.planning import is_planning
from oneflow.compiler.lower import typed_scalar
from oneflow.interpreter.numpy_function import NumpyFunction
from oneflow.primitives.inference import trace_check
from oneflow.primitives.operation import Operation
from oneflow.primitives.trace import Trace
from oneflow.program.ir import iterate_key
from oneflow.program.recorder import Recorder
from oneflow.program.value import Value
from oneflow.runtime import checks
from oneflow.runtime.cold import (
    COLD,
    is_exclusive,
    is_out_of_memory,
    numpy_function,
    seconds_on_numpy,
    share_of_cores,
)
from oneflow.runtime.counters import STATISTICS
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.events import SINK
from oneflow.runtime.lazy_array import HostArray

# Instructions of a small program, and seconds that they take NumPy, by estimate.
MAX_INSTRUCTIONS = 16
_MAX_SECONDS = 80e-6
# The part of these that every instruction takes besides what NumPy does.
_STEP_SECONDS = 2e-6
# Results that somebody still holds: the one that is read, and states of a loop. Should a program
# that is not small take them, they are put on the device one by one.
_MAX_RESULTS = 4
# Outputs of a program in which the instructions of one value are looked for.
_MAX_SEARCHED = 32
# Small programs that are kept.
_MAX_PROGRAMS = 256
# Bytes of an input. While NumPy sees its memory, no program can write its results there.
MAX_INPUT_BYTES = 1 << 24
_ALL = slice(None)


class SmallStep:
    """An operation of small programs, as NumPy computes it.

    Attributes:
        seconds: the estimated seconds, with those of its run-time check; infinite if it is not for
            small programs.
        is_part: it selects a part of an array, which raises no floating point errors.
    """

    __slots__ = ("_check", "_function", "_numbers", "_part", "_specs", "is_part", "seconds")

    def __init__(self, operation: Operation) -> None:
        specs = operation.in_specs
        self._specs = operation.out_specs
        # The places of numbers among the operands, and their dtypes.
        self._numbers = [
            (place, spec.dtype.numpy)
            for place, (spec, is_number) in enumerate(zip(specs, operation.is_scalar, strict=True))
            if is_number
        ]
        self._function = numpy_function(operation, operation.trace)
        self._check: NumpyFunction | None = None
        self.seconds = _seconds(self._function, operation, operation.trace)
        rule = operation.primitive.traits.view
        self._part: _Part | None = None
        box = None if rule is None or operation.needs_check else rule.box
        if box is not None and all(operation.is_scalar[1:]):
            self._part = _Part(operation, box)
        self.is_part = self._part is not None
        if any(spec.nbytes > MAX_INPUT_BYTES for spec in specs):
            self.seconds = math.inf
        elif operation.needs_check and self._function is not None:
            trace = trace_check(operation)
            self._check = numpy_function(operation, trace)
            self.seconds += _seconds(self._check, operation, trace)

    def results(self, operands: list[Any]) -> Sequence[Any] | None:
        """The results of the operation; None if its run-time check finds something wrong.

        Args:
            operands: arrays and Python numbers.
        """
        if self._part is not None:
            return (self._part.elements(operands),)
        for place, dtype in self._numbers:
            operands[place] = typed_scalar(operands[place], dtype)
        if self._check is not None and self._check(*operands)[0]:
            return None
        function: Any = self._function
        if function.seconds.product:
            with share_of_cores(function.seconds.product):
                results = function(*operands)
        else:
            results = function(*operands)
        return [
            result if result.shape == spec.shape else np.broadcast_to(result, spec.shape)
            for result, spec in zip(results, self._specs, strict=True)
        ]


class _Part:
    """The part of an array that an operation selects.

    Args:
        operation: the operation; its first operand is the array, the others are numbers.
        box: the box of these numbers, see `ViewRule`.
    """

    __slots__ = ("_dims", "_index")

    def __init__(self, operation: Operation, box: Callable[..., Any]) -> None:
        places = range(1, len(operation.in_specs))
        self._index: list[Any] = [_ALL] * operation.in_specs[0].ndim
        # The operand at which each dimension starts; a size of None stands for one element.
        self._dims = [(dim, *entry) for dim, entry in box(*places, **operation.attributes).items()]

    def elements(self, operands: Sequence[Any]) -> Any:
        """The elements that it selects for these operands."""
        index = self._index[:]
        for dim, place, size, step in self._dims:
            start = operands[place]
            index[dim] = start if size is None else slice(start, start + size * step, step)
        return operands[0][tuple(index)]


class SmallProgram:
    """The program of a recorder, as steps of NumPy's.

    Attributes:
        steps: with the references of their operands.
        seconds: the seconds that NumPy takes, by estimate.
        is_part: all steps select parts.

    Args:
        key: the key of the recorder.
    """

    __slots__ = ("is_part", "seconds", "steps")

    def __init__(self, key: Sequence[Any]) -> None:
        self.steps: list[tuple[SmallStep, Sequence[Any]]] = []
        for operation, references in iterate_key(key):
            self.steps.append((_small_step(operation), references))
        self.seconds = sum([step.seconds for step, _ in self.steps])
        self.is_part = all(step.is_part for step, _ in self.steps)


# Emptied before unused operations are evicted.
SMALL_STEPS: dict[Operation, SmallStep] = {}
SMALL_PROGRAMS: dict[tuple[Any, ...], SmallProgram] = {}


def _small_step(operation: Operation) -> SmallStep:
    """The step of an operation."""
    step = SMALL_STEPS.get(operation)
    if step is None:
        step = SMALL_STEPS[operation] = SmallStep(operation)
    return step


def _small_program(key: tuple[Any, ...]) -> SmallProgram:
    """The program of a recorder's key."""
    program = SMALL_PROGRAMS.get(key)
    if program is None:
        if len(SMALL_PROGRAMS) >= _MAX_PROGRAMS:
            SMALL_PROGRAMS.clear()
        program = SMALL_PROGRAMS[key] = SmallProgram(key)
    return program


def _seconds(function: NumpyFunction | None, operation: Operation, trace: Trace | None) -> float:
    """Seconds that NumPy takes for a trace, by estimate; infinite if it is better compiled."""
    if function is None or trace is None:
        return math.inf
    return _STEP_SECONDS + seconds_on_numpy(function, operation, trace)


def run_small(recorder: Recorder) -> list[Any] | None:
    """Compute what has been recorded, if that is a small program and its inputs are there.

    No check before it may have failed.

    Returns:
        The numbers of each output; None if the program must run in the ordinary way. Nothing has
        been changed.
    """
    outputs = recorder.outputs
    if len(outputs) > MAX_INSTRUCTIONS or not _is_for_numpy(recorder):
        return None
    started = perf_counter()
    # Copied without a call: a signal handler may run the program, which then has no inputs any
    # more. It donates none that is held here, too.
    key, inputs, scalars = (*recorder.key,), (*recorder.arrays,), (*recorder.scalars,)
    if recorder.closed:
        return None
    program = _small_program(key)
    if program.seconds > _MAX_SECONDS:
        return None
    references = [*outputs, *[reference for _, reference in recorder.aliases]]
    if len(references) > _MAX_RESULTS and _count_alive(references) > _MAX_RESULTS:
        return None
    # Others must not wait for a program that computes the inputs.
    for array in inputs:
        if not _is_ready(array):
            return None
    try:
        if program.is_part:
            arrays = _compute(program.steps, inputs, scalars)
        else:
            with np.errstate(all="ignore"):
                arrays = _compute(program.steps, inputs, scalars)
    except Exception as error:
        if is_out_of_memory(error):
            return None
        raise
    STATISTICS.cold_runs += 1
    STATISTICS.cold_seconds += perf_counter() - started
    return arrays


def small_value(value: Value) -> Any:
    """The numbers of a value that this thread has recorded, computed from few small instructions.

    The program stays as it was, and computes them again.

    Returns:
        The numbers; None if they take more, or an input is not there.
    """
    recorder: Any = value.recorder
    if len(recorder.outputs) > _MAX_SEARCHED or not _is_for_numpy(recorder):
        return None
    key, inputs, scalars = (*recorder.key,), (*recorder.arrays,), (*recorder.scalars,)
    if recorder.closed:  # a signal handler ran it meanwhile, and it has no inputs any more
        return None
    instructions = _instructions_of(key, value.position)
    if instructions is None:
        return None
    if not all(_is_ready(inputs[~r]) for _, rs, _, _ in instructions for r in rs if r and r < 0):
        return None
    program, numbers, places = [], [], {}
    for operation, references, position, scalar in instructions:
        step = _small_step(operation)
        program.append((step, [places.get(reference, reference) for reference in references]))
        numbers += scalars[scalar : scalar + references.count(None)]
        for output in range(operation.count):
            places[position + output] = len(places)
    if sum([step.seconds for step, _ in program]) > _MAX_SECONDS:
        return None
    with np.errstate(all="ignore"):
        results = _compute(program, inputs, numbers)
    return None if results is None else results[places[value.position]]


def _instructions_of(key: Sequence[Any], position: int) -> list[tuple[Any, ...]] | None:
    """The instructions that compute one output; None if there are many.

    Returns:
        Of each: the operation, the references, the position of its first output and the number of
        Python numbers before its own.
    """
    instructions = []
    end = scalars = 0
    for operation, references in iterate_key(key):
        if end > position:
            break
        instructions.append((operation, references, end, scalars))
        end += operation.count
        scalars += references.count(None)
    needed, selected = {position}, []
    for instruction in reversed(instructions):
        operation, references, first, _ = instruction
        if not needed.isdisjoint(range(first, first + operation.count)):
            needed.update(references)
            selected.append(instruction)
            if len(selected) > MAX_INSTRUCTIONS:
                return None
    return selected[::-1]


def has_array(value: Value) -> bool:
    """Return whether a value has an array, of this host or JAX's; it may not be computed yet."""
    array = value.array
    return type(value.recorder) is HostArray if array is None else isinstance(array, jax.Array)


def is_deleted(value: Value) -> bool:
    """Return whether a program has taken the array of a value for its result."""
    return isinstance(value.array, jax.Array) and value.array.is_deleted()


def read_part(value: Value, index: tuple[int, ...]) -> Any:
    """Read a part of the array of a value on a CPU; who does looks at checks afterwards.

    Returns:
        The part in NumPy's memory, an element as its scalar; None if it cannot be read without
        waiting.
    """
    array = value.array
    if array is None:
        recorder = value.recorder
        if type(recorder) is not HostArray:
            return None
        numbers = recorder.numbers
    elif not isinstance(array, jax.Array) or not _is_ready(array):
        return None
    else:
        checks.inherit((array,))
        numbers = np.asarray(array)
    return numbers[index]


def give_numbers(recorder: Recorder, arrays: Sequence[Any]) -> None:
    """Give the values that somebody holds their numbers; the recorder takes no instructions.

    Args:
        recorder: the recorder.
        arrays: the numbers of each output.
    """
    host_arrays: dict[int, HostArray] = {}
    references = list(enumerate(recorder.outputs))
    # Other threads may register handles until the values have their numbers.
    for position, reference in itertools.chain(references, recorder.aliases):
        value = reference()
        if value is None or value.recorder is not recorder:
            continue
        if position not in host_arrays:
            array = arrays[position]
            numbers = array if is_exclusive(array) else np.array(array)
            host_arrays[position] = HostArray(value.spec, numbers)
        host_arrays[position].add_alias(value)
        value.recorder = host_arrays[position]


def _is_ready(array: Any) -> bool:
    """Return whether an input can be read without waiting."""
    return type(array) is HostArray or (not array.is_deleted() and array.is_ready())


def _count_alive(references: Sequence[Any]) -> int:
    """Count the values that somebody still holds."""
    return sum([reference() is not None for reference in references])


def _is_for_numpy(recorder: Recorder) -> bool:
    """Return whether programs run on NumPy now."""
    device = recorder.device
    return (
        isinstance(device, Device)
        and device.type == "cpu"
        and COLD.interpret
        and SETTINGS.mode == "deferred"
        and SINK.record is None
        and not SETTINGS.by_operator
        and not is_planning()
    )


def _compute(
    program: Sequence[tuple[SmallStep, Sequence[Any]]],
    inputs: Sequence[Any],
    scalars: Sequence[Any],
) -> list[Any] | None:
    """The array of each output; None if a run-time check has failed."""
    numbers = iter(scalars)
    arrays = [a.numbers if type(a) is HostArray else np.asarray(a) for a in inputs]
    values: list[Any] = []
    for step, references in program:
        results = step.results(
            [
                next(numbers)
                if reference is None
                else arrays[~reference]
                if reference < 0
                else values[reference]
                for reference in references
            ]
        )
        if results is None:
            return None
        values += results
    return values
