"""Jaxprs prepared for evaluation: flat, and ready for any numbers in place of symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneflow.interpreter.rules import RULES, UnsupportedEquation, dtype_of
from oneflow.primitives.jax_primitives import IDENTITIES, LINEAR_SOLVE, called_jaxpr
from oneflow.primitives.symbolic_size import SymbolicSize, shape_at
from oneflow.primitives.tracing import linear_solver

# Primitives with rules that evaluate jaxprs among their parameters.
_HIGHER_ORDER = frozenset(("scan", "while", "cond", "reduce_window"))


class ArrayType(NamedTuple):
    """The aval of a variable, as JAX calls it."""

    shape: tuple[Any, ...]
    dtype: np.dtype


class Var(NamedTuple):
    """An operand or a result of an equation."""

    aval: ArrayType


class Equation(NamedTuple):
    """An equation, as rules take it: it has what they need of JAX's."""

    primitive: Any
    params: dict[str, Any]
    invars: list[Var]
    outvars: list[Var]


class JaxprAtSizes(NamedTuple):
    """A jaxpr with the numbers for its symbolic sizes."""

    template: JaxprTemplate
    sizes: Sequence[int]

    def eqns(self) -> list[Equation]:
        """Its equations, flat, one for each step of the template."""
        template, sizes = self
        variables = [Var(ArrayType(shape_at(s, sizes), d)) for s, d in template.types]
        return [
            Equation(
                step.primitive,
                {name: _at_sizes(value, sizes) for name, value in step.params.items()}
                if step.has_sizes
                else step.params,
                [variables[each] for each in step.inputs],
                [variables[each] for each in step.results],
            )
            for step in template.steps
        ]


class TemplateEquation(NamedTuple):
    """An equation with places for its values.

    Attributes:
        primitive: of JAX.
        params: of the equation.
        has_sizes: there are symbolic sizes among these, or jaxprs that may have some.
        inputs: the types of its operands, by number.
        results: the types of its results, by number.
        sources: the slots of its operands.
        target: the slot of its result; several for a primitive with several.
        dead: the slots that nothing needs after it.
    """

    primitive: Any
    params: dict[str, Any]
    has_sizes: bool
    inputs: list[int]
    results: list[int]
    sources: list[int]
    target: int | tuple[int, ...]
    dead: tuple[int, ...] = ()

    def targets(self) -> tuple[int, ...]:
        """The slots of its results."""
        return (self.target,) if isinstance(self.target, int) else self.target


class JaxprTemplate:
    """A jaxpr, which may have symbolic sizes, as a list of steps without calls.

    Every value has a slot; operands have the first ones.

    Attributes:
        types: shapes, maybe symbolic, and dtypes of all values.
        steps: what is computed.
        start: the slots after those of the operands before the first step, with the constants.
        outputs: slots of the results.

    Args:
        closed: the jaxpr with its constants, or one without constants.

    Raises:
        UnsupportedEquation: some primitive has no rule.
    """

    def __init__(self, closed: Any) -> None:
        count = len(getattr(closed, "jaxpr", closed).invars)
        self._slots: list[Any] = [None] * count
        self._literals: dict[tuple, int] = {}
        self._types: dict[tuple, int] = {}
        self.steps: list[TemplateEquation] = []
        self.outputs = self._inline(closed, list(range(count)))
        self.types = list(self._types)
        self.start = self._slots[count:]
        self._choose_steps(count)
        del self._slots, self._literals, self._types

    def _inline(self, closed: Any, operands: Sequence[int]) -> list[int]:
        """Append the steps of a jaxpr; returns where its results are."""
        jaxpr = getattr(closed, "jaxpr", closed)
        consts = getattr(closed, "consts", ())
        scope = dict(zip(jaxpr.invars, operands, strict=True))
        for var, value in zip(jaxpr.constvars, consts, strict=True):
            scope[var] = self._add_slot(np.asarray(value))
        for equation in jaxpr.eqns:
            sources = [self._source(atom, scope) for atom in equation.invars]
            scope.update(zip(equation.outvars, self._add(equation, sources), strict=True))
        return [self._source(atom, scope) for atom in jaxpr.outvars]

    def _add(self, equation: Any, sources: list[int]) -> list[int]:
        """Append the steps of an equation; returns where its results are."""
        name, params = equation.primitive.name, equation.params
        if name in IDENTITIES:
            return sources
        called = called_jaxpr(name, params)
        if called is not None:
            return self._inline(called, sources)
        if name == LINEAR_SOLVE:
            return self._inline(*linear_solver(params, sources))
        if name not in RULES:
            raise UnsupportedEquation(f"`{name}` of JAX has no rule")
        if name in _HIGHER_ORDER:
            params = {key: _with_templates(value) for key, value in params.items()}
        targets = [self._add_slot(None) for _ in equation.outvars]
        self.steps.append(
            TemplateEquation(
                equation.primitive,
                params,
                name in _HIGHER_ORDER or any(map(_has_sizes, params.values())),
                [self._type(atom) for atom in equation.invars],
                [self._type(atom) for atom in equation.outvars],
                sources,
                tuple(targets) if equation.primitive.multiple_results else targets[0],
            )
        )
        return targets

    def _type(self, atom: Any) -> int:
        """The number of the type of a variable or literal."""
        shape = getattr(atom.aval, "shape", None)
        if shape is None:
            raise UnsupportedEquation(f"{atom.aval} is not an array")
        return self._types.setdefault((tuple(shape), dtype_of(atom)), len(self._types))

    def _source(self, atom: Any, scope: dict[Any, int]) -> int:
        """The slot of a variable or literal."""
        if not hasattr(atom, "val"):
            return scope[atom]
        dtype = dtype_of(atom)
        key = dtype, np.asarray(atom.val).tobytes(), tuple(atom.aval.shape)
        if key not in self._literals:
            self._literals[key] = self._add_slot(np.asarray(atom.val, dtype))
        return self._literals[key]

    def _add_slot(self, value: Any) -> int:
        self._slots.append(value)
        return len(self._slots) - 1

    def _choose_steps(self, count: int) -> None:
        """Leave out steps of no use, and find what nothing needs after each."""
        wanted, chosen = set(self.outputs), []
        for step in reversed(self.steps):
            if wanted.isdisjoint(step.targets()):
                continue
            unused = {each for each in (*step.sources, *step.targets()) if each not in wanted}
            wanted.update(step.sources)
            chosen.append((step, unused))
        # Constants stay for the next call.
        defined = {*range(count), *(each for step in self.steps for each in step.targets())}
        self.steps = [
            step._replace(dead=tuple(sorted(unused & defined))) for step, unused in chosen[::-1]
        ]


def _with_templates(value: Any) -> Any:
    """A parameter with templates in place of jaxprs."""
    if type(value) in (tuple, list):
        return tuple(map(_with_templates, value))
    return JaxprTemplate(value) if hasattr(getattr(value, "jaxpr", value), "eqns") else value


def _has_sizes(value: Any) -> bool:
    """Return True if there are symbolic sizes in a parameter."""
    if type(value) in (tuple, list):
        return any(map(_has_sizes, value))
    return type(value) is SymbolicSize


def _at_sizes(value: Any, sizes: Sequence[int]) -> Any:
    """A parameter with numbers in place of symbolic sizes."""
    if type(value) is SymbolicSize:
        return sizes[value.number]
    if type(value) in (tuple, list):
        return type(value)([_at_sizes(each, sizes) for each in value])
    return JaxprAtSizes(value, sizes) if type(value) is JaxprTemplate else value
