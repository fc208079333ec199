"""Rules of the interpreter: what the package's operators trace to runs without a compiler.

What is missing is listed below with the reason, so that nothing starts to compile unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oneflow.interpreter.rules import RULES
from oneflow.primitives.inference import abstract_operands
from oneflow.primitives.jax_primitives import CALLS, IDENTITIES, LINEAR_SOLVE
from oneflow.primitives.trace import sub_jaxprs, trace
from tests.laws.recording import of_recorded_programs, recorded_programs

pytestmark = of_recorded_programs

# Primitives of JAX without a rule, by the reason.
WITHOUT_RULE = {
    name: reason
    for reason, names in {
        "LAPACK gives complex vectors of real matrices as pairs of real ones": "eig",
        "comes with a decomposition": "empty2",
        "SciPy has no such derivative": "igamma_grad_a",
        "SciPy's values are others at poles, infinities and large orders": "polygamma zeta",
        "NumPy has no products of groups of rows": "ragged_dot_general",
        "is part of the gradient of maxima of large windows": "select_and_scatter_add",
    }.items()
    for name in names.split()
}
# Operations of one primitive that are traced.
_MAX_OPERATIONS = 2


def primitives_of(jaxpr: Any) -> Iterator[str]:
    """The names of JAX's primitives in a jaxpr and in all that it holds."""
    for equation in jaxpr.eqns:
        if equation.primitive.name not in CALLS:
            yield equation.primitive.name
        for inner in sub_jaxprs(equation):
            yield from primitives_of(inner)


def traced_primitives() -> set[str]:
    """The names of JAX's primitives that the recorded operations trace to."""
    found: set[str] = set()
    counts: dict[str, int] = {}
    for program in recorded_programs():
        for instruction in program.instructions:
            operation = instruction.operation
            name = operation.primitive.name
            counts[name] = counts.get(name, 0) + 1
            if counts[name] > _MAX_OPERATIONS:
                continue
            function = operation.primitive.implementation("cpu")
            found_trace = trace(
                lambda *arrays: function(*arrays, **operation.attributes),  # noqa: B023
                abstract_operands(operation.in_specs),
            )
            found.update(primitives_of(found_trace.jaxpr))
    return found


def test_primitives_without_a_rule_are_explained() -> None:
    known = RULES.keys() | IDENTITIES | {LINEAR_SOLVE}
    assert traced_primitives() - known == WITHOUT_RULE.keys()
