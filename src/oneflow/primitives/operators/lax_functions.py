"""Functions of `jax.numpy` on `jax.lax`, in as few steps as an implementation needs.

`jax.numpy` promotes types and normalises arguments, so that JAX traces its functions several times
as slowly as those of `jax.lax`; and tracing is what the first call of an operator waits for. The
steps that these trace to are the same. Operators of `jax.lax` broadcast sizes of 1, and numbers
without dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import lax


def kept_sum(x: Any, dims: tuple[int, ...]) -> Any:
    """The sum of floats over `dims`, which count from the front and are kept with size 1."""
    return lax.expand_dims(lax.reduce_sum(x, axes=dims), dims) if dims else x


def kept_max(x: Any, dim: int) -> Any:
    """The largest float along `dim`, which counts from the front and is kept with size 1.

    Along a dimension of size 0 it is ``-inf``.
    """
    return lax.expand_dims(lax.reduce_max(x, axes=(dim,)), (dim,))


def full_of(x: Any, number: float) -> Any:
    """An array like `x`, full of a number."""
    return lax.broadcast_in_dim(np.asarray(number, x.dtype), x.shape, ())


def replaced(x: Any, condition: Any, number: float) -> Any:
    """`x` with a number where the condition, an array of its shape, holds."""
    return lax.select(condition, full_of(x, number), x)
