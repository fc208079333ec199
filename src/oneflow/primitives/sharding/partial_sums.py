"""Making and adding up partial sums, the same for every dtype.

The sum of truth values is "or", as it is for PyTorch's `+`: a partial sum of them is true where any
device's part is. Devices without a share put in the number that changes nothing: -0.0 for floats,
because ``-0.0 + 0.0`` is 0.0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def sum_identity(dtype: Any) -> np.ndarray:
    """The number, 0-dim, that changes no other of its dtype when it is added.

    Example:
        >>> import numpy as np
        >>> from oneflow.primitives.sharding.partial_sums import sum_identity
        >>> sum_identity(np.float32), sum_identity(np.bool_)
        (array(-0., dtype=float32), array(False))
    """
    zero = np.zeros((), dtype)
    return zero if zero.dtype.kind in "biu" else np.asarray(-zero)


def all_reduce(x: jax.Array, axes: Any) -> jax.Array:
    """The sum of all devices' parts along dimensions of the mesh, on each of them."""
    if x.dtype == jnp.bool_:
        return lax.psum(x.astype(jnp.int32), axes) > 0
    return lax.psum(x, axes)


def reduce_scatter(x: jax.Array, axis: Any, dim: int) -> jax.Array:
    """This device's share along `dim` of the sum of all parts along one dimension of the mesh."""
    if x.dtype == jnp.bool_:
        return reduce_scatter(x.astype(jnp.int32), axis, dim) > 0
    return lax.psum_scatter(x, axis, scatter_dimension=dim, tiled=True)


def reduce_scatter_on_cpu(x: jax.Array, axis: Any, dim: int) -> jax.Array:
    """`reduce_scatter` on CPUs, where XLA's own gives wrong sums between processes.

    XLA calls Gloo's `ReduceScatterHalvingDoubling`. It moves a process's sum to the front of the
    array that it sends from, even while parts of that array wait to be sent, so that a process that
    reads slowly receives numbers of another's share.
    """
    if x.dtype == jnp.bool_:
        return reduce_scatter_on_cpu(x.astype(jnp.int32), axis, dim) > 0
    count = lax.axis_size(axis)
    shares = (*x.shape[:dim], count, x.shape[dim] // count, *x.shape[dim + 1 :])
    received = lax.all_to_all(x.reshape(shares), axis, split_axis=dim, concat_axis=dim, tiled=True)
    # Half precision is added up in float32 and rounded once.
    is_half = x.dtype.itemsize < 4 and not jnp.issubdtype(x.dtype, jnp.integer)
    dtype = np.dtype(np.float32) if is_half else x.dtype
    # `lax.add` would begin at 0.0, whose sum with -0.0 is 0.0.
    total = lax.reduce(received.astype(dtype), sum_identity(dtype), lambda a, b: a + b, (dim,))
    return total.astype(x.dtype)
