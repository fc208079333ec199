"""`ModelTrace`: the calls of primitives that compute a model, on values with symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneflow.base.spec import TensorSpec
from oneflow.graph.captured_step import CapturedStep, StepInput
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Instruction, Program
from oneflow.tensor.tensor import Tensor
from oneflow_onnx.oneflow2onnx.sizes import DynamicSizeError, Shape, merge


@dataclass(frozen=True)
class TracedValue:
    """The type of a value.

    Attributes:
        shape: sizes, numbers or symbols.
        dtype: its NumPy dtype.
    """

    shape: Shape
    dtype: np.dtype


@dataclass(frozen=True)
class TracedCall:
    """One primitive applied to earlier values.

    Attributes:
        primitive: its name.
        attributes: its attributes, sizes in them possibly symbols.
        operands: numbers of the values it reads.
        results: number of each value it makes, with its type.
        scope: path of the module that it is in.
        operations: the operation in each capture.
    """

    primitive: str
    attributes: Mapping[str, Any]
    operands: tuple[int, ...]
    results: tuple[tuple[int, TracedValue], ...]
    scope: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class ModelTrace:
    """The computation of a model.

    Attributes:
        inputs: type and origin of each input, by number.
        numbers: Python numbers among the values, by number; a `CapturedSize` where captures differ.
        calls: in order; only those that the results need.
        results: numbers of the values that it returns.
        structure: the structure of the results.
    """

    inputs: Mapping[int, tuple[TracedValue, StepInput]]
    numbers: Mapping[int, tuple[Any, TracedValue]]
    calls: tuple[TracedCall, ...]
    results: tuple[int, ...]
    structure: Any


def merged_trace(steps: Sequence[CapturedStep], prefix: str = "") -> ModelTrace:
    """Return the trace that all captures of a model agree on.

    Args:
        steps: the captures.
        prefix: what paths of modules begin with that is to be left out.

    Raises:
        DynamicSizeError: they differ in more than sizes.
    """
    programs = [step.program for step in steps]
    if len({len(captured.instructions) for captured in programs}) > 1:
        raise DynamicSizeError(
            "the model does other things at other sizes (Python code asks for a size), so it has "
            "no one ONNX graph; give that dimension a fixed size"
        )
    first, step = programs[0], steps[0]
    results = _results(step)
    needed = _needed(first.instructions, results)
    calls = tuple(
        _merged_call(instructions, prefix)
        for instructions in zip(*(program.instructions for program in programs), strict=True)
        if not needed.isdisjoint(instructions[0].results)
    )
    inputs = {
        number: (
            _merged_type([captured.inputs[number] for captured in programs]),
            step.inputs[number],
        )
        for number in range(len(first.inputs))
    }
    for number in needed & inputs.keys():
        _check_same([captured.inputs[number] for captured in steps])
    start = len(first.inputs)
    numbers = {
        start + place: (_merged_number(steps, place), _merged_type([spec]))
        for place, spec in enumerate(first.scalars)
        if start + place in needed
    }
    return ModelTrace(inputs, numbers, calls, results, step.outputs.structure)


def program_trace(
    program: Program, inputs: Sequence[StepInput], numbers: Sequence[Any]
) -> ModelTrace:
    """Return the trace of a program.

    Args:
        program: the program.
        inputs: the origin of each of its inputs.
        numbers: its Python numbers.
    """
    calls = tuple([_merged_call([instruction], "") for instruction in program.instructions])
    kinds = [_merged_type([spec]) for spec in program.inputs]
    traced_inputs = dict(enumerate(zip(kinds, inputs, strict=True)))
    first = len(program.inputs)
    values = {
        first + place: (number, _merged_type([spec]))
        for place, (number, spec) in enumerate(zip(numbers, program.scalars, strict=True))
    }
    return ModelTrace(traced_inputs, values, calls, program.outputs, None)


def _results(step: CapturedStep) -> tuple[int, ...]:
    """The numbers of the values that `build` returned."""
    outputs, places = step.program.outputs, step.outputs
    computed = [result for result in places.results if isinstance(result, TensorSpec)]
    by_source = {id(input_.source): number for number, input_ in enumerate(step.inputs)}
    arguments = {
        input_.source: number
        for number, input_ in enumerate(step.inputs)
        if input_.kind == "argument"
    }
    # Inputs that `build` writes to: their new contents come first.
    updated = [id(step.inputs[number].source) for number in step.updates]
    by_source.update(zip(updated, outputs, strict=False))
    arguments.update(zip(places.written, outputs[len(updated) :], strict=False))
    numbers, new_numbers = [], iter(outputs[len(outputs) - len(computed) :])
    for result in step.outputs.results:
        if isinstance(result, TensorSpec):
            numbers.append(next(new_numbers))
        else:
            numbers.append(
                by_source[id(result)] if isinstance(result, Tensor) else arguments[result]
            )
    return tuple(numbers)


def _needed(instructions: Sequence[Instruction], results: Sequence[int]) -> set[int]:
    """The numbers of all values on which the results depend."""
    needed = set(results)
    for instruction in reversed(instructions):
        if not needed.isdisjoint(instruction.results):
            needed.update(instruction.operands)
    return needed


def _check_same(inputs: Sequence[StepInput]) -> None:
    """Check that all captures agree, arguments apart.

    Raises:
        DynamicSizeError: Python made it from a size.
    """
    first = inputs[0]
    if first.kind == "argument" or all(input_.source is first.source for input_ in inputs):
        return
    arrays = [_array(input_.source) for input_ in inputs]
    if not all(np.array_equal(array, arrays[0], equal_nan=True) for array in arrays):
        raise DynamicSizeError(
            f"a tensor that Python makes ({' or '.join(str(array.shape) for array in arrays)}) is "
            "another one at other sizes; compute it with operators (`oneflow.arange`), or give "
            "that dimension a fixed size"
        )


def _array(source: Tensor | np.ndarray) -> np.ndarray:
    return source.detach().numpy() if isinstance(source, Tensor) else np.asarray(source)


def _merged_call(instructions: Sequence[Instruction], prefix: str) -> TracedCall:
    first = instructions[0]
    name = first.operation.primitive.name
    if any(
        instruction.operation.primitive is not first.operation.primitive
        or instruction.operands != first.operands
        for instruction in instructions
    ):
        raise DynamicSizeError(
            f"at another size `{first.scope}` does something else than `{name}`; give that "
            "dimension a fixed size"
        )
    operations = tuple([instruction.operation for instruction in instructions])
    defaults = first.operation.primitive.attributes
    attributes = {
        key: merge([operation.attributes[key] for operation in operations], f"`{key}` of `{name}`")
        for key in first.operation.attributes
    }
    attributes = {**defaults, **attributes}
    specs = zip(*(operation.out_specs for operation in operations), strict=True)
    results = zip(first.results, map(_merged_type, specs), strict=True)
    scope = f"{first.scope}.".removeprefix(prefix).rstrip(".")
    return TracedCall(name, attributes, first.operands, tuple(results), scope, operations)


def _merged_type(specs: Sequence[TensorSpec]) -> TracedValue:
    shape = merge([spec.shape for spec in specs], "a shape")
    return TracedValue(shape, specs[0].dtype.numpy)


def _merged_number(steps: Sequence[CapturedStep], place: int) -> Any:
    if place in steps[0].dynamic_numbers:
        return steps[0].numbers[place]
    return merge([step.numbers[place] for step in steps], "a number")
