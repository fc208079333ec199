"""Global values from local ones and back, and from one placement to another."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oneflow.base import cluster, environment
from oneflow.base.device import CPU, Device, first_index
from oneflow.base.dtype import ALL_DTYPES, DType, from_numpy_dtype, int64
from oneflow.base.placement import Placement, Sharding
from oneflow.base.planning import is_planning
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Sbp, Split, nd_sbp_of, split
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.control_plane.flight_recorder import record_collective
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import Node
from oneflow.dispatch.global_call import converted
from oneflow.primitives.operators.transfer import transfer
from oneflow.primitives.shard_shapes import (
    offset_and_size,
    shard_slices,
    split_axes,
    split_counts,
)
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array, started_array
from oneflow.runtime.lazy_array import lazy_array_of
from oneflow.runtime.memory import put
from oneflow.runtime.meta_array import MetaArray
from oneflow.runtime.shards import (
    empty_shard,
    identity_like,
    local_shard,
    make_global_array,
    resize,
    shard_of,
)
from oneflow.runtime.transfer import transfer_array, transfer_sbp


class GlobalNode(Node):
    """Backward of a change between local and global, or of the placement."""

    __slots__ = ("_back", "_title")

    def __init__(self, source: Value, target: Value, title: str, back: Any) -> None:
        super().__init__(((source.node, source.output_index),), (target.spec,))
        self._back = back
        self._title = title

    def apply(self, grads: list[Any]) -> list[Any]:
        """Return the gradient on the source's device or placement."""
        return [self._back(grads[0])]

    def name(self) -> str:
        """Name of the node, after the function that made the value."""
        return f"{self._title}_backward"


def _linked(source: Value, target: Value, title: str, back: Any) -> Value:
    if source.node is not None and MODE.enabled:
        target.node = GlobalNode(source, target, title, back)
    return target


def default_gradient_sbp(sbp: NdSbp) -> NdSbp:
    """Return the SBP of a tensor's gradient: the tensor's own, but broadcast for partial sums."""
    return tuple([BROADCAST if component is PARTIAL_SUM else component for component in sbp])


def as_sharding(target: Placement | Sharding, ndim: int) -> Sharding:
    """Return a sharding of a tensor of `ndim` dimensions; a placement alone means broadcast."""
    if isinstance(target, Placement):
        return Sharding(target, target.broadcast)
    return Sharding(target.placement, nd_sbp_of(target.sbp, target.placement.ndim, ndim))


def fit_sharding(sharding: Sharding, ndim: int) -> Sharding:
    """The sharding for a tensor of `ndim` dimensions: broadcast instead of a split of others."""
    return Sharding(
        sharding.placement, tuple([_fit_sbp(component, ndim) for component in sharding.sbp])
    )


def _fit_sbp(sbp: Sbp, ndim: int) -> Sbp:
    if not isinstance(sbp, Split):
        return sbp
    return split(sbp.dim % ndim) if -ndim <= sbp.dim < ndim else BROADCAST


def global_from_numpy(array: np.ndarray, sharding: Sharding) -> Value:
    """Make a global value from an array that every rank has.

    Raises:
        RuntimeError: a rank of the placement does not exist or has no such device.
        ValueError: ranks have different data, if comparing it is enabled.
    """
    sharding.placement.require_devices()
    if environment.CHECK_GLOBAL_DATA.read() == "1" and cluster.is_multiprocess():
        _require_equal_data(array, sharding.placement)
    spec = spec_of(array.shape, from_numpy_dtype(array.dtype), sharding.placement, sharding.sbp)
    return Value(
        spec, make_global_array(spec, lambda coordinate: shard_of(array, spec, coordinate))
    )


def _require_equal_data(array: np.ndarray, placement: Placement) -> None:
    """Check that all ranks of a placement have the same data; a collective of these ranks."""
    if not placement.includes_this_process:
        return
    kind = zlib.crc32(f"{array.dtype}{array.shape}".encode())
    sums = [zlib.crc32(array.tobytes(), kind)]
    gathered = all_gather_ints(sums, Placement(placement.type, list(placement.flat)))[:, 0]
    mismatched = [
        rank for rank, data in zip(placement.flat, gathered, strict=True) if data != gathered[0]
    ]
    if mismatched:
        raise ValueError(
            f"ranks have different data for a global tensor on {placement}: the array of rank(s) "
            f"{mismatched} is not that of rank {placement.flat[0]}. Every rank must pass the same "
            "array; broadcast it from one rank with `oneflow.comm.broadcast`, or pass shards with "
            "`to_global` of local tensors"
        )


