"""Products of groups of rows, each with a matrix of its own: the experts of a mixture.

`ends` says where each group ends, in order; rows behind the last group count as zeros.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.traits import Precision

_OVER_ROWS = lax.RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((0,), (0,)), ((), ())),
    lhs_ragged_dimensions=[0],
    rhs_group_dimensions=[],
)
_OVER_COLUMNS = lax.RaggedDotDimensionNumbers(
    dot_dimension_numbers=(((1,), (2,)), ((), ())),
    lhs_ragged_dimensions=[0],
    rhs_group_dimensions=[0],
)


def _find_bad_end(ends, rows):
    """Return whether an end is before the last one, or behind the rows, and the first such end."""
    # Differences of wrong ends may overflow.
    before = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]])
    bad = (ends < before) | (ends > rows)
    return jnp.any(bad), ends[lax.argmax(bad, 0, index_dtype(bad.size))]


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
    return _in_groups(lax.ragged_dot(x, weight, _sizes(ends)), ends)


def _grouped_matmul_transposed(x, weight, ends):
    """``x[m, n] weight[g, k, n] -> [m, k]``: as `_grouped_matmul`, by transposed matrices.

    TPUs would copy the matrices to transpose them before the product.
    """
    return _in_groups(lax.ragged_dot_general(x, weight, _sizes(ends), _OVER_COLUMNS), ends)


def _in_groups(product, ends):
    """The rows of a product that are in a group, and zeros behind them, which kernels leave out."""
    rows = lax.broadcasted_iota(jnp.int32, product.shape, 0)
    return jnp.where(rows < ends[-1], product, jnp.zeros((), product.dtype))


def _grouped_outer(x, y, ends):
    """``x[m, k] y[m, n] -> [g, k, n]``: the sums over the rows of each group."""
    return lax.ragged_dot_general(x, y, _sizes(ends), _OVER_ROWS)


def _grouped(name: str, impl: Callable, axes: str, linear: tuple[str, str]) -> Primitive:
    """Define a product of groups of rows, whose ends are checked."""
    product = primitive(
        name, impl, axes=axes, linear=linear, precision=Precision.HALF, interpret=False
    )
    product.checked(lambda x, y, ends: _find_bad_end(ends, x.shape[0]), _end_error)
    return product


grouped_matmul = _grouped(
    "grouped_matmul", _grouped_matmul, "_ k, _ k n, _ -> _ n", ("x", "weight")
)
grouped_matmul_transposed = _grouped(
    "grouped_matmul_transposed",
    _grouped_matmul_transposed,
    "_ n, _ k n, _ -> _ k",
    ("x", "weight"),
)
grouped_outer = _grouped("grouped_outer", _grouped_outer, "_ k, _ n, _ -> _ k n", ("x", "y"))
grouped_matmul.gradient(
    x=lambda g, weight, ends: grouped_matmul_transposed(g, weight, ends),
    weight=lambda g, x, ends: grouped_outer(x, g, ends),
    ends=None,
)
grouped_matmul_transposed.gradient(
    x=lambda g, weight, ends: grouped_matmul(g, weight, ends),
    weight=lambda g, x, ends: grouped_outer(g, x, ends),
    ends=None,
)
grouped_outer.gradient(
    x=lambda g, y, ends: grouped_matmul_transposed(y, g, ends),
    y=lambda g, x, ends: grouped_matmul(x, g, ends),
    ends=None,
)
