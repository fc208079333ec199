"""The cost of an operation on one device, counted in the trace of its implementation.

Products and convolutions count two per multiplication and addition, everything else one per
element. Steps that only move data count nothing. Inside an operation XLA stores the results of
products, convolutions and loops, and fuses the rest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
from jax.sharding import AbstractMesh, PartitionSpec

from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import mesh_axis
from oneflow.base.spec import TensorSpec
from oneflow.primitives.jax_primitives import (
    FLOPS_PER_ELEMENT,
    MOVES,
    REDUCTIONS,
    SCATTER_REDUCTIONS,
    STORED,
)
from oneflow.primitives.operation import Operation
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.shard_shapes import shard_shape, traced_offsets
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.primitives.trace import sub_jaxprs
from oneflow.primitives.traits import Kind


class OperationCost(NamedTuple):
    """The cost of one operation on one device.

    Attributes:
        flops: floating point (or other) operations.
        bytes_accessed: bytes of operands and results.
        temporary: the most bytes stored at one time that are neither.
        is_fused: XLA computes it within the readers of the result, which is not stored.
        is_permutation: the result has the elements of the operand, in another shape or order.
    """

    flops: int
    bytes_accessed: int
    temporary: int
    is_fused: bool
    is_permutation: bool


def shard_shape_of(spec: TensorSpec) -> tuple[int, ...]:
    """The shape of the shard of a tensor on one device."""
    if spec.sbp is None:
        return spec.shape
    placement: Any = spec.device
    return shard_shape(spec.shape, placement.hierarchy, spec.sbp)


def shard_bytes(spec: TensorSpec) -> int:
    """The bytes of the shard of a tensor on one device."""
    return math.prod(shard_shape_of(spec)) * spec.dtype.itemsize


@functools.lru_cache(maxsize=65536)
def operation_cost(operation: Operation) -> OperationCost:
    """Return the cost of an operation on one device."""
    tensors = [
        spec
        for spec, is_scalar in zip(operation.in_specs, operation.is_scalar, strict=True)
        if not is_scalar
    ]
    bytes_accessed = sum(map(shard_bytes, (*tensors, *operation.out_specs)))
    if operation.primitive.traits.kind is Kind.BOXING:
        staged = max((collective.staged for collective in collectives_of(operation)), default=0)
        return OperationCost(0, bytes_accessed, staged, False, False)
    parts = [
        jax.ShapeDtypeStruct(shard_shape_of(spec), spec.dtype.numpy) for spec in operation.in_specs
    ]
    traced = run_without_interrupt(lambda: jax.make_jaxpr(_traceable(operation))(*parts)).jaxpr
    flops = _count_flops(traced)
    is_permutation = (
        not flops
        and len(tensors) == 1
        and operation.single
        and operation.out_specs[0].numel == tensors[0].numel
    )
    return OperationCost(
        flops, bytes_accessed, _temporary(traced), not _stores(traced), is_permutation
    )


@functools.lru_cache(maxsize=65536)
def unsharded_flops(operation: Operation) -> int:
    """The operations of one device that computes the whole result."""
    unsharded = [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in operation.in_specs]
    traced = run_without_interrupt(lambda: jax.make_jaxpr(operation.evaluate_unsharded)(*unsharded))
    return _count_flops(traced.jaxpr)


@functools.lru_cache(maxsize=65536)
def steps_per_element(operation: Operation) -> int:
    """The steps of its implementation that compute, without loops and repetitions."""
    if operation.trace is None or operation.trace.jaxpr is None:
        return 1
    return _steps(operation.trace.jaxpr)


def _steps(jaxpr: Any) -> int:
    return sum(
        sum(map(_steps, sub_jaxprs(equation)))
        or (0 if name in MOVES else FLOPS_PER_ELEMENT.get(name, 1))
        for equation in jaxpr.eqns
        for name in [equation.primitive.name]
    )


@functools.lru_cache(maxsize=65536)
def is_fused(operation: Operation) -> bool:
    """Return whether XLA computes it within each reader of its result."""
    trace = operation.trace
    return trace is not None and trace.jaxpr is not None and not _reduces(trace.jaxpr)


def _reduces(jaxpr: Any) -> bool:
    return any(
        _stored(equation)
        or equation.primitive.name in REDUCTIONS
        or any(map(_reduces, sub_jaxprs(equation)))
        for equation in jaxpr.eqns
    )


@functools.lru_cache(maxsize=65536)
def product_flops(operation: Operation) -> int:
    """The multiplications and additions of an operation's products and convolutions."""
    arrays = [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in operation.in_specs]
    traced = run_without_interrupt(lambda: jax.make_jaxpr(operation.evaluate_unsharded)(*arrays))
    return sum(_count(product) for product in _products(traced.jaxpr))


