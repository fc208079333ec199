"""Global values from local ones and back, and from one placement to another."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from oneflow.base import cluster, environment
from oneflow.base.device import Device, first_index
from oneflow.base.dtype import ALL_DTYPES, DType, from_numpy_dtype, int64
from oneflow.base.placement import Placement, Sharding
from oneflow.base.planning import is_planning
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Split, nd_sbp_of, split
from oneflow.base.spec import spec_of
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
from oneflow.runtime.carrying import carry, sbp_between
from oneflow.runtime.eager import Absent, read_array
from oneflow.runtime.lazy_array import lazy_array_of
from oneflow.runtime.memory import put
from oneflow.runtime.shards import (
    assemble,
    empty_shard,
    local_shard,
    neutral_like,
    resized,
    shard_of,
)


class GlobalNode(Node):
    """Backward of a change between local and global, or of the placement."""

    __slots__ = ("_back", "_title")

    def __init__(self, source: Value, target: Value, title: str, back: Any) -> None:
        super().__init__(((source.node, source.output_index),), (target.spec,))
        self._back = back
        self._title = title

    def apply(self, grads: list) -> list:
        """The gradient where the value came from."""
        return [self._back(grads[0])]

    def name(self) -> str:
        """The function that made the value."""
        return f"{self._title}_backward"


def _linked(source: Value, target: Value, title: str, back: Any) -> Value:
    if source.node is not None and MODE.enabled:
        target.node = GlobalNode(source, target, title, back)
    return target


def whole_grad_sbp(sbp: NdSbp) -> NdSbp:
    """How the gradient of a tensor lies: as the tensor, but broadcast where that is a sum."""
    return tuple([BROADCAST if each is PARTIAL_SUM else each for each in sbp])


def as_sharding(target: Placement | Sharding, ndim: int) -> Sharding:
    """A sharding for a tensor of `ndim` dimensions; on a placement alone it is broadcast."""
    if isinstance(target, Placement):
        return Sharding(target, target.broadcast)
    return Sharding(target.placement, nd_sbp_of(target.sbp, target.placement.ndim, ndim))


def global_from_numpy(array: np.ndarray, sharding: Sharding) -> Value:
    """A global value from the whole, which every rank has.

    Raises:
        ValueError: ranks have different data, if they are told to compare it.
    """
    if environment.CHECK_GLOBAL_DATA.read() == "1" and cluster.is_multiprocess():
        _compare_data(array, sharding.placement)
    spec = spec_of(array.shape, from_numpy_dtype(array.dtype), sharding.placement, sharding.sbp)
    return Value(spec, assemble(spec, lambda coordinate: shard_of(array, spec, coordinate)))


def _compare_data(array: np.ndarray, placement: Placement) -> None:
    """Make sure that all ranks of a placement have the same data; these take part."""
    if not placement.includes_this_process:
        return
    kind = zlib.crc32(f"{array.dtype}{array.shape}".encode())
    sums = np.array([zlib.crc32(array.tobytes(), kind)], np.int64)
    told = all_gather_ints_on(sums, Placement(placement.type, list(placement.flat)))[:, 0]
    differing = [rank for rank, each in zip(placement.flat, told, strict=True) if each != told[0]]
    if differing:
        raise ValueError(
            f"a global tensor on {placement} is made of data that differs: rank {placement.flat[0]}"
            f" has another array than rank(s) {differing}. Every rank must give the same whole; "
            "make it on one rank and send it with `oneflow.comm.broadcast`, or give parts with "
            "`to_global` of local tensors"
        )


def local_to_global(value: Value, sharding: Sharding, check_meta: bool = True) -> Value:
    """A global value of which every rank of the placement gives its part.

    Raises:
        ValueError: the ranks' shapes or dtypes do not fit together.
    """
    placement, sbp = sharding.placement, sharding.sbp
    local = value.spec
    shape = _whole_shape(local, sharding, check_meta)
    part = read_array(value) if placement.includes_this_process else None
    if check_meta and cluster.is_multiprocess() and BROADCAST in sbp:
        result = _from_first(part, shape, local.dtype, sharding)
    else:
        spec = spec_of(shape, local.dtype, placement, sbp)
        result = Value(spec, assemble(spec, lambda coordinate: part))
    grad_sbp = whole_grad_sbp(sbp)

    def back(grad: Value) -> Value:
        return global_to_local(converted(grad, grad_sbp), local.device)

    return _linked(value, result, "to_global", back)


def _from_first(part: Any, shape: tuple[int, ...], dtype: DType, sharding: Sharding) -> Value:
    """A global value whose broadcast parts are those of the first ranks: the others add nothing."""
    sums = tuple([PARTIAL_SUM if each is BROADCAST else each for each in sharding.sbp])
    spec = spec_of(shape, dtype, sharding.placement, sums)

    def shard_at(coordinate: tuple[int, ...]) -> Any:
        later = any(
            p for p, each in zip(coordinate, sharding.sbp, strict=True) if each is BROADCAST
        )
        return neutral_like(part) if later else part

    return converted(Value(spec, assemble(spec, shard_at)), sharding.sbp)


def global_to_local(value: Value, device: Device | None = None) -> Value:
    """This rank's part of a global value; an empty one where it has none."""
    spec = value.spec
    placement: Any = spec.device
    result = _own_part(value, device or own_device(placement))
    sharding = Sharding(placement, whole_grad_sbp(spec.sbp))

    def back(grad: Value) -> Value:
        return _from_parts(grad, spec, sharding)

    return _linked(value, result, "to_local", back)


