"""Operations on what the devices of a placement hold, made from whole arrays on the host.

For the arrays nothing of the code under test is used but where parts begin and end: padding holds
numbers that spoil every result they get into, and partial sums lie unevenly on the devices.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.placement import Placement
from oneflow.base.sbp import PARTIAL_SUM, sbp_text
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.compiler.sharding import array_shape, named_sharding, partial_axes, shard_mapped
from oneflow.interpreter.numpy_function import numpy_function_of
from oneflow.primitives.inference import trace_on_parts
from oneflow.primitives.operation import Operation, Signature
from oneflow.primitives.shard_shapes import mesh_coordinates, shard_shape, shard_slices
from oneflow.runtime.part_arrays import PartArrays, results_on_parts
from tests.laws.recording import QUICKLY
from tests.oracle import array_difference

Sizes = tuple[int, ...]
Shards = Mapping[Sizes, np.ndarray]
"""The contents of the devices of a placement, padding included, by their coordinates."""


def stored(whole: np.ndarray, spec: TensorSpec) -> jax.Array:
    """The array behind a global tensor with these values."""
    return jax.device_put(_host_array(whole, spec), named_sharding(spec))


def _host_array(whole: np.ndarray, spec: TensorSpec) -> np.ndarray:
    """The array that `stored` puts on the devices."""
    placement: Any = spec.device
    hierarchy, sbp = placement.hierarchy, spec.sbp
    assert sbp is not None
    sums = partial_axes(spec)
    array = np.empty(array_shape(spec), whole.dtype)
    array[...] = _padding(whole.dtype)
    shape = shard_shape(spec.shape, hierarchy, sbp)
    for coordinate in mesh_coordinates(hierarchy):
        part = whole[shard_slices(spec.shape, hierarchy, sbp, coordinate)]
        if sums:
            counts, own = [hierarchy[a] for a in sums], [coordinate[a] for a in sums]
            part = share_of(part, int(np.ravel_multi_index(own, counts)), int(np.prod(counts)))
        block = _block(spec, shape, coordinate)
        array[(*block, ...)][tuple(map(slice, part.shape))] = part
    return array


def shards_of(whole: np.ndarray, spec: TensorSpec) -> Shards:
    """The shards of a global tensor with these values, in NumPy's arrays."""
    placement: Any = spec.device
    assert spec.sbp is not None
    array = _host_array(whole, spec)
    shape = shard_shape(spec.shape, placement.hierarchy, spec.sbp)
    shards = {}
    for coordinate in mesh_coordinates(placement.hierarchy):
        places = _block(spec, shape, coordinate)
        lead = len(places) - len(shape)
        starts = [place.start for place in places[lead:]]
        region = [slice(start, start + size) for start, size in zip(starts, shape, strict=True)]
        shards[coordinate] = array[(*places[:lead], *region)]
    return shards


