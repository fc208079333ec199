"""Programs whose indices have 32 bits, for JAX to lower while it has no types of 64 bits.

A program that JAX traces within `oneflow.base.x64` may have types of 64 bits; when JAX lowers it as
part of a function of the user's, the user's setting applies. Values then keep their types, except
the bounds of indices and the places of extremes, which JAX computes anew, in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from oneflow.primitives.jax_primitives import SCATTER_REDUCTIONS, called_jaxpr

# The operands that are indices, by primitive.
_INDICES = {
    "gather": slice(1, 2),
    "dynamic_slice": slice(1, None),
    "dynamic_update_slice": slice(2, None),
    **dict.fromkeys(SCATTER_REDUCTIONS, slice(1, 2)),
}
# Parameters with a jaxpr that is no function of its elements alone.
_JAXPR_PARAMS = ("jaxpr", "cond_jaxpr", "body_jaxpr", "branches")


def with_narrow_indices(function: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """Return a function of arrays whose indices have at most 32 bits wherever JAX reads by them."""

    def narrow_function(*arrays: Any) -> list[Any]:
        closed = jax.make_jaxpr(function)(*arrays)
        return _run(closed.jaxpr, closed.consts, jax.tree.leaves(arrays))

    return narrow_function


def _run(jaxpr: Any, constants: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    environment = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arrays), strict=True))

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else environment[atom]

    for equation in jaxpr.eqns:
        results = _apply(equation, [read(variable) for variable in equation.invars])
        environment.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _apply(equation: Any, operands: list[Any]) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    inner = called_jaxpr(name, params)
    if inner is not None:
        return _run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), operands)
    if name in _INDICES:
        places = _INDICES[name]
        operands[places] = [_narrow(operand) for operand in operands[places]]
    elif "index_dtype" in params:
        places = equation.primitive.bind(*operands, **{**params, "index_dtype": np.dtype("int32")})
        return [places.astype(params["index_dtype"])]
    else:
        jaxprs = {key: _narrow_body(params[key]) for key in _JAXPR_PARAMS if key in params}
        params = {**params, **jaxprs}
    results = equation.primitive.bind(*operands, **params)
    return results if equation.primitive.multiple_results else [results]


def _narrow(indices: Any) -> Any:
    return indices.astype(jnp.int32) if indices.dtype.itemsize == 8 else indices


def _narrow_body(body: Any) -> Any:
    """A closed jaxpr, or a tuple of them, with narrow indices."""
    if isinstance(body, tuple):
        return tuple(map(_narrow_body, body))
    if not hasattr(body, "consts"):
        return body
    return jax.make_jaxpr(lambda *arrays: _run(body.jaxpr, body.consts, arrays))(*body.in_avals)