def _products(jaxpr: Any) -> Iterator[Any]:
    """The products and convolutions in a traced implementation, each as often as it runs."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("dot_general", "conv_general_dilated"):
            yield equation
        for inner in sub_jaxprs(equation):
            for _ in range(equation.params.get("length", 1)):
                yield from _products(inner)


def _traceable(operation: Operation) -> Any:
    """The implementation as a function of one device's shards."""
    implementation = operation.primitive.traced_implementation(operation.device.type)
    signature = operation.signature
    if signature is None:
        return lambda *parts: implementation(*parts, **operation.attributes)
    placement: Any = operation.device
    attributes = dict(signature.attributes)

    def compute(*parts: Any) -> Any:
        if operation.primitive.traits.positional is not None:
            spec = operation.out_specs[0]
            starts = traced_offsets(spec.shape, placement.hierarchy, spec.sbp or ())
            attributes["shard"] = ShardIndex(spec.shape, starts)
        return implementation(*parts, **attributes)

    # Shards are passed as they are; the mesh only tells their positions.
    names = tuple(map(mesh_axis, range(placement.ndim)))
    unsharded = PartitionSpec()
    mesh = AbstractMesh(placement.hierarchy, names)
    return jax.shard_map(
        compute, mesh=mesh, in_specs=unsharded, out_specs=unsharded, check_vma=False
    )


def _count_flops(jaxpr: Any) -> int:
    return sum(_count(equation) for equation in jaxpr.eqns)


def _count(equation: Any) -> int:
    """The operations of one step of a traced implementation."""
    name = equation.primitive.name
    inner = sub_jaxprs(equation)
    if inner:
        counts = [_count_flops(body) for body in inner]
        if name == "cond":
            return max(counts)
        return sum(counts) * equation.params.get("length", 1)
    output_size = math.prod(equation.outvars[0].aval.shape) if equation.outvars else 0
    if name == "dot_general":
        (contracting, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2 * output_size * math.prod(shape[dim] for dim in contracting)
    if name == "conv_general_dilated":
        # The kernel has its output features in one dimension; the others are summed over.
        features = equation.params["dimension_numbers"].rhs_spec[0]
        kernel = equation.invars[1].aval.shape
        return 2 * output_size * math.prod(kernel) // max(kernel[features], 1)
    if name in MOVES:
        return 0
    if name in REDUCTIONS:
        return max(math.prod(atom.aval.shape) for atom in equation.invars)
    return output_size * FLOPS_PER_ELEMENT.get(name, 1)


def _temporary(jaxpr: Any) -> int:
    """The most bytes stored at one time that are neither operands nor results."""
    returned = {id(atom) for atom in jaxpr.outvars}
    last = {
        id(atom): index for index, equation in enumerate(jaxpr.eqns) for atom in equation.invars
    }
    freed: dict[int, int] = {}
    live = peak = 0
    for index, equation in enumerate(jaxpr.eqns):
        inner = sum(_temporary(body) for body in sub_jaxprs(equation))
        if equation.primitive.name in SCATTER_REDUCTIONS:
            inner += _bytes(equation.invars[0])
        if _stored(equation):
            for variable in equation.outvars:
                if id(variable) in last and id(variable) not in returned:
                    live += _bytes(variable)
                    freed[last[id(variable)]] = freed.get(last[id(variable)], 0) + _bytes(variable)
        peak = max(peak, live + inner)
        live -= freed.get(index, 0)
    return peak


def _bytes(array: Any) -> int:
    return math.prod(array.aval.shape) * array.aval.dtype.itemsize


def _stores(jaxpr: Any) -> bool:
    """Return true if some step of it is not fused."""
    return any(
        _stored(equation) or any(map(_stores, sub_jaxprs(equation))) for equation in jaxpr.eqns
    )


def _stored(equation: Any) -> bool:
    return equation.primitive.name in STORED