def _padding(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max // 2 if dtype.kind in "iu" else np.nan


def _block(spec: TensorSpec, shape: Sizes, coordinate: Sizes) -> tuple[Any, ...]:
    """The place in the array of the part of one device."""
    placement: Any = spec.device
    assert spec.sbp is not None
    starts = []
    for dim, size in enumerate(shape):
        number = 0
        for axis, component in enumerate(spec.sbp):
            if getattr(component, "dim", None) == dim:
                number = number * placement.hierarchy[axis] + coordinate[axis]
        starts.append(slice(number * size, (number + 1) * size))
    return (*[coordinate[axis] for axis in partial_axes(spec)], *starts)


def share_of(part: np.ndarray, number: int, count: int) -> np.ndarray:
    """One of the parts that add up to `part`; multiples of it, other ones for every element.

    Small whole multiples are exact. What is not finite is in one part alone.
    """
    if part.dtype.kind == "b":
        raise TypeError("a truth value cannot be a partial sum")
    if count == 1:
        return part
    position = np.arange(part.size).reshape(part.shape)
    # The first parts are multiples that depend on the place, the last one is what is missing.
    multiples = [(position + n) % 3 - 1 for n in range(count - 1)]
    last = 1 - np.sum(multiples, axis=0)
    chosen = multiples[number] if number < count - 1 else last
    with np.errstate(all="ignore"):
        share = (part * chosen.astype(part.dtype)).astype(part.dtype)
    alone = part if number == count - 1 else np.zeros_like(part)
    return np.where(np.isfinite(part.astype(np.complex128)), share, alone)


def _shards_on_devices(array: jax.Array, spec: TensorSpec) -> Shards:
    """The shards in the array behind a global tensor."""
    placement: Any = spec.device
    blocks = {shard.device: np.asarray(shard.data) for shard in array.addressable_shards}
    lead = len(partial_axes(spec))
    coordinates = mesh_coordinates(placement.hierarchy)
    devices = placement.mesh.devices.flat
    return {
        coordinate: blocks[device].reshape(blocks[device].shape[lead:])
        for coordinate, device in zip(coordinates, devices, strict=True)
    }


def differences(shards: Shards, whole: np.ndarray, spec: TensorSpec, compare: Any) -> list[str]:
    """The differences between the contents of devices and the parts of `whole`.

    Args:
        shards: of a global tensor.
        whole: what the tensor should be.
        spec: of the global tensor.
        compare: ``(mine, expected)`` to a text or None.
    """
    placement: Any = spec.device
    hierarchy, sbp = placement.hierarchy, spec.sbp
    assert sbp is not None
    sums: dict[Sizes, np.ndarray] = {}
    for coordinate, shard in shards.items():
        slices = shard_slices(spec.shape, hierarchy, sbp, coordinate)
        part = shard[tuple(slice(region.stop - region.start) for region in slices)]
        group = tuple(0 if s is PARTIAL_SUM else p for s, p in zip(sbp, coordinate, strict=True))
        with np.errstate(all="ignore"):
            sums[group] = (sums[group] + part).astype(part.dtype) if group in sums else part
    problems = []
    for coordinate, part in sums.items():
        problem = compare(part, whole[shard_slices(spec.shape, hierarchy, sbp, coordinate)])
        if problem:
            problems.append(f"at {coordinate}: {problem}")
    return problems


def on_placement(operation: Operation, placement: Placement) -> Operation:
    """The operation with all operands and results on a placement, for `with_signature`."""
    moved = copy.copy(operation)
    moved.device = placement
    for name in ("in_specs", "out_specs"):
        specs = getattr(operation, name)
        own = [spec_of(s.shape, s.dtype, placement, placement.broadcast) for s in specs]
        setattr(moved, name, tuple(own))
    return moved


def with_signature(operation: Operation, signature: Signature) -> Operation:
    """An operation on a placement as it is under a signature."""
    found = copy.copy(operation)
    found.set_signature(signature)
    return found


def as_tuple(operation: Operation, results: Any) -> tuple:
    """The results of an operation, as a tuple."""
    return (results,) if operation.single else tuple(results)


def evaluated(operations: Sequence[Operation], operands: Sequence[Sequence]) -> list[list[Shards]]:
    """Per operation what the devices hold of its results: all of them run as one program.

    Args:
        operations: on one placement, with_signature.
        operands: of each, whole.
    """
    inputs = [spec for operation in operations for spec in operation.in_specs]
    outputs = [spec for operation in operations for spec in operation.out_specs]
    arrays = [
        stored(array, spec)
        for operation, own in zip(operations, operands, strict=True)
        for array, spec in zip(own, operation.in_specs, strict=True)
    ]

    def compute(*parts: Any) -> list:
        rest = iter(parts)
        return [
            result
            for operation in operations
            for result in as_tuple(
                operation, operation.evaluate(*itertools.islice(rest, len(operation.in_specs)))
            )
        ]

    run = jax.jit(shard_mapped(compute, inputs, outputs, operations[0].device))
    results = run.lower(*arrays).compile(compiler_options=QUICKLY)(*arrays)
    shards = iter([_shards_on_devices(*pair) for pair in zip(results, outputs, strict=True)])
    return [list(itertools.islice(shards, operation.count)) for operation in operations]


def interpreted(operation: Operation, operands: Sequence) -> list[Shards] | None:
    """The results of an operation on each device by NumPy; None if only XLA computes them.

    Args:
        operation: on a placement, with_signature.
        operands: whole.
    """
    function = numpy_function_of(trace_on_parts(operation))
    if function is None:
        return None
    arrays = [
        PartArrays(spec, shards_of(np.asarray(array), spec))
        for array, spec in zip(operands, operation.in_specs, strict=True)
    ]
    with np.errstate(all="ignore"):
        return [result.parts for result in results_on_parts(operation, function, arrays)]


def described(operation: Operation) -> str:
    """An operation with how its operands and results lie."""
    layouts = zip(operation.in_specs, operation.is_scalar, strict=True)
    given = ", ".join(sbp_text(spec.sbp) for spec, scalar in layouts if not scalar)
    results = ", ".join(sbp_text(spec.sbp) for spec in operation.out_specs)
    return f"{operation} on {operation.device.hierarchy}: {given} -> {results}"


def difference_of(mine: np.ndarray, whole: np.ndarray) -> str | None:
    """The difference of a part from that of the whole, or None."""
    if (mine.shape, mine.dtype) != (whole.shape, whole.dtype):
        return f"{mine.dtype}{mine.shape}, expected {whole.dtype}{whole.shape}"
    return array_difference(mine, whole, whole.dtype.name, 10)
