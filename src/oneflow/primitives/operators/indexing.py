"""Reading and writing at positions that are data: index tensors.

Out-of-range positions are errors, checked at run time.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.lax_functions import index_dtype, size_in
from oneflow.primitives.operators.shape import zeros_of
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, Names

# Positions from which on one minimum finds the first that is out of range in half the time that
# "any" and the position of the maximum take together; it takes more steps.
_MANY_POSITIONS = 2**12


def wrapped(index, size: int):
    """Positions counted from the front: negative ones count from the end."""
    index = lax.convert_element_type(index, np.int64)
    from_end = lax.add(index, size_in(index.dtype, size))
    return lax.select(lax.lt(index, index.dtype.type(0)), from_end, index)


def out_of_range(index, low: int, high: int):
    """The check for positions outside ``[low, high - 1]``: a bool, and the first one (int64)."""
    if not index.size:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    index = lax.convert_element_type(lax.reshape(index, (index.size,)), np.int64)
    bad = lax.bitwise_or(
        lax.lt(index, size_in(index.dtype, low)), lax.ge(index, size_in(index.dtype, high))
    )
    if index.size < _MANY_POSITIONS:
        is_any, first = lax.reduce_or(bad, (0,)), lax.argmax(bad, 0, index_dtype(index.size))
    else:
        none = size_in(index_dtype(index.size), index.size)
        numbers = lax.iota(none.dtype, index.size)
        # The last position is read where none is out of range.
        first = lax.reduce_min(lax.select(bad, numbers, lax.full_like(numbers, none)), (0,))
        is_any = lax.lt(first, none)
    value = lax.dynamic_index_in_dim(index, first, keepdims=False, allow_negative_indices=False)
    return is_any, value


def _wrap_index(index, *, size: int, dim: int):
    return wrapped(index, size)


def out_of_bounds(index: int, dim: int, size: int) -> IndexError:
    """PyTorch's error for a position that does not exist."""
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def require_elements(shape: tuple[int, ...], dims: tuple[int, ...], count: int) -> None:
    """Check that `count` positions can be within the dimensions `dims` of a shape.

    Raises:
        IndexError: there are positions, and a dimension is empty.
    """
    for dim in dims if count else ():
        if not shape[dim]:
            raise IndexError(f"index is out of bounds for dimension {dim} with size 0")


def rows_at(table, indices):
    """``table[indices]``; positions out of range, which a check finds, are moved into it."""
    if not indices.size or not table.size:
        return jnp.zeros((*indices.shape, *table.shape[1:]), table.dtype)
    ndim = len(indices.shape)
    within = tuple(range(ndim, ndim + len(table.shape) - 1))
    return lax.gather(
        table,
        lax.expand_dims(indices, (ndim,)),
        lax.GatherDimensionNumbers(within, (0,), (0,)),
        slice_sizes=(1, *table.shape[1:]),
        mode=lax.GatherScatterMode.CLIP,
    )


# A position given as a tensor, made fit for `select`.
wrap_index = primitive("wrap_index", _wrap_index, differentiable=False)
wrap_index.checked(
    lambda index, *, size, dim: out_of_range(index, -size, size),
    lambda value, attributes, in_specs: out_of_bounds(value, attributes["dim"], attributes["size"]),
)


def _positions(x, indices, dims):
    """The index that NumPy takes: index arrays at `dims`, full slices elsewhere."""
    key: list = [slice(None)] * x.ndim
    for dim, index in zip(dims, indices, strict=True):
        key[dim] = wrapped(index, x.shape[dim])
    return tuple(key)


def _first_indexed(dims: tuple[int, ...]) -> int:
    """The dimension of the result where the index arrays' dimensions begin, by NumPy's rules."""
    return dims[0] if dims == tuple(range(dims[0], dims[-1] + 1)) else 0


def _check_positions(x, indices, dims, negative):
    """The check for indices out of range: a bool; an index and its dimension as one number."""
    if len(dims) == 1:
        size = x.shape[dims[0]]
        return out_of_range(indices[0], -size if negative else 0, size)
    bad, code = jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    for which, (dim, index) in enumerate(zip(dims, indices, strict=True)):
        size = x.shape[dim]
        wrong, value = out_of_range(index, -size if negative else 0, size)
        code = jnp.where(bad, code, value * len(dims) + which)
        bad = bad | wrong
    return bad, code


def _position_error(value, attributes, in_specs):
    index, which = divmod(value, len(attributes["dims"]))
    dim = attributes["dims"][which]
    return out_of_bounds(index, dim, in_specs[0].shape[dim])


