"""JAX's loops, and its functions that loop, as implementations use them.

Implementations are traced without `jax.jit`, see `primitives/trace.py`. JAX would then run the
steps of a loop one by one, as for debugging; these loops stay loops.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import scipy_functions as jsp

_with_jit = jax.disable_jit(False)

scan = _with_jit(lax.scan)
while_loop = _with_jit(lax.while_loop)
map_ = _with_jit(lax.map)
searchsorted = _with_jit(jnp.searchsorted)
ndtri = _with_jit(jsp.ndtri)
fori_loop = _with_jit(lax.fori_loop)
