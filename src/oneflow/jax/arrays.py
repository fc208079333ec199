"""Tensors as JAX arrays and back, without a copy, sharded ones too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set, ValuesView
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from oneflow.base import cluster
from oneflow.base.device import DEVICE_TYPES, PREPARE_PROCESS, device_from_xla, platform_devices
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST, NdSbp, split
from oneflow.base.spec import spec_of
from oneflow.compiler.sharding import array_shape, named_sharding, partial_axes
from oneflow.module.module import Module
from oneflow.module.state import StateDict
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def _dict_of(names: tuple[str, ...], leaves: Iterable[Any]) -> Any:
    return dict(zip(names, leaves, strict=True))


# JAX knows dicts by their very class; libraries on JAX take plain ones.
jax.tree_util.register_pytree_with_keys(
    StateDict,
    lambda state: ([(jax.tree_util.DictKey(k), v) for k, v in state.items()], tuple(state)),
    _dict_of,
)


def to_jax(tree: Any) -> Any:
    """Return the JAX arrays of tensors, without a copy.

    Arrays never change: a tensor that is written to afterwards has another one.

    Args:
        tree: a tensor, or a tree of JAX with tensors as leaves, such as
            ``dict(model.named_parameters())`` or ``model.state_dict()``; other leaves stay as they
            are.

    Returns:
        The array of a tensor; that of a global tensor is sharded over the mesh of its placement,
        whose dimensions are called ``"m0"``, ``"m1"`` and so on.

    Raises:
        TypeError: a module, an iterator or another object has tensors, but is no tree of JAX.
        ValueError: a global tensor is a partial sum, or split into parts of different sizes, which
            JAX has no arrays for.

    Example:
        >>> import oneflow as flow
        >>> flow.jax.to_jax({"weight": flow.ones(2)})
        {'weight': Array([1., 1.], dtype=float32)}
    """
    return jax.tree.map(_array_or_other, tree)


def _array_or_other(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return _array_of(leaf)
    if isinstance(leaf, Iterator | Module):
        raise TypeError(
            f"`to_jax` takes tensors and trees of them, got {type(leaf).__name__}; give, for "
            "example, `dict(model.named_parameters())`"
        )
    check_no_tensors_within(leaf, "`to_jax` got")
    return leaf


def check_no_tensors_within(leaf: Any, text: str) -> None:
    """Check that a leaf in JAX's eyes holds no tensors, which would not be converted.

    Raises:
        TypeError: it is a dict, set, view of a dict or queue that JAX does not know, or an object,
            and some are in it.
    """
    if isinstance(leaf, Tensor):
        return
    parts: Iterable[Any]
    if isinstance(leaf, Set | ValuesView | deque):
        parts = jax.tree.leaves([*leaf])
    else:
        parts = (leaf if isinstance(leaf, Mapping) else getattr(leaf, "__dict__", {})).values()
    if any(isinstance(part, Tensor) for part in parts):
        raise TypeError(
            f"{text} tensors within {type(leaf).__name__}, which is no tree of JAX: use a dict, "
            "list or tuple, or register it by `jax.tree_util.register_dataclass` or "
            "`jax.tree_util.register_pytree_node`"
        )


def _array_of(tensor: Tensor) -> Any:
    value = unwrap(tensor)
    spec = value.spec
    if tensor.is_meta:
        return jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy)
    if spec.sbp is not None and (partial_axes(spec) or array_shape(spec) != spec.shape):
        raise ValueError(
            f"a tensor {tuple(spec.shape)} with sbp {spec.sbp} on {spec.device} has no array in "
            "JAX, whose shards are equal parts of the whole; convert it by `to_global` first, for "
            "example to `oneflow.sbp.broadcast`"
        )
    return value.read()


def from_jax(tree: Any) -> Any:
    """Return tensors of JAX arrays, without a copy.

    Do not donate the arrays to a function of JAX afterwards: the tensors would lose their values.

    Args:
        tree: an array, or a tree of JAX with arrays as leaves; other leaves stay as they are, keys
            of `jax.random` among them.

    Returns:
        A tensor on the device of an array. One of an array with a `NamedSharding` over several
        devices is global, on the placement of these devices, in the form of their mesh.

    Raises:
        TypeError: an array is traced: its values are not known; see `oneflow.jax.function`.
        ValueError: an array is sharded in another way than tensors are.

    Example:
        >>> import jax.numpy as jnp
        >>> import oneflow as flow
        >>> flow.jax.from_jax([jnp.arange(2.0), "text"])
        [tensor([0., 1.], dtype=oneflow.float32), 'text']
    """
    return jax.tree.map(
        lambda leaf: _tensor_of(leaf) if isinstance(leaf, jax.Array) and not is_key(leaf) else leaf,
        tree,
    )


def wide_integer_error(value: object) -> OverflowError:
    """An error about an integer beyond 32 bits in a function that sees no wider types."""
    return OverflowError(
        f"a function of JAX gets the integer {value}, while JAX has types of 32 bits only; "
        'enable those of 64 by `jax.config.update("jax_enable_x64", True)`'
    )


def is_key(leaf: Any) -> bool:
    """Return whether it is an array of keys of `jax.random`, whose words JAX hides."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _tensor_of(array: jax.Array) -> Tensor:
    if isinstance(array, Tracer):
        raise TypeError(
            "an array that JAX traces has no values, which tensors have; make the function of "
            "tensors one of arrays by `oneflow.jax.function`, and trace that"
        )
    PREPARE_PROCESS.value()
    dtype, sharding = from_numpy_dtype(np.dtype(array.dtype)), array.sharding
    if len(sharding.device_set) == 1:
        (device,) = sharding.device_set
        spec = spec_of(array.shape, dtype, device_from_xla(device))
        # Results of programs are committed to their device.
        return wrap(Value(spec, jax.device_put(array, SingleDeviceSharding(device))))
    if not isinstance(sharding, NamedSharding):
        raise ValueError(
            f"an array over several devices needs a `NamedSharding` to be a tensor, got {sharding}"
        )
    placement = _placement_of(sharding.mesh)
    spec = spec_of(array.shape, dtype, placement, _sbp_of(sharding, array.ndim))
    if array_shape(spec) != array.shape:
        raise ValueError(f"an array {array.shape} is not split into equal parts by {sharding.spec}")
    shards = [shard.data for shard in array.addressable_shards]
    return wrap(
        Value(
            spec,
            jax.make_array_from_single_device_arrays(array.shape, named_sharding(spec), shards),
        )
    )


def _placement_of(mesh: Any) -> Placement:
    """The placement of a mesh: ranks in place of devices."""
    devices = mesh.devices
    first = devices.flat[0]
    type = next(name for name in DEVICE_TYPES if first in platform_devices(name))
    ranks = range(cluster.rank_count(type))
    rank_of_device = {cluster.device_of_rank(type, rank): rank for rank in ranks}
    return Placement(type, np.vectorize(rank_of_device.__getitem__)(devices).tolist())


def _sbp_of(sharding: NamedSharding, ndim: int) -> NdSbp:
    """For each dimension of the mesh the dimension of the array that is split along it."""
    names = sharding.mesh.axis_names
    sbp: list[Any] = [BROADCAST] * len(names)
    entries = tuple(sharding.spec)
    for dim, entry in zip(range(ndim), entries, strict=False):
        axes = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
        positions = [names.index(axis) for axis in axes]
        if positions != sorted(positions):
            raise ValueError(
                f"{PartitionSpec(*entries)} splits dimension {dim} along {axes}; a tensor is split "
                f"along the dimensions of its mesh in their order, {names}"
            )
        for position in positions:
            sbp[position] = split(dim)
    return tuple(sbp)
