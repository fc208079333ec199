"""Numbers that are data, given to integers that may be too narrow for them."""

from __future__ import annotations

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.dtype import DType
from oneflow.base.limits import integer_range, out_of_range_error
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.registry import primitive


def _find_out_of_range(x, *, dtype: DType):
    """The check: an element is not a number of `dtype`; the first such one as int64."""
    if not x.size:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    low, high = integer_range(dtype)
    # The limits are exact in each of the two: limits of 64 bits are compared by the power of two.
    wide = jnp.ravel(x).astype(np.float64 if jnp.issubdtype(x.dtype, jnp.floating) else np.int64)
    if wide.dtype == np.float64 and high > 2**53:
        inside = (wide >= float(low)) & (wide < float(high + 1))
    else:
        inside = (wide >= low) & (wide <= high)
    value = wide[jnp.argmin(inside)]
    if wide.dtype == np.float64:
        value = jnp.clip(jnp.nan_to_num(value), -(2.0**62), 2.0**62)
    return ~inside.all(), lax.convert_element_type(value, np.int64)


def _error(value: int, attributes: Mapping, in_specs: tuple) -> RuntimeError:
    # The fraction, infinity or NaN of a float is not in what the check returns.
    number = "it" if in_specs[0].dtype.is_floating_point else value
    return out_of_range_error(number, attributes["dtype"])


# A cast to integers that refuses numbers that these cannot hold, as it does Python numbers.
cast_in_range = primitive("cast_in_range", cast.impl, differentiable=False)
cast_in_range.checked(_find_out_of_range, _error)
