"""Products of groups of rows, each with a matrix of its own: the experts of a mixture.

`ends` says where each group ends, in order; rows behind the last group count as zeros.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.matmul import swap_last
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Precision

_OVER_ROWS = lax.RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((0,), (0,)), ((), ())),
    lhs_ragged_dimensions=[0],
    rhs_group_dimensions=[],
)


def _find_bad_end(ends, rows):
    """Return whether an end is before the last one, or behind the rows, and the first such end."""
    ends = ends.astype(jnp.int64)
    bad = (jnp.diff(ends, prepend=jnp.zeros(1, jnp.int64)) < 0) | (ends > rows)
    return jnp.any(bad), ends[jnp.argmax(bad)]


def _end_error(value, attributes, in_specs):
    return IndexError(
        f"`offs` of `grouped_mm` must be ends of groups in ascending order, from 0 to "
        f"{in_specs[0].shape[0]}, got {value} out of order or range"
    )


def _sizes(ends):
    ends = ends.astype(jnp.int32)
    return jnp.diff(ends, prepend=jnp.zeros(1, jnp.int32))


def _grouped_matmul(x, weight, ends):
    """``x[m, k] weight[g, k, n] -> [m, n]``: each row by the matrix of its group."""
    product = lax.ragged_dot(x, weight, _sizes(ends))
    # Kernels may leave alone what is in no group.
    rows = lax.broadcasted_iota(jnp.int32, product.shape, 0)
    return jnp.where(rows < ends[-1], product, jnp.zeros((), product.dtype))


def _grouped_outer(x, y, ends):
    """``x[m, k] y[m, n] -> [g, k, n]``: the sums over the rows of each group."""
    return lax.ragged_dot_general(x, y, _sizes(ends), _OVER_ROWS)


grouped_matmul = primitive(
    "grouped_matmul",
    _grouped_matmul,
    axes="_ k, _ k n, _ -> _ n",
    linear=("x", "weight"),
    precision=Precision.HALF,
    interpret=False,
)
grouped_outer = primitive(
    "grouped_outer",
    _grouped_outer,
    axes="_ k, _ n, _ -> _ k n",
    linear=("x", "y"),
    precision=Precision.HALF,
    interpret=False,
)
grouped_matmul.checked(lambda x, weight, ends: _find_bad_end(ends, x.shape[0]), _end_error)
grouped_outer.checked(lambda x, y, ends: _find_bad_end(ends, x.shape[0]), _end_error)
grouped_matmul.gradient(
    x=lambda g, weight, ends: grouped_matmul(g, swap_last(weight), ends),
    weight=lambda g, x, ends: grouped_outer(x, g, ends),
    ends=None,
)
grouped_outer.gradient(
    x=lambda g, y, ends: grouped_matmul(y, swap_last(g), ends),
    y=lambda g, x, ends: grouped_matmul(x, g, ends),
    ends=None,
)