def local_to_global(value: Value, sharding: Sharding, check_meta: bool = True) -> Value:
    """Make a global value from the local shards of all ranks of the placement.

    Raises:
        RuntimeError: a rank of the placement does not exist or has no such device.
        ValueError: the ranks' shapes or dtypes are inconsistent.
    """
    placement, sbp = sharding.placement, sharding.sbp
    placement.require_devices()
    local = value.spec
    shape, dtype = _global_shape_and_dtype(local, sharding, check_meta)
    shard = started_array(value) if placement.includes_this_process else None
    if check_meta and cluster.is_multiprocess() and BROADCAST in sbp:
        result = _from_first(shard, shape, dtype, sharding)
    else:
        spec = spec_of(shape, dtype, placement, sbp)
        result = Value(spec, make_global_array(spec, lambda coordinate: shard))
    grad_sbp = default_gradient_sbp(sbp)

    def back(grad: Value) -> Value:
        return global_to_local(converted(grad, grad_sbp), local.device)

    return _linked(value, result, "to_global", back)


def _from_first(shard: Any, shape: tuple[int, ...], dtype: DType, sharding: Sharding) -> Value:
    """Make a global value whose broadcast shards are those of the first ranks."""
    sums = tuple(
        [PARTIAL_SUM if component is BROADCAST else component for component in sharding.sbp]
    )
    spec = spec_of(shape, dtype, sharding.placement, sums)

    def shard_at(coordinate: tuple[int, ...]) -> Any:
        later = any(
            p
            for p, component in zip(coordinate, sharding.sbp, strict=True)
            if component is BROADCAST
        )
        return identity_like(shard) if later else shard

    return converted(Value(spec, make_global_array(spec, shard_at)), sharding.sbp)


def global_to_local(value: Value, device: Device | None = None) -> Value:
    """Return this rank's shard of a global value; an empty one if it has none."""
    spec = value.spec
    placement: Any = spec.device
    result = _local_shard(value, device or local_device(placement))
    sharding = Sharding(placement, default_gradient_sbp(spec.sbp))

    def back(grad: Value) -> Value:
        return _from_shards(grad, spec, sharding)

    return _linked(value, result, "to_local", back)


def _local_shard(value: Value, device: Device) -> Value:
    """Return this rank's shard as a local value."""
    spec = value.spec
    placement: Any = spec.device
    if is_planning():
        coordinate = tuple(map(int, np.unravel_index(placement.local_index, placement.hierarchy)))
        slices = shard_slices(spec.shape, placement.hierarchy, spec.sbp or (), coordinate)
        shape = tuple(bounds.stop - bounds.start for bounds in slices)
        return Value(spec_of(shape, spec.dtype, device), MetaArray())
    array = started_array(value)
    shard = empty_shard(spec) if isinstance(array, MetaArray) else local_shard(array, spec)
    return Value(spec_of(tuple(shard.shape), spec.dtype, device), shard)


def _from_shards(value: Value, spec: Any, sharding: Sharding) -> Value:
    """Make a global value like `spec` from the shards of all ranks."""
    placement = sharding.placement
    target = spec_of(spec.shape, spec.dtype, placement, sharding.sbp)
    shard = started_array(value) if placement.includes_this_process else None

    def shard_at(coordinate: tuple[int, ...]) -> Any:
        # A process that drives all ranks has the same local tensor on each: cut if another rank's
        # shard is shorter, padded with zeros if it is longer.
        slices = shard_slices(spec.shape, placement.hierarchy, sharding.sbp, coordinate)
        return resize(shard, tuple(bounds.stop - bounds.start for bounds in slices))

    return Value(target, make_global_array(target, shard_at))


def local_device(placement: Placement) -> Device:
    """The device of this rank's shards on a placement, as a local tensor has it."""
    if cluster.is_multiprocess():
        return Device(placement.type, first_index(placement.type))
    return Device(placement.type, placement.flat[placement.local_index])


def _global_shape_and_dtype(
    local: Any, sharding: Sharding, check_meta: bool
) -> tuple[tuple[int, ...], DType]:
    """The shape and dtype of the global tensor whose shards are the ranks' local tensors."""
    placement, sbp = sharding.placement, sharding.sbp
    if not cluster.is_multiprocess():
        shapes = np.array([local.shape] * placement.size, np.int64).reshape(placement.size, -1)
        return _checked_global_shape(shapes, sharding), local.dtype
    if not check_meta and any(isinstance(component, Split) for component in sbp):
        shape = tuple(
            size * int(np.prod(split_counts(placement.hierarchy, sbp, dim)))
            for dim, size in enumerate(local.shape)
        )
        return shape, local.dtype
    shapes, dtype = _shapes_and_dtype_of_ranks(local, sharding)
    return _checked_global_shape(shapes, sharding), dtype


