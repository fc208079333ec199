"""Traced implementations on NumPy, and the choice between that and compiling."""

from __future__ import annotations

import logging

from oneflow.interpreter.cost import Seconds, estimate
from oneflow.interpreter.flat_jaxpr import FlatJaxpr
from oneflow.interpreter.rules import UnsupportedEquation
from oneflow.primitives.tracing import Traced

logger = logging.getLogger("oneflow.eager")

# Seconds that compiling takes at least for what it saves, and for each equation.
_COMPILING, _COMPILING_EQUATION = 0.015, 0.0005


class NumpyFunction:
    """A traced implementation on NumPy.

    Args:
        run: the jaxpr.
        seconds: that it takes; per element of the result if it was traced without dimensions.
    """

    __slots__ = ("_seconds", "run")

    def __init__(self, run: FlatJaxpr, seconds: Seconds) -> None:
        self.run = run
        self._seconds = seconds

    def is_expensive(self, repeats: int) -> bool:
        """Return True if compiling takes less time.

        Args:
            repeats: elements of the result, if traced without dimensions; else 1.
        """
        calls, elements, num_eqns = self._seconds
        return calls + elements * repeats > _COMPILING + _COMPILING_EQUATION * num_eqns


def numpy_function_of(traced: Traced) -> NumpyFunction | None:
    """The traced implementation on NumPy, made once; None if a primitive of JAX's has no rule."""
    if traced.numpy_function is None and traced.jaxpr is not None:
        try:
            jaxpr = traced.jaxpr()
            traced.numpy_function = NumpyFunction(FlatJaxpr(jaxpr), estimate(jaxpr.jaxpr))
        except UnsupportedEquation as reason:
            logger.debug("compiled instead of interpreted: %s", reason)
            traced.numpy_function = False
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Another release of JAX, whose primitives have other parameters.
            logger.warning("compiled instead of interpreted, which failed: %r", error)
            traced.numpy_function = False
        traced.jaxpr = None
    return traced.numpy_function or None
