"""Inference of the results' shapes and dtypes by tracing an operation."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np

from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.spec import TensorSpec, spec_of, with_sbp
from oneflow.base.x64 import in_x64
from oneflow.primitives.shared_trace import trace_at_any_sizes
from oneflow.primitives.tracing import Traced, TracedParts, trace_elementwise
from oneflow.primitives.traits import Kind
from oneflow.tuning.host_memory import host_memory_error

# Elements of a result up to which nothing that an elementwise implementation makes is too large.
_MAX_SIMPLE = 2**40


def _reason(error: Exception, specs: tuple[TensorSpec, ...]) -> str:
    """Return the message of `error`, about tensors where JAX names its own functions."""
    if "arguments to have the same dtypes" in str(error):
        return "their dtypes must be equal; convert one with `.to(dtype)`"
    if "ncompatible shapes for broadcast" not in str(error):
        return str(error)
    shapes = " and ".join(str(list(spec.shape)) for spec in specs if spec.ndim)
    return (
        f"shapes {shapes} do not broadcast: counted from the last dimension, sizes must be equal "
        "or 1; reshape or expand one of them"
    )


def infer(operation: Any) -> tuple[TensorSpec | tuple[TensorSpec, ...], Traced | None]:
    """Output specs by abstract evaluation; errors name the primitive and its operands.

    Args:
        operation: an `Operation` of which all but these is known.

    Returns:
        The specs, and the trace from which they were found; None if that was not necessary.
    """
    if operation.primitive.traits.real_only:
        _check_real(operation)
    if operation.primitive.traits.kind is Kind.TRANSFER:
        return operation.attributes["target"], None
    try:
        if operation.primitive.traits.kind is Kind.BOXING:
            spec, signature = operation.in_specs[0], operation.signature
            return spec if signature is None else with_sbp(spec, signature.outputs[0]), None
        traced, shape = _trace(operation)
    except MemoryError as error:
        raise host_memory_error(operation.primitive.name, error) from error
    except (TypeError, ValueError, OverflowError) as error:
        operand_text = ", ".join(map(repr, operation.in_specs))
        raise RuntimeError(
            f"`{operation.primitive.name}` cannot take ({operand_text}): "
            f"{_reason(error, operation.in_specs)}"
        ) from error
    is_tuple = isinstance(traced.results, tuple | list)
    outputs = traced.results if is_tuple else (traced.results,)
    signature = operation.signature
    shardings = signature.outputs if signature is not None else (None,) * len(outputs)
    specs = [
        spec_of(
            tuple(each.shape) if shape is None else shape,
            from_numpy_dtype(each.dtype),
            operation.device,
            sbp,
        )
        for each, sbp in zip(outputs, shardings, strict=True)
    ]
    return tuple(specs) if is_tuple else specs[0], traced


def _trace(operation: Any) -> tuple[Traced, tuple[int, ...] | None]:
    """Trace an operation on whole operands.

    An elementwise operation is traced once for all shapes.

    Returns:
        The trace, and the results' shape if it was traced without dimensions.
    """
    primitive = operation.primitive
    shared = None
    if primitive.elementwise:
        dtypes = tuple([spec.dtype.numpy for spec in operation.in_specs])
        attributes = tuple(operation.attributes.items())
        shared = trace_elementwise(primitive.name, primitive.impl, dtypes, attributes)
    if shared is None:
        return _trace_general(operation), None
    shapes = {spec.shape for spec in operation.in_specs}
    if len(shapes) == 1 or shared.broadcasts:
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            shape = None  # the implementation says why not
        if shape is not None and math.prod(shape) <= _MAX_SIMPLE:
            return shared, shape
    general = _trace_general(operation)
    # From now on it is known that operands of different shapes are taken.
    shared.broadcasts = True
    return general, None


@in_x64
def jaxpr_of(operation: Any) -> Any:
    """The steps that the general implementation takes on whole operands, as JAX traces them.

    Raises:
        TypeError, ValueError: JAX cannot trace it.
    """
    function = functools.partial(operation.primitive.impl, **operation.attributes)
    return jax.make_jaxpr(function)(*abstract_operands(operation))


def _trace_general(operation: Any) -> Traced:
    """The trace of an operation's implementation for its platform on whole operands."""
    function = operation.primitive.traced_implementation(operation.device.type)

    @functools.cache
    def trace_call(*operands: jax.ShapeDtypeStruct) -> Traced:
        name = operation.primitive.name
        return trace_at_any_sizes(name, function, operands, operation.attributes)

    operands, update = abstract_operands(operation), operation.primitive.traits.update
    if update is None or update.parts is None:
        return trace_call(*operands)
    parts = [
        (places, trace_call(*[operands[each] for each in places]))
        for places in update.parts(operation)
    ]
    return TracedParts(parts)


def abstract_operands(operation: Any) -> list[jax.ShapeDtypeStruct]:
    """Shapes and dtypes of whole operands."""
    return [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in operation.in_specs]


def _check_real(operation: Any) -> None:
    for spec in operation.in_specs:
        if spec.dtype.is_complex:
            raise NotImplementedError(
                f'"{operation.primitive.name}" not implemented for {spec.dtype!r}: take the real '
                "or imaginary part, or the absolute value, first"
            )