def _own_part(value: Value, device: Device) -> Value:
    """This rank's part as a local value."""
    spec = value.spec
    placement: Any = spec.device
    if is_planning():
        coordinate = tuple(map(int, np.unravel_index(placement.own_index, placement.hierarchy)))
        slices = shard_slices(spec.shape, placement.hierarchy, spec.sbp or (), coordinate)
        shape = tuple(each.stop - each.start for each in slices)
        return Value(spec_of(shape, spec.dtype, device), Absent())
    array = read_array(value)
    part = empty_shard(spec) if isinstance(array, Absent) else local_shard(array, spec)
    return Value(spec_of(tuple(part.shape), spec.dtype, device), part)


def _from_parts(value: Value, spec: Any, sharding: Sharding) -> Value:
    """A global value like `spec` from every rank's part."""
    placement = sharding.placement
    target = spec_of(spec.shape, spec.dtype, placement, sharding.sbp)
    part = read_array(value) if placement.includes_this_process else None

    def shard_at(coordinate: tuple[int, ...]) -> Any:
        # A process on its own runs all ranks, with the same local tensors on each: cut where
        # another rank's shard is shorter, with zeros where it is longer.
        slices = shard_slices(spec.shape, placement.hierarchy, sharding.sbp, coordinate)
        return resized(part, tuple(each.stop - each.start for each in slices))

    return Value(target, assemble(target, shard_at))


def own_device(placement: Placement) -> Device:
    """The device, as a local tensor has it, of this rank's parts on a placement."""
    if cluster.is_multiprocess():
        return Device(placement.type, first_index(placement.type))
    return Device(placement.type, placement.flat[placement.own_index])


def _whole_shape(local: Any, sharding: Sharding, check_meta: bool) -> tuple[int, ...]:
    """The shape of the whole whose parts the ranks' local tensors are."""
    placement, sbp = sharding.placement, sharding.sbp
    splits = any(isinstance(each, Split) for each in sbp)
    if not cluster.is_multiprocess():
        shapes = np.array([local.shape] * placement.size, np.int64).reshape(placement.size, -1)
    elif not check_meta or not placement.includes_this_process:
        if splits and not check_meta:
            return tuple(
                size * int(np.prod(split_counts(placement.hierarchy, sbp, dim)))
                for dim, size in enumerate(local.shape)
            )
        shapes = _shapes_of_ranks(local, placement)
    else:
        shapes = _shapes_of_ranks(local, placement)
    return _fitted(shapes, local, sharding)


# What ranks tell each other of a tensor: dtype, number of dimensions, sizes.
_MAX_DIMENSIONS = 32


def _shapes_of_ranks(local: Any, placement: Placement) -> np.ndarray:
    """The local shapes of all ranks, ``[ranks, ndim]``; every process takes part."""
    names = [each.name for each in ALL_DTYPES]
    told = np.zeros(2 + _MAX_DIMENSIONS, np.int64)
    told[: 2 + local.ndim] = (names.index(local.dtype.name), local.ndim, *local.shape)
    mine = all_gather_ints(told, placement.type)[list(placement.flat)]
    if (mine[:, :2] != mine[0, :2]).any():
        described = ", ".join(
            f"rank {rank}: {names[kind]}{sizes[:ndim]}"
            for rank, (kind, ndim, *sizes) in zip(placement.flat, mine.tolist(), strict=True)
        )
        raise ValueError(
            f"the ranks' tensors differ in dtype or number of dimensions ({described}); parts of "
            "one global tensor must have the same"
        )
    return mine[:, 2 : 2 + mine[0, 1]]


