"""JAX's loops, and its functions that loop, as implementations use them.

Implementations are traced without `jax.jit`, see `primitives/trace.py`. JAX would then run the
steps of a loop one by one, as for debugging; these loops stay loops.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import scipy_functions as jsp

_with_jit = jax.disable_jit(False)

scan = _with_jit(lax.scan)
while_loop = _with_jit(lax.while_loop)
map_ = _with_jit(lax.map)
searchsorted = _with_jit(jnp.searchsorted)
ndtri = _with_jit(jsp.ndtri)
fori_loop = _with_jit(lax.fori_loop)


def coordinates(step: Any, shape: tuple[int, ...]) -> list:
    """The coordinates of an element of an array, given its number in row-major order, as `int32`.

    Written in `lax`: what `jax.numpy` does takes long to trace.
    """
    step = lax.convert_element_type(step, np.int32)
    reversed_coordinates = []
    for size in reversed(shape[1:]):
        reversed_coordinates.append(lax.rem(step, np.int32(size)))
        step = lax.div(step, np.int32(size))
    return [step, *reversed(reversed_coordinates)]
