"""A law for derived gradients: none goes through a function whose slope at a kink is JAX's.

`primitives/operators/kinks.py` holds the functions to write instead. The law looks at the steps
that an implementation is traced to, as far as they depend on operands that take a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
import pytest

from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.axes import forward_operation
from tests.laws.recording import of_recorded_programs, recorded_programs

pytestmark = of_recorded_programs
# JAX's slope is right here, with the reason.
SMOOTH = "smooth functions of the absolute value, whose derivatives are right with slope 1 at 0"
ALLOWED = {
    "bessel_j0_gradient": SMOOTH,
    "bessel_j1_gradient": SMOOTH,
    "cosh_gradient": SMOOTH,
    "erfcx_gradient": SMOOTH,
    "ndtr": "the absolute value is taken where it is far from 0",
    "sinh_gradient": SMOOTH,
    "spherical_bessel_j0_gradient": SMOOTH,
}


def steps_with_jaxs_slope(jaxpr: Any, depends: Sequence[bool]) -> Iterator[str]:
    """The names of steps whose slope at a kink JAX chooses, of a jaxpr.

    Args:
        jaxpr: with the operands as inputs.
        depends: per input, whether it takes a gradient.
    """
    known = {var for var, dependency in zip(jaxpr.invars, depends, strict=True) if dependency}
    for equation in _differentiated(jaxpr):
        name = equation.primitive.name
        inputs = [not hasattr(invar, "val") and invar in known for invar in equation.invars]
        if not any(inputs):
            continue
        known.update(equation.outvars)
        if _is_jaxs_choice(name, equation.invars[0].aval.dtype, all(inputs)):
            yield name
        elif name in ("jit", "pjit", "scan"):
            yield from steps_with_jaxs_slope(equation.params["jaxpr"].jaxpr, inputs)
        elif name == "cond":
            for branch in equation.params["branches"]:
                yield from steps_with_jaxs_slope(branch.jaxpr, inputs[1:])


def _is_jaxs_choice(name: str, dtype: Any, depends_on_all: bool) -> bool:
    """Return True for a limit, and for the absolute value of real numbers."""
    if name in ("max", "min"):
        return not depends_on_all
    return name == "clamp" or (name == "abs" and dtype.kind == "f")


def _differentiated(jaxpr: Any) -> list[Any]:
    """The steps whose results have a slope and reach an output by steps that have one."""
    needed, found = set(map(id, jaxpr.outvars)), []
    for equation in reversed(jaxpr.eqns):
        outputs = [outvar for outvar in equation.outvars if _is_inexact(outvar.aval)]
        if equation.primitive.name != "stop_gradient" and needed & set(map(id, outputs)):
            found.append(equation)
            needed.update(map(id, equation.invars))
    return found[::-1]


def _is_inexact(aval: Any) -> bool:
    return np.issubdtype(aval.dtype, np.inexact)


def problem_of(operation: Operation) -> str | None:
    """The steps of a derived gradient whose slopes are JAX's."""
    forward = forward_operation(operation)
    arrays = [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in forward.in_specs]
    jaxpr = jax.make_jaxpr(
        lambda *operands: forward.primitive.impl(*operands, **forward.attributes)
    )(*arrays)
    wanted = operation.attributes["argnums"]
    names = steps_with_jaxs_slope(jaxpr.jaxpr, [n in wanted for n in range(len(arrays))])
    found = sorted(set(names))
    return f"`{forward.primitive.name}` is derived through {found}" if found else None


def test_derived_gradients_have_pytorchs_slopes_at_kinks() -> None:
    tried, problems = set(), set()
    for program in recorded_programs():
        for instruction in program.instructions:
            operation = instruction.operation
            source = operation.primitive.vjp_of
            if source is None or source.vjp_of is not None:
                continue
            key = source.name, operation.attributes["argnums"], operation.attributes["attributes"]
            if source.name not in ALLOWED and key not in tried:
                tried.add(key)
                problems.add(problem_of(operation))
    assert len(tried) > 100
    problems.discard(None)
    assert not problems, "write them with `oneflow.primitives.operators.kinks`:\n" + "\n".join(
        sorted(map(str, problems))
    )


@pytest.mark.parametrize("name", ["abs", "clamp", "max"])
def test_the_law_finds_them(name: str) -> None:
    functions = {
        "abs": lambda x, y: jax.numpy.abs(x) + y,
        "clamp": lambda x, y: jax.lax.clamp(0.0, x, 1.0) + y,
        "max": lambda x, y: jax.numpy.maximum(x, 0.0) + y,
    }
    jaxpr = jax.make_jaxpr(functions[name])(1.0, 2.0).jaxpr
    assert list(steps_with_jaxs_slope(jaxpr, [True, False])) == [name]
    assert not list(steps_with_jaxs_slope(jaxpr, [False, True]))
