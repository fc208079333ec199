"""Looking up rows of a table. The gradient of the table is a sum of rows, never a product."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import loops
from oneflow.primitives.operators.distance import safe_norm
from oneflow.primitives.operators.indexing import out_of_range, require_elements, rows_at
from oneflow.primitives.operators.lax_functions import as_type, index_dtype, wide
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.sharding.axes import Axes
from oneflow.primitives.sharding.linearity import Linearity
from oneflow.primitives.traits import Positional

NO_PADDING = -1


def _embedding(
    indices,
    weight,
    *,
    padding: int = NO_PADDING,
    by_frequency: bool = False,
    rows: int | None = None,
    shard: ShardIndex | None = None,
):
    """Rows of the table; of a shard of it, zeros for the rows that are in other shards."""
    count = weight.shape[0]
    require_elements(weight.shape, (0,), indices.size)
    if shard is None or shard.global_shape[0] == count:
        return rows_at(weight, indices)
    local_indices = indices - lax.convert_element_type(shard.offsets[0], indices.dtype)
    local_rows = rows_at(weight, local_indices)
    return jnp.where(((local_indices >= 0) & (local_indices < count))[..., None], local_rows, 0)


def _axes(operation: Operation) -> Axes:
    """Parts of the table give parts of a sum: every row is in one of them."""
    indices, weight = operation.in_specs
    index_names = tuple(f"d{dim}" for dim in range(indices.ndim))
    rows = {"rows": weight.shape[0]}
    return Axes((index_names, ("row", "width")), ((*index_names, "width"),), global_attributes=rows)


def _embedding_backward(g, indices, *, rows: int, padding: int, by_frequency: bool):
    flat = lax.reshape(indices, (indices.size,))
    grads = lax.reshape(g, (indices.size, g.shape[-1]))
    if by_frequency:
        counts = jnp.zeros(rows, g.dtype).at[flat].add(1, mode="drop")
        grads = quotient(grads, counts[flat][:, None])
    # Rows outside of the table are dropped: the padding's, and wrong ones, which the check reports.
    unknown = flat < 0 if padding < 0 else (flat == padding) | (flat < 0)
    target = jnp.where(unknown, rows, flat)
    return lax.scatter_add(
        lax.full((rows, grads.shape[1]), 0, g.dtype),
        lax.expand_dims(as_type(target, index_dtype(rows)), (1,)),
        grads,
        lax.ScatterDimensionNumbers((1,), (0,), (0,)),
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )


def _backward_axes(operation: Operation) -> Axes:
    """Parts of the indices are parts of a sum, unless they are counted."""
    by_frequency = operation.attributes["by_frequency"]
    index_names = tuple(
        None if by_frequency else f"d{dim}" for dim in range(operation.in_specs[1].ndim)
    )
    return Axes(((*index_names, "width"), index_names), ((None, "width"),))


def _row_error(value, attributes, in_specs):
    return IndexError(
        f"index out of range in self: index {value}, but the table has {in_specs[1].shape[0]} rows"
    )


embedding = primitive(
    "embedding", _embedding, axes=_axes, linear=("weight",), positional=Positional("weight")
)
embedding_backward = primitive(
    "embedding_backward", _embedding_backward, axes=_backward_axes, linear=("g",)
)
embedding.checked(
    lambda indices, weight, rows=None, **attributes: out_of_range(
        indices, 0, rows or weight.shape[0]
    ),
    _row_error,
)


def _weight_gradient(g, indices, weight_spec, padding, by_frequency):
    rows = weight_spec.shape[0]
    return embedding_backward(g, indices, rows=rows, padding=padding, by_frequency=by_frequency)


embedding.gradient(indices=None, weight=_weight_gradient)


def _limit_rows(weight, indices, max_norm, *, norm_type: float):
    """`weight` with the rows looked up scaled down to norm `max_norm` where they are longer."""
    rows = wide(weight)
    norms = safe_norm(rows, norm_type, -1, True)
    used = jnp.zeros((weight.shape[0], 1), bool).at[indices.reshape(-1)].set(True, mode="drop")
    limited = jnp.where(used & (norms > max_norm), rows * (max_norm / (norms + 1e-7)), rows)
    return as_type(limited, weight.dtype)


limit_rows = primitive("limit_rows", _limit_rows, differentiable=False)


def _bag_indices(count: int, offsets, include_last: bool):
    """The bag each index is in, and how many bags there are; bag i starts at ``offsets[i]``."""
    bag_count = offsets.shape[0] - int(include_last)
    return loops.searchsorted(offsets[:bag_count], jnp.arange(count), side="right") - 1, bag_count


def _first_largest(rows, is_valid, bag, bag_count: int):
    """The largest kept numbers of each bag, of equal ones the first; 0 of an empty bag."""
    count = rows.shape[0]
    largest = jax.ops.segment_max(jnp.where(is_valid, rows, -jnp.inf), bag, bag_count)
    is_largest = is_valid & ((rows == largest[bag]) | jnp.isnan(rows))
    places = jnp.where(is_largest, jnp.arange(count)[:, None], count)
    first = jax.ops.segment_min(places, bag, bag_count)
    values = jnp.take_along_axis(rows, jnp.minimum(first, count - 1), 0, mode="clip")
    return jnp.where(first < count, values, 0)


def _embedding_bag(
    indices, weight, offsets, *factors, mode: str, include_last: bool = False, padding: int
):
    require_elements(weight.shape, (0,), indices.size)
    rows = rows_at(weight, indices)
    bag, bag_count = _bag_indices(indices.shape[0], offsets, include_last)
    mask = (indices != padding)[:, None]
    if include_last:  # the last one is where the last bag ends
        mask &= (jnp.arange(indices.shape[0]) < offsets[-1])[:, None]
    if bag_count <= 0:
        return jnp.zeros((0, weight.shape[1]), rows.dtype)
    if mode == "max":
        return _first_largest(rows, mask, bag, bag_count)
    rows = wide(rows)
    if factors:
        rows = rows * wide(factors[0])[:, None]
    total = jax.ops.segment_sum(jnp.where(mask, rows, 0), bag, bag_count)
    if mode == "sum":
        return as_type(total, weight.dtype)
    counts = jax.ops.segment_sum(mask.astype(rows.dtype), bag, bag_count)
    return as_type(quotient(total, jnp.maximum(counts, 1)), weight.dtype)


def _bag_linearity(operation: Operation) -> Linearity:
    """Sums and means are linear in the table, and sums in the factors."""
    if operation.attributes["mode"] == "max":
        return ()
    return tuple(frozenset({position}) for position in (1, 3) if position < len(operation.in_specs))


embedding_bag = primitive(
    "embedding_bag", _embedding_bag, axes="_, _ d, _, _ -> _ d", linear=_bag_linearity
)
embedding_bag.checked(
    lambda indices, weight, *rest, **attributes: out_of_range(indices, 0, weight.shape[0]),
    lambda value, attributes, in_specs: RuntimeError(
        f"embedding_bag: index {value} is outside of the table, which has {in_specs[1].shape[0]} "
        "rows"
    ),
)


def _bad_offset(offsets, *, count: int):
    """The first offset that decreases, is negative, or is beyond the indices."""
    if not offsets.shape[0]:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    offsets = offsets.astype(jnp.int64)
    before = jnp.concatenate([jnp.zeros(1, jnp.int64), offsets[:-1]])
    bad = (offsets < before) | (offsets > count)
    bad = bad.at[0].set(offsets[0] != 0)
    return bad.any(), offsets[lax.argmax(bad, 0, index_dtype(bad.size))]


#: Offsets that begin with 0 and rise no higher than the number of indices.
bag_offsets = primitive("bag_offsets", lambda offsets, *, count: offsets, differentiable=False)
bag_offsets.checked(
    _bad_offset,
    lambda value, attributes, in_specs: RuntimeError(
        "embedding_bag: `offsets` must begin with 0, must not fall, and must not be greater than "
        f"the number of indices, {attributes['count']}; got {value} among them"
    ),
)
