"""Implementations as JAX traces them: the shapes they give, and the steps they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax

from oneflow.base.spec import require_size
from oneflow.base.uninterruptible import run_uninterruptible


def traced_results(name: str, function: Callable, operands: list[jax.ShapeDtypeStruct]) -> Any:
    """Shapes and dtypes of what a function of arrays returns; nothing is computed.

    Args:
        name: of the operator that it implements.
        function: takes and returns arrays.
        operands: shapes and dtypes of what it takes.

    Raises:
        RuntimeError: an array that it makes, the results included, is too large for XLA, which
            would end the process.
    """
    traced, results = run_uninterruptible(
        lambda: jax.make_jaxpr(function, return_shape=True)(*operands)
    )
    for array in (*traced.out_avals, *_arrays(traced.jaxpr)):
        require_size(name, array.shape, array.dtype)
    return results


def _arrays(jaxpr: Any) -> Iterator[Any]:
    """Shape and dtype of every array that the steps make."""
    for equation in jaxpr.eqns:
        yield from (each.aval for each in equation.outvars)
        for body in bodies(equation):
            yield from _arrays(body)


def bodies(equation: Any) -> list[Any]:
    """The steps inside a step: loops, branches and calls."""
    return [each for each in map(_body, _parameters(equation)) if each is not None]


def _parameters(equation: Any) -> list[Any]:
    """The parameters of a step, those in tuples (the branches of a condition) one by one."""
    flat: list[Any] = []
    for value in equation.params.values():
        flat += value if isinstance(value, tuple | list) else [value]
    return flat


def _body(parameter: Any) -> Any:
    """The steps inside a step, if the parameter holds some."""
    inner = getattr(parameter, "jaxpr", parameter)
    return inner if hasattr(inner, "eqns") else None
