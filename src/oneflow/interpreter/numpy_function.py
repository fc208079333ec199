"""Traced implementations on NumPy, and the choice between that and compiling."""

from __future__ import annotations

import logging

from oneflow.interpreter.flat_jaxpr import FlatJaxpr
from oneflow.interpreter.jaxpr_template import JaxprAtSizes, JaxprTemplate
from oneflow.interpreter.rules import UnsupportedEquation
from oneflow.primitives.tracing import Traced, TracedJaxpr

logger = logging.getLogger("oneflow.eager")

# Seconds that compiling takes at least for what it saves, and for each equation.
_COMPILING, _COMPILING_EQUATION = 0.015, 0.0005


def is_expensive(function: FlatJaxpr, repeats: int) -> bool:
    """Return True if compiling takes less time.

    Args:
        function: on NumPy.
        repeats: elements of the result, if it was traced without dimensions; else 1.
    """
    calls, elements, num_eqns = function.seconds
    return calls + elements * repeats > _COMPILING + _COMPILING_EQUATION * num_eqns


def numpy_function_of(traced: Traced) -> FlatJaxpr | None:
    """The traced implementation on NumPy, made once; None if a primitive of JAX's has no rule."""
    if traced.numpy_function is None:
        traced.numpy_function = False
        try:
            template = _template_of(traced.source)
            if template is not None:
                traced.numpy_function = FlatJaxpr(JaxprAtSizes(template, traced.sizes))
        except UnsupportedEquation as reason:
            logger.debug("compiled instead of interpreted: %s", reason)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Another release of JAX, whose primitives have other parameters.
            logger.warning("compiled instead of interpreted, which failed: %r", error)
    return traced.numpy_function or None


def _template_of(source: TracedJaxpr) -> JaxprTemplate | None:
    """The template of a jaxpr, made once; None if a primitive has no rule."""
    if source.template is None:
        closed, source.closed, source.template = source.closed, None, False
        source.template = JaxprTemplate(closed)
    return source.template or None