def all_gather_ints(numbers: np.ndarray, type: str) -> np.ndarray:
    """Return the 64-bit integers of all processes, ``[processes, numbers]``.

    All processes must call this with equally many. A process on its own gets those it passes.
    """
    if not cluster.is_multiprocess():
        return numbers[None]
    return all_gather_ints_on(numbers, Placement.all(type))


def all_gather_ints_on(numbers: np.ndarray, placement: Placement) -> np.ndarray:
    """Return the 64-bit integers of all ranks of a one-dimensional placement, in its order."""
    spec = spec_of((placement.size, len(numbers)), int64, placement, (split(0),))
    parts = Value(spec, assemble(spec, lambda coordinate: numbers[None]))
    return np.asarray(read_array(converted(parts, placement.broadcast)).addressable_data(0))


def _fitted(shapes: np.ndarray, local: Any, sharding: Sharding) -> tuple[int, ...]:
    placement, sbp = sharding.placement, sharding.sbp
    whole = []
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
                    f"{size} elements on {placement} with {list(sbp)} its part has {expected}; "
                    "make the parts even, or the same where they are not split"
                )
        whole.append(size)
    return tuple(whole)


def _read_from_files(
    value: Value, device: Device | Placement, sbp: NdSbp | None = None
) -> Value | None:
    """Read only what another device or placement needs of a value that is still in files."""
    unread = lazy_array_of(value)
    if unread is None or (value.node is not None and MODE.enabled):
        return None
    spec = spec_of(value.spec.shape, value.spec.dtype, device, sbp)
    return Value(spec, unread.array_on(spec))


def whole_on_device(value: Value, device: Device) -> Value:
    """A local value with all of a global one; processes take part as in `whole_array`."""
    unread = _read_from_files(value, device)
    if unread is not None:
        return unread
    spec = spec_of(value.spec.shape, value.spec.dtype, device)
    return Value(spec, put(whole_array(value), device))


def whole_array(value: Value) -> Any:
    """The array with all of a global value, on every rank, whether it has a part or not.

    Where all ranks have the whole, nobody communicates. Otherwise all processes of the job take
    part: what a rank has to do must not depend on where it is. `Absent` if the value was made while
    planning.
    """
    placement: Any = value.spec.device
    if is_planning() or (isinstance(value.array, Absent) and placement.includes_this_process):
        return Absent()
    value = value.alias()
    everyone = Placement.all(placement.type)
    if cluster.is_multiprocess() and set(placement.flat) != set(everyone.flat):
        value = move_global(value, Sharding(everyone, everyone.broadcast))
    else:
        value = converted(value, placement.broadcast)
    return read_array(value).addressable_data(0)


def relaid(value: Value, sbp: NdSbp, grad_sbp: NdSbp | None = None) -> Value:
    """A global value with another SBP, whose gradient is brought to `grad_sbp`."""
    unread = _read_from_files(value, value.spec.device, sbp)
    if unread is not None:
        return unread
    result = converted(value, sbp)
    if grad_sbp is None or value.node is None or not MODE.enabled:
        return result
    result = converted(value.alias(), sbp).alias()
    return _linked(value, result, "to_global", lambda grad: converted(grad, grad_sbp))


def move_global(value: Value, sharding: Sharding, grad_sbp: NdSbp | None = None) -> Value:
    """A global value on another placement, and with another SBP."""
    unread = _read_from_files(value, sharding.placement, sharding.sbp)
    if unread is not None:
        return unread
    spec = value.spec
    source: Any = spec.device
    before, after = sbp_between(spec, sharding)
    given = converted(value.alias(), before)
    target = spec_of(spec.shape, spec.dtype, sharding.placement, after)
    if given.is_symbolic:
        moved = transfer(given, target=target)
    else:
        moved = Value(target, carry(read_array(given), given.spec, target))
    result = converted(moved, sharding.sbp)
    back_sharding = Sharding(source, grad_sbp or whole_grad_sbp(spec.sbp))

    def back(grad: Value) -> Value:
        return move_global(grad, back_sharding)

    return _linked(value, result, "to_global", back)


def value_on(value: Value, device: Any) -> Value:
    """Return a global value on another placement, broadcast; itself if `device` is no other one."""
    if value.spec.device is device or not isinstance(device, Placement):
        return value
    return move_global(value, Sharding(device, device.broadcast))