def _index(x, *indices, dims: tuple[int, ...], negative: bool = True):
    """Elements of `x` at the positions that the broadcast `indices` give along `dims`.

    The shape follows NumPy's rules.

    With `negative` positions below 0 count from the end, otherwise they are errors.
    """
    arrays = jnp.broadcast_arrays(*indices) if len(indices) > 1 else list(indices)
    require_elements(x.shape, dims, arrays[0].size)
    rank = jnp.ndim(arrays[0])
    positions = [
        lax.expand_dims(wrapped(index, x.shape[dim]), (rank,))
        for dim, index in zip(dims, arrays, strict=True)
    ]
    first, num_other_dims = _first_indexed(dims), x.ndim - len(dims)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(first), *range(first + rank, num_other_dims + rank)),
        collapsed_slice_dims=dims,
        start_index_map=dims,
    )
    return lax.gather(
        x,
        lax.concatenate(positions, rank),
        numbers,
        tuple([1 if dim in dims else size for dim, size in enumerate(x.shape)]),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def _indexed_names(source: Names, dims: tuple[int, ...], index_names: Names) -> Names:
    """Names of results: `index_names` replace `dims`, or come first if these are apart."""
    before = _first_indexed(dims)
    back = tuple(source[dim] for dim in range(before, len(source)) if dim not in dims)
    return (*source[:before], *index_names, *back)


def _index_axes(operation) -> Axes:
    """Kept dimensions of `x` may be split, and the dimensions of index tensors of one shape."""
    x, *indices = operation.in_specs
    dims = operation.attributes["dims"]
    source = tuple(None if dim in dims else f"d{dim}" for dim in range(x.ndim))
    rank = max(spec.ndim for spec in indices)
    same_shape = all(spec.shape == indices[0].shape for spec in indices)
    index_names = tuple(f"i{dim}" if same_shape else None for dim in range(rank))
    names_of_indices = [index_names if same_shape else (None,) * spec.ndim for spec in indices]
    return Axes((source, *names_of_indices), (_indexed_names(source, dims, index_names),))


index = primitive("index", _index, axes=_index_axes, linear=("x",))
index.checked(
    lambda x, *indices, dims, negative=True: _check_positions(x, indices, dims, negative),
    _position_error,
)


def _index_put(x, values, *indices, dims: tuple[int, ...], accumulate: bool, negative: bool = True):
    """`x` with `values` written, or added, where `index` with the same positions would read."""
    require_elements(x.shape, dims, math.prod(np.broadcast_shapes(*[i.shape for i in indices])))
    target = jnp.asarray(x).at[_positions(x, indices, dims)]
    # Positions out of range are dropped here and reported by the check.
    if not accumulate:
        return target.set(values, mode="drop")
    return (target.max if x.dtype == bool else target.add)(values, mode="drop")


def _index_put_axes(operation) -> Axes:
    """Dimensions of `x` that are kept may be split."""
    x, values, *indices = operation.in_specs
    dims = operation.attributes["dims"]
    source = tuple(None if dim in dims else f"d{dim}" for dim in range(x.ndim))
    index_names = (None,) * max(spec.ndim for spec in indices)
    written = _indexed_names(source, dims, index_names)
    # Values are aligned at the right, and size 1 broadcasts.
    value_names = written[len(written) - values.ndim :]
    names_of_values = tuple(
        None if n == 1 else name for n, name in zip(values.shape, value_names, strict=True)
    )
    return Axes((source, names_of_values, *((None,) * spec.ndim for spec in indices)), (source,))


index_put = primitive("index_put", _index_put, axes=_index_put_axes, linear=("x values",))
index_put.checked(
    lambda x, values, *indices, dims, accumulate, negative=True: _check_positions(
        x, indices, dims, negative
    ),
    _position_error,
)


def _index_gradient(g, indices, x_spec, dims):
    into = index_put(zeros_of(x_spec), g, *indices, dims=dims, accumulate=True)
    return [into, *[None] * len(indices)]


def _index_put_gradient(g, indices, values_spec, dims, accumulate, needs_input_grad):
    into = g
    if needs_input_grad[0] and not accumulate:
        into = index_put(g, zeros_of(values_spec), *indices, dims=dims, accumulate=False)
    values = index(g, *indices, dims=dims) if needs_input_grad[1] else None
    return [into if needs_input_grad[0] else None, values, *[None] * len(indices)]


index.gradient(_index_gradient)
index_put.gradient(_index_put_gradient)


def _nonzero(x, *, count: int):
    return tuple(
        positions.astype(jnp.int64) for positions in jnp.nonzero(x, size=count, fill_value=0)
    )


# The first `count` positions of elements that are not zero, one vector per dimension; positions 0
# if there are fewer.
nonzero = primitive("nonzero", _nonzero, differentiable=False)