# Ranks exchange a hash of the sharding, the dtype, number of dimensions and sizes of a tensor.
_MAX_DIMENSIONS = 32
# Bytes of a sharding in messages.
_LONGEST_SHARDING = 400


def _shapes_and_dtype_of_ranks(local: Any, sharding: Sharding) -> tuple[np.ndarray, DType]:
    """The local shapes of all ranks of a placement, ``[ranks, ndim]``, and their dtype.

    A collective of all processes; those without a part learn what the others have.
    """
    placement = sharding.placement
    names = [dtype.name for dtype in ALL_DTYPES]
    description = np.zeros(3 + _MAX_DIMENSIONS, np.int64)
    kind = names.index(local.dtype.name)
    sharding_hash = zlib.crc32(repr(sharding).encode())
    description[: 3 + local.ndim] = (sharding_hash, kind, local.ndim, *local.shape)
    gathered = all_gather_ints(description, Placement.all(placement.type))
    if (gathered[:, 0] != gathered[0, 0]).any():
        _raise_different_shardings(sharding)
    gathered = gathered[list(placement.flat), 1:]
    if (gathered[:, :2] != gathered[0, :2]).any():
        rank_shapes = ", ".join(
            f"rank {rank}: {names[kind]}{sizes[:ndim]}"
            for rank, (kind, ndim, *sizes) in zip(placement.flat, gathered.tolist(), strict=True)
        )
        raise ValueError(
            f"the ranks' tensors differ in dtype or number of dimensions ({rank_shapes}); the "
            "shards of one global tensor must agree in both"
        )
    kind, ndim = gathered[0, :2]
    return gathered[:, 2 : 2 + ndim], ALL_DTYPES[kind]


def _raise_different_shardings(sharding: Sharding) -> None:
    """Raise the error of ranks that make different global tensors; a collective of them all."""
    text = repr(sharding).encode()[:_LONGEST_SHARDING].ljust(_LONGEST_SHARDING)
    world = Placement.all(sharding.placement.type)
    gathered = all_gather_ints(np.frombuffer(text, np.int64), world)
    lines = [
        f"\n  rank {rank}: {bytes(line).decode(errors='replace').rstrip()}"
        for rank, line in enumerate(gathered)
    ]
    raise ValueError(
        "the ranks make global tensors of different placements or SBP of their local ones; all "
        f"must pass the same to `to_global`:{''.join(lines)}"
    )


def all_gather_ints(numbers: ArrayLike, placement: Placement) -> np.ndarray:
    """Return the 64-bit integers of the processes of a placement, ``[processes, numbers]``.

    All of them must call this with equally many. A process on its own gets those it passes.

    Args:
        numbers: the numbers of this process.
        placement: the placement of one dimension, with one device of each process, whose order is
            the result's.
    """
    row = np.asarray(numbers, np.int64)[None]
    if not cluster.is_multiprocess():
        return row
    spec = spec_of((placement.size, row.size), int64, placement, (split(0),))
    shards = Value(spec, make_global_array(spec, lambda coordinate: row))
    return np.asarray(read_array(converted(shards, placement.broadcast)).addressable_data(0))


def _checked_global_shape(shapes: np.ndarray, sharding: Sharding) -> tuple[int, ...]:
    placement, sbp = sharding.placement, sharding.sbp
    global_shape = []
    grid = shapes.reshape(*placement.hierarchy, -1)
    for dim in range(shapes.shape[1]):
        axes = split_axes(sbp, dim)
        # Along the axes that split this dimension sizes add up; along the others they are equal.
        along = tuple(slice(None) if axis in axes else 0 for axis in range(placement.ndim))
        size = int(grid[(*along, dim)].sum())
        counts = split_counts(placement.hierarchy, sbp, dim)
        for coordinate in np.ndindex(*placement.hierarchy):
            expected = offset_and_size(size, counts, [coordinate[axis] for axis in axes])[1]
            if grid[(*coordinate, dim)] != expected:
                rank = placement.flat[int(np.ravel_multi_index(coordinate, placement.hierarchy))]
                raise ValueError(
                    f"rank {rank} has size {grid[(*coordinate, dim)]} in dimension {dim}, but of "
                    f"{size} elements on {placement} with {list(sbp)} its shard has {expected}; "
                    "make the shards even, and equal in dimensions that are not split"
                )
        global_shape.append(size)
    return tuple(global_shape)


