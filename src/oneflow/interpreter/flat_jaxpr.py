"""A jaxpr as a flat list of NumPy calls."""

from __future__ import annotations

from typing import Any

from oneflow.interpreter.cost import Seconds, estimate
from oneflow.interpreter.jaxpr_template import JaxprAtSizes, JaxprTemplate
from oneflow.interpreter.rules import RULES


class FlatJaxpr:
    """A jaxpr as a function of NumPy arrays.

    Calls within it are inlined. Operands are never written to; results can be views of them.
    Floating point errors are NumPy's to report: call it within ``np.errstate(all="ignore")``.

    Attributes:
        seconds: an estimate of the time that it takes.

    Args:
        jaxpr: one of JAX's without symbolic sizes, or one with the numbers for them.

    Raises:
        UnsupportedEquation: some primitive has no rule.
    """

    __slots__ = ("_functions", "_template", "seconds")

    def __init__(self, jaxpr: Any) -> None:
        given = jaxpr if type(jaxpr) is JaxprAtSizes else JaxprAtSizes(JaxprTemplate(jaxpr), ())
        eqns = given.eqns()
        self._template = given.template
        self._functions = [RULES[each.primitive.name](each) for each in eqns]
        self.seconds: Seconds = estimate(eqns)

    def __call__(self, *operands: Any) -> list[Any]:
        """The results of the jaxpr."""
        slots = [*operands, *self._template.start]
        for function, step in zip(self._functions, self._template.steps, strict=True):
            results = function(*[slots[each] for each in step.sources])
            if isinstance(step.target, int):
                slots[step.target] = results
            else:
                for place, result in zip(step.target, results, strict=True):
                    slots[place] = result
            for place in step.dead:
                slots[place] = None
        return [slots[place] for place in self._template.outputs]
