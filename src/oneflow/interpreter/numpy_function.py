"""Traced implementations on NumPy, and the choice between that and compiling."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.interpreter.cost import Seconds, estimate, joined
from oneflow.interpreter.flat_jaxpr import flat_jaxpr_of
from oneflow.interpreter.rules import RULES, UnsupportedEquation
from oneflow.primitives.trace import Trace

logger = logging.getLogger("oneflow.eager")

# Functions that are kept, those used last; they are soon made again.
_MAX_FUNCTIONS = 2048
# Seconds that compiling takes at least for what it saves, and for each equation.
_COMPILING, _COMPILING_EQUATION = 0.015, 0.0005

# A function, the slots of its operands, that of its result or those of several, and the slots that
# nothing needs after it.
_Call = tuple[Callable, Sequence[int], int | Sequence[int], Sequence[int]]


class NumpyFunction:
    """A trace as a function of NumPy arrays: a list of calls in order.

    Operands are never written to; results can be views of them. Floating point errors are NumPy's
    to report: call it within ``np.errstate(all="ignore")``.

    Attributes:
        seconds: an estimate of the time that it takes.

    Args:
        trace: the trace of an implementation, or of a part of one.

    Raises:
        UnsupportedEquation: some primitive has no rule.
    """

    __slots__ = ("_calls", "_outputs", "_start", "seconds")

    def __init__(self, trace: Trace) -> None:
        self._calls: list[_Call] = []
        if trace.parts:
            self._join(trace)
            return
        flat = flat_jaxpr_of(trace)
        equations = flat.at(trace.sizes)
        self._start, self._outputs = flat.start, flat.outputs
        for equation in equations:
            function = RULES[equation.primitive.name](equation)
            self._calls.append((function, equation.sources, equation.target, equation.dead))
        self.seconds: Seconds = estimate(equations)

    def _join(self, trace: Trace) -> None:
        """Make one call of each part."""
        functions = {traced: NumpyFunction(traced) for traced in {part for _, part in trace.parts}}
        first = end = 1 + max(place for places, _ in trace.parts for place in places)
        for places, part in trace.parts:
            results = range(end, end := end + len(functions[part]._outputs))
            self._calls.append((functions[part], places, results, ()))
        self._outputs = range(first, end)
        self._start = [None] * (end - first)
        self.seconds = joined([functions[part].seconds for _, part in trace.parts])

    def __call__(self, *operands: Any) -> list[Any]:
        """The results."""
        slots = [*operands, *self._start]
        for function, sources, target, dead in self._calls:
            results = function(*[slots[source] for source in sources])
            if isinstance(target, int):
                slots[target] = results
            else:
                for place, result in zip(target, results, strict=True):
                    slots[place] = result
            for place in dead:
                slots[place] = None
        return [slots[place] for place in self._outputs]


def is_slow(function: NumpyFunction, repeats: int) -> bool:
    """Return True if compiling takes less time.

    Args:
        function: on NumPy.
        repeats: elements of the result, if it was traced without dimensions; else 1.
    """
    calls, elements, num_eqns, _ = function.seconds
    return calls + elements * repeats > _COMPILING + _COMPILING_EQUATION * num_eqns


@functools.lru_cache(maxsize=_MAX_FUNCTIONS)
def numpy_function_of(trace: Trace) -> NumpyFunction | None:
    """The traced implementation on NumPy; None if a primitive of JAX's has no rule."""
    try:
        return NumpyFunction(trace)
    except UnsupportedEquation as reason:
        logger.debug("compiled instead of interpreted: %s", reason)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Another release of JAX, whose primitives have other parameters.
        logger.warning("compiled instead of interpreted, which failed: %r", error)
    return None
