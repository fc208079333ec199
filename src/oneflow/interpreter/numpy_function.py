"""Traced implementations on NumPy, and the choice between that and compiling."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal

from oneflow.interpreter.cost import Seconds, joined
from oneflow.interpreter.flat_jaxpr import FlatJaxpr
from oneflow.interpreter.jaxpr_template import JaxprAtSizes, JaxprTemplate
from oneflow.interpreter.rules import UnsupportedEquation
from oneflow.primitives.tracing import Traced, TracedJaxpr, TracedParts

logger = logging.getLogger("oneflow.eager")

# Functions that are kept, those made last; they are soon made again.
_MAX_FUNCTIONS = 2048
_cached: deque[Traced] = deque()
# Seconds that compiling takes at least for what it saves, and for each equation.
_COMPILING, _COMPILING_EQUATION = 0.015, 0.0005


class JoinedFunctions:
    """Functions of some operands each, whose results follow each other.

    Attributes:
        seconds: an estimate of the time that they take.

    Args:
        parts: the operand positions of each function, and the function.
    """

    def __init__(self, parts: Sequence[tuple[tuple[int, ...], NumpyFunction]]) -> None:
        self._parts = parts
        self.seconds: Seconds = joined([each.seconds for _, each in parts])

    def __call__(self, *operands: Any) -> list[Any]:
        """All results."""
        results: list[Any] = []
        for places, function in self._parts:
            results += function(*[operands[each] for each in places])
        return results


NumpyFunction = FlatJaxpr | JoinedFunctions


def is_slow(function: NumpyFunction, repeats: int) -> bool:
    """Return True if compiling takes less time.

    Args:
        function: on NumPy.
        repeats: elements of the result, if it was traced without dimensions; else 1.
    """
    calls, elements, num_eqns, _ = function.seconds
    return calls + elements * repeats > _COMPILING + _COMPILING_EQUATION * num_eqns


def numpy_function_of(traced: Traced) -> NumpyFunction | None:
    """The traced implementation on NumPy; None if a primitive of JAX's has no rule."""
    function = traced.numpy_function
    if function is None:
        function = traced.numpy_function = _checked(traced)
        _cached.append(traced)
        if len(_cached) > _MAX_FUNCTIONS:
            _cached.popleft().numpy_function = None
    return function or None


def _checked(traced: Traced) -> NumpyFunction | Literal[False]:
    try:
        return _make(traced) or False
    except UnsupportedEquation as reason:
        logger.debug("compiled instead of interpreted: %s", reason)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Another release of JAX, whose primitives have other parameters.
        logger.warning("compiled instead of interpreted, which failed: %r", error)
    return False


def _make(traced: Traced) -> NumpyFunction | None:
    if isinstance(traced, TracedParts):
        parts = [(places, numpy_function_of(each)) for places, each in traced.parts]
        known = [(places, function) for places, function in parts if function is not None]
        return JoinedFunctions(known) if len(known) == len(parts) else None
    template = _template_of(traced.source)
    return None if template is None else FlatJaxpr(JaxprAtSizes(template, traced.sizes))


def _template_of(source: TracedJaxpr) -> JaxprTemplate | None:
    """The template of a jaxpr, made once; None if a primitive has no rule."""
    if source.template is None:
        closed, source.closed, source.template = source.closed, None, False
        source.template = JaxprTemplate(closed)
    return source.template or None
