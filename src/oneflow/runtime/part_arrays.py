"""The parts of global tensors that this process holds, on NumPy.

A cold program computes each operation on them by itself, and exchanges nothing for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.spec import TensorSpec
from oneflow.compiler.sharding import array_shape, named_sharding, partial_axes
from oneflow.interpreter.numpy_function import NumpyFunction
from oneflow.primitives.operation import Operation
from oneflow.primitives.shard_shapes import shard_shape, shard_slices
from oneflow.primitives.sharding.host_boxing import Exchange, convert_shards
from oneflow.runtime.memory import wrap_on
from oneflow.runtime.shards import Coordinate, addressable_coordinates, resize, shard_sizes

Parts = Mapping[Coordinate, Any]
"""The contents of this process's devices, by their coordinates: NumPy's arrays with padding."""


class PartArrays:
    """A global tensor between two instructions of a cold program.

    Attributes:
        spec: the spec of the tensor.
        parts: what this process's devices hold of it.
    """

    __slots__ = ("parts", "spec")

    def __init__(self, spec: TensorSpec, parts: Parts) -> None:
        self.spec = spec
        self.parts = parts

    def put(self, exclusive: Callable[[Any], np.ndarray] = np.array) -> jax.Array:
        """The array of the tensor on its devices.

        Args:
            exclusive: returns an array in contiguous memory that nothing else refers to.
        """
        spec, placement = self.spec, self.spec.device
        block_shape = (1,) * len(partial_axes(spec)) + self.shape
        blocks = [
            wrap_on(exclusive(self.parts[coordinate]).reshape(block_shape), device)
            for coordinate, device in addressable_coordinates(placement)
        ]
        return jax.make_array_from_single_device_arrays(
            array_shape(spec), named_sharding(spec), blocks
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each part."""
        return part_shape(self.spec)


def part_shape(spec: TensorSpec) -> tuple[int, ...]:
    """The shape of a device's shard of a global tensor, padding included."""
    placement: Any = spec.device
    return shard_shape(spec.shape, placement.hierarchy, spec.sbp or ())


def local_elements(spec: TensorSpec) -> int:
    """The number of elements of a tensor, or of a device's shard of a global one."""
    return spec.numel if spec.sbp is None else math.prod(part_shape(spec))


def parts_of(array: Any, spec: TensorSpec) -> Parts:
    """The parts of a global tensor on this process's devices, which are waited for."""
    if type(array) is PartArrays:
        return array.parts
    blocks = {shard.device: shard.data for shard in array.addressable_shards}
    shape = part_shape(spec)
    return {
        coordinate: np.asarray(blocks[device]).reshape(shape)
        for coordinate, device in addressable_coordinates(spec.device)
    }


def results_on_parts(
    operation: Operation, function: NumpyFunction, operands: Sequence[Any]
) -> list[PartArrays]:
    """The results of an operation, each part by itself.

    Args:
        operation: an operation on a placement.
        function: its trace on parts, interpreted.
        operands: arrays, `PartArrays` and NumPy's scalars.
    """
    shapes = list(map(part_shape, operation.out_specs))
    parts: list[dict[Coordinate, Any]] = [{} for _ in shapes]
    for coordinate, inputs in _inputs_by_part(operation, operands):
        results = function(*inputs, *_offsets(operation, coordinate))
        for own, result, shape in zip(parts, results, shapes, strict=True):
            own[coordinate] = result if result.shape == shape else np.broadcast_to(result, shape)
    return list(map(PartArrays, operation.out_specs, parts))


def check_on_parts(
    operation: Operation, function: NumpyFunction, operands: Sequence[Any]
) -> tuple[int, int]:
    """The row of an operation's value check: of the first part that fails it, or of any."""
    rows = [function(*inputs) for _, inputs in _inputs_by_part(operation, operands)]
    bad, value = next((row for row in rows if row[0]), rows[0])
    return int(bad), int(value)


def _inputs_by_part(
    operation: Operation, operands: Sequence[Any]
) -> Iterator[tuple[Coordinate, list[Any]]]:
    """Yield the coordinates of this process's devices, with what they hold of the operands."""
    inputs = [
        operand if isinstance(operand, np.generic) else parts_of(operand, spec)
        for operand, spec in zip(operands, operation.in_specs, strict=True)
    ]
    for coordinate, _ in addressable_coordinates(operation.device):
        yield (
            coordinate,
            [part if isinstance(part, np.generic) else part[coordinate] for part in inputs],
        )


def _offsets(operation: Operation, coordinate: Coordinate) -> list[np.int32]:
    """The position of a part for a positional primitive, see `trace_on_parts`."""
    if operation.primitive.traits.positional is None:
        return []
    spec = operation.shard_index_spec
    slices = shard_slices(spec.shape, operation.device.hierarchy, spec.sbp or (), coordinate)
    return [np.int32(part.start) for part in slices]


def convert_parts(operation: Operation, operand: Any, exchange: Exchange) -> PartArrays:
    """The result of a conversion.

    Args:
        operation: `boxing`.
        operand: its array.
        exchange: how parts reach other devices.
    """
    (spec,), (target,) = operation.in_specs, operation.out_specs
    hierarchy = operation.device.hierarchy
    shards = {
        coordinate: part[tuple(map(slice, shard_sizes(spec, coordinate)))]
        for coordinate, part in parts_of(operand, spec).items()
    }
    sbp = operation.attributes["source"], operation.attributes["target"]
    converted = convert_shards(shards, spec.shape, hierarchy, sbp, exchange)
    shape = part_shape(target)
    return PartArrays(target, {c: resize(shard, shape) for c, shard in converted.items()})
