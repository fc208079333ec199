"""Global tensors as sharded arrays: a program on a device sees its shards.

A global tensor is one `jax.Array`. Dimensions that are split are sharded, with every part padded to
the same size; where it is a partial sum it has one more dimension in front per such dimension of
the mesh, which holds what is to be added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from oneflow.base.device import Device, xla_device
from oneflow.base.placement import Placement, mesh_axis
from oneflow.base.sbp import PARTIAL_SUM
from oneflow.base.spec import TensorSpec
from oneflow.primitives.shard_shapes import shard_shape, split_axes


def partial_axes(spec: TensorSpec) -> list[int]:
    """The dimensions of the mesh along which a tensor is a partial sum."""
    return [axis for axis, component in enumerate(spec.sbp or ()) if component is PARTIAL_SUM]


def partition_of(spec: TensorSpec) -> PartitionSpec:
    """The `PartitionSpec` of the array of a global tensor.

    It ends with the last dimension that is split, as those of JAX's results do: a program that got
    an array with the same parts and another `PartitionSpec` would be prepared again, in Python.
    """
    assert spec.sbp is not None
    split = [tuple(map(mesh_axis, split_axes(spec.sbp, dim))) for dim in range(spec.ndim)]
    while split and not split[-1]:
        split.pop()
    return PartitionSpec(*map(mesh_axis, partial_axes(spec)), *[axes or None for axes in split])


def named_sharding(spec: TensorSpec) -> NamedSharding:
    """The JAX sharding of the array of a global tensor."""
    placement: Any = spec.device
    return NamedSharding(placement.mesh, partition_of(spec))


def array_shape(spec: TensorSpec) -> tuple[int, ...]:
    """The shape of the array of a global tensor, with padding."""
    placement: Any = spec.device
    assert spec.sbp is not None
    sums = [placement.hierarchy[axis] for axis in partial_axes(spec)]
    parts = shard_shape(spec.shape, placement.hierarchy, spec.sbp)
    sizes = []
    for dim, size in enumerate(parts):
        for axis in split_axes(spec.sbp, dim):
            size *= placement.hierarchy[axis]
        sizes.append(size)
    return (*sums, *sizes)


def abstract_array(spec: TensorSpec) -> jax.ShapeDtypeStruct:
    """Shape, dtype and, for a global tensor, sharding of its array."""
    if spec.sbp is None:
        return jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy)
    return jax.ShapeDtypeStruct(array_shape(spec), spec.dtype.numpy, sharding=named_sharding(spec))


def shard_mapped(
    function: Callable,
    inputs: Sequence[TensorSpec | PartitionSpec | None],
    outputs: Sequence[TensorSpec | None],
    placement: Placement,
) -> Callable:
    """`function` of parts, which returns a list of them, as a function of the arrays.

    Args:
        function: takes and returns what one device holds.
        inputs: what the arrays are; None for one that all devices get whole, a `PartitionSpec` for
            one that is no tensor.
        outputs: likewise; None for one whose shards are concatenated.
        placement: where it runs.
    """
    # XLA fails where all that a device is given has no elements; it can make that itself.
    empty = {
        index: spec
        for index, spec in enumerate(inputs)
        if isinstance(spec, TensorSpec) and not spec.numel
    }
    nonempty = [index for index in range(len(inputs)) if index not in empty]
    specs = [inputs[index] for index in nonempty]

    def run(*arrays: Any) -> list:
        local_arrays: list[Any] = [
            _empty_shard(empty[index]) if index in empty else None for index in range(len(inputs))
        ]
        for index, spec, array in zip(nonempty, specs, arrays, strict=True):
            local_arrays[index] = (
                array.reshape(array.shape[len(partial_axes(spec)) :])
                if isinstance(spec, TensorSpec)
                else array
            )
        return [
            result
            if spec is None
            else of_dtype(result, spec).reshape((1,) * len(partial_axes(spec)) + result.shape)
            for result, spec in zip(function(*local_arrays), outputs, strict=True)
        ]

    mapped = jax.shard_map(
        run,
        mesh=placement.mesh,
        in_specs=tuple(_partitions(specs, PartitionSpec())),
        out_specs=_partitions(outputs, one_after_the_other(placement)),
        check_vma=False,
    )
    return lambda *arrays: mapped(*[arrays[index] for index in nonempty])


def of_dtype(part: Any, spec: TensorSpec) -> Any:
    """The part, if it has its tensor's dtype.

    Raises:
        TypeError: it has another.
    """
    if part.dtype != spec.dtype.numpy:
        raise TypeError(f"a part of {spec!r} is {part.dtype}; parts must have the tensor's dtype")
    return part


def _empty_shard(spec: TensorSpec) -> jax.Array:
    """The shard of a tensor without elements."""
    placement: Any = spec.device
    return jnp.zeros(shard_shape(spec.shape, placement.hierarchy, spec.sbp or ()), spec.dtype.numpy)


def _partitions(
    specs: Sequence[TensorSpec | PartitionSpec | None], others: PartitionSpec
) -> list[PartitionSpec]:
    return [
        partition_of(spec) if isinstance(spec, TensorSpec) else spec or others for spec in specs
    ]


def one_after_the_other(placement: Placement) -> PartitionSpec:
    """The `PartitionSpec` of a vector whose parts lie on the devices in their order."""
    return PartitionSpec(tuple(map(mesh_axis, range(placement.ndim))))


def on_local_devices(
    part: Any, placement: Placement, shape: tuple[int, ...], partition: PartitionSpec
) -> jax.Array:
    """Return an array that consists of the same part on each device of this process.

    Args:
        part: what each device gets.
        placement: the devices.
        shape: the shape of the whole.
        partition: how it lies on the devices.
    """
    mesh = placement.mesh
    parts = [jax.device_put(part, device) for device in mesh.local_devices]
    return jax.make_array_from_single_device_arrays(shape, NamedSharding(mesh, partition), parts)


def shardings(
    inputs: Sequence[TensorSpec | None],
    outputs: Sequence[TensorSpec | None],
    placement: Placement,
) -> tuple[list[NamedSharding], list[NamedSharding]]:
    """The shardings of the arguments and results of a function made by `shard_mapped`."""
    input_partitions = _partitions(inputs, PartitionSpec())
    output_partitions = _partitions(outputs, one_after_the_other(placement))
    mesh = placement.mesh
    return [NamedSharding(mesh, partition) for partition in input_partitions], [
        NamedSharding(mesh, partition) for partition in output_partitions
    ]


def xla_devices(device: Device | Placement) -> tuple[Any, ...]:
    """XLA's devices on which a program for a device or a placement runs."""
    if isinstance(device, Placement):
        return tuple(device.mesh.devices.flat)
    return (xla_device(device),)


def committed_to(device: Device | Placement) -> dict[str, Any]:
    """Options of `jax.jit` for a program on a device, whose results are then committed to it.

    JAX tells committed arrays from others: a program that got one kind would be prepared again,
    in Python, when it gets the other. On a placement `shard_mapped` says where results are.
    """
    if isinstance(device, Placement):
        return {}
    return {"out_shardings": SingleDeviceSharding(xla_device(device))}
