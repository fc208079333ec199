"""Inference of the results' shapes and dtypes by tracing a primitive."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.dtype import DType, from_numpy_dtype, require_tensors
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.base.x64 import in_x64
from oneflow.primitives.registry import Primitive
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.shard_shapes import shard_shape
from oneflow.primitives.trace import Trace
from oneflow.primitives.trace_cache import TRACES
from oneflow.primitives.traits import Kind
from oneflow.tuning.host_memory import host_memory_error

# Elements of a result up to which nothing that an elementwise implementation makes is too large.
_MAX_SIMPLE = 2**40
# Traces of checks that are kept, those used last.
_MAX_CHECKS = 1024
# Traces of operations on parts that are kept, likewise.
_MAX_PART_TRACES = 4096

Specs = tuple[TensorSpec, ...]
Operands = Sequence[jax.ShapeDtypeStruct]


def _reason(error: Exception, specs: Specs) -> str:
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


def infer(
    primitive: Primitive, attributes: Mapping[str, Any], in_specs: Specs, device: Any
) -> tuple[TensorSpec | Specs, Trace | None]:
    """Output specs by abstract evaluation; errors name the primitive and its operands.

    Args:
        primitive: the primitive.
        attributes: the attributes of the call, without the device.
        in_specs: the specs of the operands.
        device: the device of the results.

    Returns:
        The specs, and the trace from which they were found; None if that was not necessary.
    """
    if primitive.traits.real_only:
        _check_real(primitive, in_specs)
    for attribute in attributes.values():
        if isinstance(attribute, DType):
            require_tensors(attribute)
    if primitive.traits.kind is Kind.TRANSFER:
        return attributes["target"], None
    if primitive.traits.kind is Kind.BOXING:
        return in_specs[0], None
    try:
        trace, shape = _trace(primitive, attributes, abstract_operands(in_specs), device)
    except MemoryError as error:
        raise host_memory_error(primitive.name, error) from error
    except (TypeError, ValueError, OverflowError) as error:
        operand_text = ", ".join(map(repr, in_specs))
        raise RuntimeError(
            f"`{primitive.name}` cannot take ({operand_text}): {_reason(error, in_specs)}"
        ) from error
    results = trace.results
    specs = tuple(
        [
            spec_of(
                result.shape if shape is None else shape, from_numpy_dtype(result.dtype), device
            )
            for result in (results if isinstance(results, tuple) else (results,))
        ]
    )
    return specs if isinstance(results, tuple) else specs[0], trace


def _trace(
    primitive: Primitive, attributes: Mapping[str, Any], operands: Operands, device: Any
) -> tuple[Trace, tuple[int, ...] | None]:
    """Trace a primitive on operands; an elementwise one is traced once for all shapes.

    Returns:
        The trace, and the results' shape if it was traced without dimensions.
    """
    shared = None
    if primitive.elementwise:
        dtypes = tuple([operand.dtype for operand in operands])
        shared = TRACES.trace_elementwise(
            primitive.name, primitive.impl, dtypes, tuple(attributes.items())
        )
    if shared is None:
        return _trace_general(primitive, attributes, operands, device), None
    shapes = {operand.shape for operand in operands}
    if len(shapes) == 1 or shared.broadcasts:
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            shape = None  # the implementation says why not
        if shape is not None and math.prod(shape) <= _MAX_SIMPLE:
            return shared, shape
    general = _trace_general(primitive, attributes, operands, device)
    # From now on it is known that operands of different shapes are taken.
    shared.broadcasts = True
    return general, None


def _trace_general(
    primitive: Primitive, attributes: Mapping[str, Any], operands: Operands, device: Any
) -> Trace:
    """The trace of the implementation for a platform."""
    function = primitive.traced_implementation(device.type)

    @functools.cache
    def trace_call(*operands: jax.ShapeDtypeStruct) -> Trace:
        return TRACES.trace(primitive.name, function, operands, attributes)

    update = primitive.traits.update
    if update is None or update.parts is None:
        return trace_call(*operands)
    parts = [
        (places, trace_call(*[operands[place] for place in places]))
        for places in update.parts(len(operands), attributes)
    ]
    return Trace(None, parts=parts)


@functools.lru_cache(maxsize=_MAX_PART_TRACES)
@in_x64
def trace_on_parts(operation: Any) -> Trace:
    """The trace of an operation on one device's shards of global tensors.

    A primitive whose values depend on the position takes the offsets of the part as further
    operands, see `oneflow.primitives.shard_index`.
    """
    primitive, device = operation.primitive, operation.device
    operands, attributes = abstract_parts(operation), operation.signature.attributes
    if primitive.traits.positional is None:
        return _trace(primitive, attributes, operands, device)[0]
    function = with_offsets(primitive.traced_implementation(device.type))
    shape = operation.shard_index_spec.shape
    operands += [jax.ShapeDtypeStruct((), np.dtype(np.int32))] * len(shape)
    return TRACES.trace(primitive.name, function, operands, {**attributes, "sizes": shape})


@functools.cache  # one for each implementation
def with_offsets(implementation: Callable) -> Callable:
    """An implementation as a function of its operands, then the offsets of the shard."""

    def run(*operands: Any, sizes: tuple[int, ...], **attributes: Any) -> Any:
        count = len(operands) - len(sizes)
        shard = ShardIndex(sizes, operands[count:])
        return implementation(*operands[:count], shard=shard, **attributes)

    return run


@functools.lru_cache(maxsize=_MAX_CHECKS)
@in_x64
def trace_check_on_parts(operation: Any) -> Trace:
    """The value check of an operation on one device's shards, as traced by JAX."""
    primitive, attributes = operation.primitive, operation.signature.attributes
    return TRACES.trace(primitive.name, primitive.check, abstract_parts(operation), attributes)


@functools.lru_cache(maxsize=_MAX_CHECKS)
def trace_check(operation: Any) -> Trace:
    """The value check of an operation's primitive as traced by JAX."""
    primitive = operation.primitive
    operands = abstract_operands(operation.in_specs)
    return TRACES.trace(primitive.name, primitive.check, operands, operation.attributes)


@in_x64
def jaxpr_of(operation: Any) -> Any:
    """The steps that the general implementation takes on whole operands, as JAX traces them.

    Raises:
        TypeError, ValueError: JAX cannot trace it.
    """
    function = functools.partial(operation.primitive.impl, **operation.attributes)
    return jax.make_jaxpr(function)(*abstract_operands(operation.in_specs))


def abstract_operands(specs: Specs) -> list[jax.ShapeDtypeStruct]:
    """Shapes and dtypes of whole operands."""
    return [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in specs]


def abstract_parts(operation: Any) -> list[jax.ShapeDtypeStruct]:
    """Shapes and dtypes of what one device holds of the operands, padding included."""
    hierarchy = operation.device.hierarchy
    return [
        jax.ShapeDtypeStruct(shard_shape(spec.shape, hierarchy, spec.sbp), spec.dtype.numpy)
        for spec in operation.in_specs
    ]


def _check_real(primitive: Primitive, in_specs: Specs) -> None:
    for spec in in_specs:
        if spec.dtype.is_complex:
            raise NotImplementedError(
                f'"{primitive.name}" not implemented for {spec.dtype!r}: take the real or '
                "imaginary part, or the absolute value, first"
            )
