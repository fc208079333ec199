"""Order and counting: sorting, the largest, searching in sorted numbers, membership, histograms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import loops, sort_cpu
from oneflow.primitives.operators.indexing import out_of_range
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.operators.scatter import scatter
from oneflow.primitives.operators.shape import zeros_of
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex, global_index
from oneflow.primitives.sharding.axes import Axes, free_dims, leading_axes
from oneflow.primitives.traits import Positional


def _sort(x, *, dim: int, descending: bool):
    """Sorted values and their positions; equal ones keep their order, NaN counts as largest."""
    positions = lax.broadcasted_iota(index_dtype(x.shape[dim]), x.shape, dim)
    if descending:
        # Reversed before and after, so that equal elements keep their order.
        x, positions = lax.rev(x, (dim,)), lax.rev(positions, (dim,))
    values, order = lax.sort((x, positions), dimension=dim, is_stable=True, num_keys=1)
    if descending:
        values, order = lax.rev(values, (dim,)), lax.rev(order, (dim,))
    return values, order.astype(jnp.int64)


def _topk(x, *, k: int, dim: int):
    values, positions = lax.top_k(jnp.moveaxis(x, dim, -1), k)
    return jnp.moveaxis(values, -1, dim), jnp.moveaxis(positions, -1, dim).astype(jnp.int64)


def _put_back(g, out, x_spec, dim):
    """The gradient of picking elements along `dim`: back to where each came from."""
    return scatter(zeros_of(x_spec), g[0], out[1], dim=dim)


sort = primitive("sort", _sort, axes=free_dims("dim"))


@sort.lowering("cpu")
def _sort_cpu(x, *, dim: int, descending: bool):
    if jnp.iscomplexobj(x) or not x.ndim:
        return _sort(x, dim=dim, descending=descending)
    order = sort_cpu.argsort(x, dim, descending)
    return jnp.take_along_axis(x, order, axis=dim, mode="promise_in_bounds"), order


topk = primitive("topk", _topk, axes=free_dims("dim"))
sort.gradient(x=_put_back, writable="out")
topk.gradient(x=_put_back, writable="out")


def _searchsorted(sequence, values, *, right: bool, dtype: DType):
    """The index at which each of `values` is inserted into the last dimension of `sequence`."""
    side = "right" if right else "left"

    def search(row, values):
        return loops.searchsorted(row, values, side=side)

    if sequence.ndim == 1:
        return search(sequence, values).astype(dtype.numpy)
    for _ in range(sequence.ndim - 1):
        search = jax.vmap(search)
    return search(sequence, values).astype(dtype.numpy)


def _searchsorted_axes(operation: Operation) -> Axes:
    """Each value is searched for on its own; rows of sequences go with rows of values."""
    sequence, values = operation.in_specs
    names = tuple(f"d{dim}" for dim in range(values.ndim))
    rows = (*names[:-1], None) if sequence.ndim > 1 else (None,)
    return Axes((rows, names), (names,))


searchsorted = primitive(
    "searchsorted", _searchsorted, axes=_searchsorted_axes, differentiable=False, real_only=True
)
isin = primitive(
    "isin",
    lambda elements, test_elements: jnp.isin(elements, test_elements),
    axes=leading_axes(0),
    differentiable=False,
)


def _histogram(x, low, high, *, bins: int):
    """Counts of the elements in equal intervals from `low` to `high`, the last one closed."""
    flat = x.reshape(-1)
    bucket = jnp.floor(quotient((flat - low) * bins, high - low)).astype(index_dtype(bins))
    bucket = jnp.where(flat == high, bins - 1, bucket)
    inside = (flat >= low) & (flat <= high)
    return jnp.zeros(bins, x.dtype).at[jnp.where(inside, bucket, bins)].add(1, mode="drop")


def _histogram_axes(operation: Operation) -> Axes:
    """Counts of parts are partial sums."""
    x, *limits = operation.in_specs
    names = tuple(f"d{dim}" for dim in range(x.ndim))
    return Axes((names, *((None,) * spec.ndim for spec in limits)), ((None,),))


histogram = primitive("histogram", _histogram, axes=_histogram_axes, differentiable=False)


def _one_hot(index, *, classes: int, shard: ShardIndex | None = None):
    class_index = global_index(index.ndim, (*index.shape, classes), shard, index.dtype)
    return (index[..., None] == class_index).astype(jnp.int64)


def _one_hot_axes(operation: Operation) -> Axes:
    names = tuple(f"d{dim}" for dim in range(operation.in_specs[0].ndim))
    return Axes((names,), ((*names, "classes"),), {"classes": "classes"})


one_hot = primitive(
    "one_hot", _one_hot, axes=_one_hot_axes, positional=Positional(), differentiable=False
)
one_hot.checked(
    lambda index, *, classes: out_of_range(index, 0, classes),
    lambda value, attributes, in_specs: RuntimeError(
        f"Class values must be smaller than num_classes: {value} is not in [0, "
        f"{attributes['classes'] - 1}]"
        if value >= 0
        else f"Class values must be non-negative, got {value}"
    ),
)