def _read_from_files(
    value: Value, device: Device | Placement, sbp: NdSbp | None = None
) -> Value | None:
    """Read only what another device or placement needs of a value that is still in files."""
    stored = lazy_array_of(value)
    if stored is None or (value.node is not None and MODE.enabled):
        return None
    spec = spec_of(value.spec.shape, value.spec.dtype, device, sbp)
    if cluster.is_multiprocess():
        _record_reading(value.spec, spec)
    return Value(spec, stored.array_on(spec))


def _record_reading(source: TensorSpec, target: TensorSpec) -> None:
    """Record that this process reads from files what others may send.

    A process that has used a loaded tensor before takes part in an exchange, and would wait for one
    that reads. The coordinator sees from the records that they differ.
    """
    before: Any = source.device
    after = target.device if isinstance(target.device, Placement) else Placement.all(before.type)
    old, new = set(before.flat), set(after.flat)
    if before is after or (old == new and target.sbp is None):
        pairs = zip(source.sbp or (), target.sbp or before.broadcast, strict=True)
        is_exchange = any(old_sbp not in (BROADCAST, new_sbp) for old_sbp, new_sbp in pairs)
    else:
        is_exchange = not new <= old or source.sbp != before.broadcast
    if is_exchange and source.numel and before.exists and cluster.rank() in old | new:
        record_collective(
            tuple(sorted(old | new)),
            f"reading of the loaded {source!r} on {before} from its file for {after}: this rank "
            "has not used the tensor before",
        )


def full_on_device(value: Value, device: Device) -> Value:
    """Return a local value with all elements of a global one; a collective as `full_array` is."""
    stored = _read_from_files(value, device)
    if stored is not None:
        return stored
    spec = spec_of(value.spec.shape, value.spec.dtype, device)
    return Value(spec, put(full_array(value), device))


def full_array(value: Value) -> Any:
    """Return the array with all elements of a global value, on every rank, with or without a shard.

    If all ranks of the job have the whole, nothing is communicated. Otherwise this is a collective
    of all processes of the job: which ranks must call it does not depend on the placement.
    `MetaArray` if the value was made while planning. Files give the whole also where the devices
    on which it was saved do not exist.
    """
    placement: Any = value.spec.device
    stored = lazy_array_of(value)
    if stored is not None and not placement.exists:
        return stored.array_on(spec_of(value.spec.shape, value.spec.dtype, CPU))
    if is_planning() or (isinstance(value.array, MetaArray) and placement.includes_this_process):
        return MetaArray()
    value = value.alias()
    world = Placement.all(placement.type)
    if cluster.is_multiprocess() and set(placement.flat) != set(world.flat):
        value = move_global(value, Sharding(world, world.broadcast))
    else:
        value = converted(value, placement.broadcast)
    return read_array(value).addressable_data(0)


def convert_sbp(value: Value, sbp: NdSbp, grad_sbp: NdSbp | None = None) -> Value:
    """Convert a global value to another SBP; its gradient is converted to `grad_sbp`."""
    stored = _read_from_files(value, value.spec.device, sbp)
    if stored is not None:
        return stored
    result = converted(value, sbp)
    if grad_sbp is None or value.node is None or not MODE.enabled:
        return result
    result = converted(value.alias(), sbp).alias()
    return _linked(value, result, "to_global", lambda grad: converted(grad, grad_sbp))


def move_global(value: Value, sharding: Sharding, grad_sbp: NdSbp | None = None) -> Value:
    """Move a global value to another placement, with another SBP.

    Raises:
        RuntimeError: a rank of the placement does not exist or has no such device.
    """
    sharding.placement.require_devices()
    stored = _read_from_files(value, sharding.placement, sharding.sbp)
    if stored is not None:
        return stored
    spec = value.spec
    source: Any = spec.device
    before, after = transfer_sbp(spec, sharding)
    operand = converted(value.alias(), before)
    target = spec_of(spec.shape, spec.dtype, sharding.placement, after)
    if operand.is_symbolic:
        moved = transfer(operand, target=target)
    else:
        read = read_array if cluster.is_multiprocess() else started_array
        moved = Value(target, transfer_array(read(operand), operand.spec, target))
    result = converted(moved, sharding.sbp)
    back_sharding = Sharding(source, grad_sbp or default_gradient_sbp(spec.sbp))

    def back(grad: Value) -> Value:
        return move_global(grad, back_sharding)

    return _linked(value, result, "to_global", back)


def on_placement(value: Value, device: Any) -> Value:
    """Return a global value on another placement, broadcast; itself if `device` is no other one."""
    if value.spec.device is device or not isinstance(device, Placement):
        return value
    return move_global(value, Sharding(device, device.broadcast))
