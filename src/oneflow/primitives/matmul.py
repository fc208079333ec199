"""Matrix products."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.elementwise import _conjugate
from oneflow.primitives.registry import primitive
from oneflow.primitives.reduce import sum_
from oneflow.primitives.shape import transpose

_PRECISION = lax.Precision.DEFAULT


def _matmul(x, y):
    """``[..., m, k] @ [..., k, n]`` with broadcast leading dimensions; integer types accumulate in their own type."""
    return jnp.matmul(x, y, precision=_PRECISION)


matmul = primitive("matmul", _matmul)


def swap_last(x):
    """`x` with its last two dimensions exchanged."""
    ndim = x.spec.ndim
    return transpose(x, perm=(*range(ndim - 2), ndim - 1, ndim - 2))


matmul.gradient(
    x=lambda g, y: matmul(g, _conjugate(swap_last(y))),
    y=lambda g, x: matmul(_conjugate(swap_last(x)), g),
)


def _linear(x, weight, bias):
    """``x[..., k] @ weight[n, k].T + bias[n]``."""
    return (
        lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())), precision=_PRECISION) + bias
    )


def _linear_no_bias(x, weight):
    return lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())), precision=_PRECISION)


def _outer_rows(y, x):
    """The sum over rows of ``y[..., n] x[..., k]``, as ``[n, k]``."""
    rows = tuple(range(x.ndim - 1))
    return lax.dot_general(y, x, ((rows, rows), ((), ())), precision=_PRECISION)


def _sum_rows(g):
    return sum_(g, dims=tuple(range(g.spec.ndim - 1)))


linear = primitive("linear", _linear)
linear_no_bias = primitive("linear_no_bias", _linear_no_bias)
outer_rows = primitive("outer_rows", _outer_rows)

linear.gradient(
    x=lambda g, weight: matmul(g, _conjugate(weight)),
    weight=lambda g, x: outer_rows(g, _conjugate(x)),
    bias=lambda g: _sum_rows(g),
)
linear_no_bias.gradient(
    x=lambda g, weight: matmul(g, _conjugate(weight)),
    weight=lambda g, x: outer_rows(g, _conjugate(x)),
)
outer_rows.gradient(
    y=lambda g, x: linear_no_bias(_conjugate(x), g),
    x=lambda g, y: matmul(_conjugate(y), g),
)
