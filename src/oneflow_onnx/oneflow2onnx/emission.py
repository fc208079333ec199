"""From a trace to an ONNX graph: every call is written by its lowering."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.rounding import is_half
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.complex_numbers import (
    as_stored,
    has_complex,
    is_complex,
    lower_complex,
    stored,
)
from oneflow_onnx.oneflow2onnx.jaxprs import lower_by_steps
from oneflow_onnx.oneflow2onnx.lowering import Call, Lowering, Unsupported
from oneflow_onnx.oneflow2onnx.reference import Ref, onnx_type
from oneflow_onnx.oneflow2onnx.schemas import NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import CapturedSize, DynamicSizeError, static
from oneflow_onnx.oneflow2onnx.trace import ModelTrace, TracedCall, TracedValue

_COMPLEX_ARGUMENT = (
    "complex numbers, which no runtime takes; let the model take pairs, and make them complex with "
    "`oneflow.view_as_complex`"
)
_COMPLEX_RESULT = (
    "complex numbers, which no runtime gives; let the model return pairs, as "
    "`oneflow.view_as_real` makes them"
)


@dataclass(frozen=True)
class Failure:
    """A call that could not be written.

    Attributes:
        primitive: its primitive.
        scope: path of its module.
        reason: why not.
    """

    primitive: str
    scope: str
    reason: str


@dataclass
class Emission:
    """An ONNX graph in one opset.

    Attributes:
        builder: what was built.
        inputs: the graph's inputs.
        outputs: its results.
        parameters: inputs of the trace that became initializers, by number.
        needs: requests for a later opset.
        failures: what could not be written, by the value that is missing.
    """

    builder: OnnxBuilder
    inputs: list[ir.Value] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    parameters: dict[int, ir.Value] = field(default_factory=dict)
    needs: list[NeedsOpset] = field(default_factory=list)
    failures: dict[ir.Value, Failure] = field(default_factory=dict)


def emit(
    trace: ModelTrace,
    opset: int,
    input_names: Mapping[int, str],
    parameter_names: Mapping[int, str],
    lowerings: Mapping[str, Lowering],
    progress: Callable[[Iterable[TracedCall]], Iterable[TracedCall]],
) -> Emission:
    """Write a trace as an ONNX graph.

    Args:
        trace: the trace.
        opset: the opset to write.
        input_names: names of the graph's inputs, by number.
        parameter_names: names of parameters, buffers and constants, by number.
        lowerings: how primitives are written.
        progress: wraps the iteration over the calls.

    Returns:
        The graph; with `needs` or `failures` it is not complete.
    """
    builder = OnnxBuilder(opset)
    emission = Emission(builder)
    values = _inputs(emission, trace, input_names, parameter_names)
    producer_of: dict[Ref, tuple[Call, int]] = {}
    complex_values: set[int] = set()
    for traced in progress(trace.calls):
        complex_values.update(n for n, kind in traced.results if is_complex(kind.dtype))
        for operand in traced.operands:
            if operand not in values:
                number, kind = trace.numbers[operand]
                values[operand] = _number(emission, number, _number_type(kind, traced))
        call = Call(
            traced.primitive,
            traced.attributes,
            [values[number] for number in traced.operands],
            [as_stored(kind) for _, kind in traced.results],
            producer_of,
        )
        results = _written(emission, traced, call, lowerings)
        for place, ((number, _), ref) in enumerate(zip(traced.results, results, strict=True)):
            values[number] = ref
            producer_of.setdefault(ref, (call, place))
    emission.outputs = [
        values[number] if number in values else _number(emission, *trace.numbers[number])
        for number in trace.results
    ]
    for place, number in enumerate(trace.results):
        if number in complex_values and emission.outputs[place].value not in emission.failures:
            kind = TracedValue(emission.outputs[place].shape, emission.outputs[place].dtype)
            output = _unsupported_value(emission, f"result {place}", kind, _COMPLEX_RESULT)
            emission.outputs[place] = output
    return emission


def _inputs(
    emission: Emission,
    trace: ModelTrace,
    input_names: Mapping[int, str],
    parameter_names: Mapping[int, str],
) -> dict[int, Ref]:
    """The values of arguments, parameters, buffers and constants, by number."""
    values: dict[int, Ref] = {}
    for number, (kind, _) in trace.inputs.items():
        name = input_names.get(number) or parameter_names[number]
        is_argument = number in input_names
        expected = kind if is_argument else as_stored(kind)
        value = ir.Value(name=name, type=ir.TensorType(onnx_type(expected.dtype)))
        ref = Ref(value, expected.dtype, expected.shape)
        if is_argument:
            emission.inputs.append(value)
            if is_complex(kind.dtype):
                ref = _unsupported_value(emission, name, kind, _COMPLEX_ARGUMENT)
            values[number] = emission.builder.known(ref)
        else:
            values[number] = ref
            emission.parameters[number] = value
    return values


def _unsupported_value(emission: Emission, name: str, kind: TracedValue, reason: str) -> Ref:
    """A value at the border of the graph that ONNX does not allow there."""
    b, kind = emission.builder, as_stored(kind)
    b.scope = b.primitive = name
    ref = b.missing((kind.shape, kind.dtype), reason)
    emission.failures[ref.value] = Failure(name, "", reason)
    return ref


def _number_type(kind: TracedValue, traced: TracedCall) -> TracedValue:
    """The type of a number of `traced`: ONNX takes none of float32 beside half precision."""
    result = traced.results[0][1].dtype
    is_computed = kind.dtype == np.float32 and is_half(result)
    return TracedValue(kind.shape, result) if is_computed else kind


def _number(emission: Emission, number: Any, kind: TracedValue) -> Ref:
    """A Python number of the program."""
    b = emission.builder
    if not isinstance(number, CapturedSize):
        return b.constant(stored(np.asarray(number).astype(kind.dtype)))
    try:
        return b.number(number, kind.dtype)
    except NeedsOpset as need:
        emission.needs.append(need)
        return b.missing((kind.shape, kind.dtype), str(need))


def _written(
    emission: Emission, traced: TracedCall, call: Call, lowerings: Mapping[str, Lowering]
) -> list[Ref]:
    """The results of a call; where it cannot be written, values that are known to be missing."""
    b = emission.builder
    b.scope, b.primitive = traced.scope, traced.primitive
    shapes = [static(result.shape) for result in call.results]
    plain = [shape for shape in shapes if shape is not None and 0 in shape]
    if len(plain) == len(shapes):
        types = [result.dtype for result in call.results]
        return [b.constant(np.zeros(*zeros)) for zeros in zip(plain, types, strict=True)]
    refs, reason = _try_lowerings(emission, traced, call, lowerings)
    results = []
    for place, (ref, kind) in enumerate(zip(refs, call.results, strict=True)):
        if ref is None:
            why = reason or f"its result {place} is not among those of ONNX's operator"
            ref = b.missing((kind.shape, kind.dtype), why, call.operands)
        if ref.value in b.unavailable:
            failure = Failure(traced.primitive, traced.scope, b.unavailable[ref.value])
            emission.failures.setdefault(ref.value, failure)
        elif ref.shape != kind.shape or ref.dtype != kind.dtype:
            ref = b.cast(ref, kind.dtype)
            ref = b.known(Ref(ref.value, ref.dtype, kind.shape, ref.constant))
        results.append(ref)
    return results


def _try_lowerings(
    emission: Emission, traced: TracedCall, call: Call, lowerings: Mapping[str, Lowering]
) -> tuple[list[Ref | None], str | None]:
    """The results of a call, None for those that cannot be given, and why not."""
    b, no_results = emission.builder, [None] * len(call.results)

    def write(call: Call, operations: Sequence[Operation]) -> list[Ref | None]:
        return _lowered(b, call, operations, lowerings)

    try:
        if has_complex(traced.operations[0]):
            return lower_complex(b, call, traced.operations, write), None
        return write(call, traced.operations), None
    except NeedsOpset as need:
        emission.needs.append(need)
        return list(no_results), str(need)
    except (Unsupported, DynamicSizeError, TypeError) as error:
        return list(no_results), str(error)


def _lowered(
    b: OnnxBuilder,
    call: Call,
    operations: Sequence[Operation],
    lowerings: Mapping[str, Lowering],
) -> list[Ref | None]:
    """The results of a call of real numbers: by its lowering, or else step by step."""
    lower = lowerings.get(call.primitive)
    if lower is None:
        return lower_by_steps(b, call, operations)
    try:
        results = lower(b, call)
        return [results] if isinstance(results, Ref) else list(results)
    except Unsupported as error:
        try:
            return lower_by_steps(b, call, operations)
        except (Unsupported, DynamicSizeError, TypeError):
            raise error from None
