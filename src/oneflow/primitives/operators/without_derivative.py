"""Results that depend on operands without a derivative: a backward pass to these is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes


def undefined_gradient(function: str) -> Callable[[Any], NoReturn]:
    """A gradient rule for a primitive that computes `function`, which has no derivative."""

    def gradient(g: Any) -> NoReturn:
        _raise_undefined(g, function)

    return gradient


def _raise_undefined(g: Any, function: str) -> NoReturn:
    raise NotImplementedError(
        f"the derivative for '{function}' is not implemented: give it `detach()` of what is to be "
        "constant"
    )


def _axes(operation: Any) -> Axes:
    result, *operands = operation.in_specs
    names = tuple(f"d{dim}" for dim in range(result.ndim))
    return Axes((names, *((None,) * operand.ndim for operand in operands)), (names,))


# A result as it is, which depends on the operands.
without_derivative = primitive(
    "without_derivative",
    lambda result, *operands, function: result,
    axes=_axes,
    linear=("result",),
)
without_derivative.gradient(_raise_undefined)
