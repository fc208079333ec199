"""Jaxprs as flat lists of equations, ready for any numbers in place of symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from oneflow.interpreter.rules import RULES, ArrayType, UnsupportedEquation
from oneflow.primitives.jax_primitives import IDENTITIES, LINEAR_SOLVE, called_jaxpr
from oneflow.primitives.symbolic_size import SymbolicSize, shape_at
from oneflow.primitives.trace import Trace, linear_solver

# Primitives with rules that evaluate jaxprs among their parameters.
_HIGHER_ORDER = frozenset(("scan", "while", "cond", "reduce_window"))


class FlatEquation(NamedTuple):
    """An equation of JAX's with places for its values: the argument of rules.

    Attributes:
        primitive: a primitive of JAX.
        params: the parameters of the equation.
        invars: the types of its operands.
        outvars: the types of its results.
        sources: the slots of its operands.
        target: the slot of its result; several for a primitive with several.
        has_sizes: among its parameters are symbolic sizes, or jaxprs.
        dead: the slots that nothing needs after it.
    """

    primitive: Any
    params: dict[str, Any]
    invars: list[ArrayType]
    outvars: list[ArrayType]
    sources: list[int]
    target: int | tuple[int, ...]
    has_sizes: bool
    dead: tuple[int, ...] = ()

    def targets(self) -> tuple[int, ...]:
        """The slots of its results."""
        return (self.target,) if isinstance(self.target, int) else self.target


class FlatJaxpr:
    """A jaxpr, which may have symbolic sizes, as a list of equations without calls.

    Every value has a slot; operands have the first ones.

    Attributes:
        equations: what is computed.
        start: the slots after those of the operands before the first equation, with the constants.
        outputs: slots of the results.

    Args:
        jaxpr: the jaxpr.
        consts: its constants.

    Raises:
        UnsupportedEquation: some primitive has no rule.
    """

    def __init__(self, jaxpr: Any, consts: Sequence[Any]) -> None:
        count = len(jaxpr.invars)
        self._slots: list[Any] = [None] * count
        self._literals: dict[tuple, int] = {}
        self._types: dict[ArrayType, ArrayType] = {}
        self.equations: list[FlatEquation] = []
        self.outputs = self._inline(jaxpr, consts, list(range(count)))
        self.start = self._slots[count:]
        self._drop_unused(count)
        del self._slots, self._literals

    def at(self, sizes: Sequence[int]) -> list[FlatEquation]:
        """The equations, with numbers in place of symbolic sizes."""
        types = {
            id(array_type): (shape_at(array_type[0], sizes), array_type[1])
            for array_type in self._types
        }
        return [
            equation._replace(
                params={name: _at_sizes(value, sizes) for name, value in equation.params.items()}
                if equation.has_sizes
                else equation.params,
                invars=[types[id(operand)] for operand in equation.invars],
                outvars=[types[id(result)] for result in equation.outvars],
            )
            for equation in self.equations
        ]

    def _inline(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[int]) -> list[int]:
        """Append the equations of a jaxpr; returns where its results are."""
        scope = dict(zip(jaxpr.invars, operands, strict=True))
        for var, value in zip(jaxpr.constvars, consts, strict=True):
            scope[var] = self._add_slot(np.asarray(value))
        for equation in jaxpr.eqns:
            sources = [self._source(atom, scope) for atom in equation.invars]
            scope.update(zip(equation.outvars, self._add(equation, sources), strict=True))
        return [self._source(atom, scope) for atom in jaxpr.outvars]

    def _add(self, equation: Any, sources: list[int]) -> list[int]:
        """Append an equation, or the equations that it calls; returns the places of its results."""
        name, params = equation.primitive.name, equation.params
        if name in IDENTITIES:
            return sources
        called, operands = called_jaxpr(name, params), sources
        if name == LINEAR_SOLVE:
            called, operands = linear_solver(params, sources)
        if called is not None:
            return self._inline(*_open_jaxpr(called), operands)
        if name not in RULES:
            raise UnsupportedEquation(f"`{name}` of JAX has no rule")
        targets = [self._add_slot(None) for _ in equation.outvars]
        self.equations.append(
            FlatEquation(
                equation.primitive,
                params,
                [self._type(atom) for atom in equation.invars],
                [self._type(atom) for atom in equation.outvars],
                sources,
                tuple(targets) if equation.primitive.multiple_results else targets[0],
                name in _HIGHER_ORDER or any(map(_has_sizes, params.values())),
            )
        )
        return targets

    def _type(self, atom: Any) -> ArrayType:
        """The type of a variable or literal; the same object for equal ones."""
        new = _type_of(atom)
        return self._types.setdefault(new, new)

    def _source(self, atom: Any, scope: dict[Any, int]) -> int:
        """The slot of a variable or literal."""
        if not hasattr(atom, "val"):
            return scope[atom]
        shape, dtype = _type_of(atom)
        key = dtype, np.asarray(atom.val).tobytes(), shape
        if key not in self._literals:
            self._literals[key] = self._add_slot(np.asarray(atom.val, dtype))
        return self._literals[key]

    def _add_slot(self, value: Any) -> int:
        self._slots.append(value)
        return len(self._slots) - 1

    def _drop_unused(self, count: int) -> None:
        """Leave out equations of no use, and find what nothing needs after each."""
        needed, equations = set(self.outputs), []
        for equation in reversed(self.equations):
            targets = equation.targets()
            if needed.isdisjoint(targets):
                continue
            unused = {slot for slot in (*equation.sources, *targets) if slot not in needed}
            needed.update(equation.sources)
            equations.append((equation, unused))
        # Constants stay for the next call.
        defined = {
            *range(count),
            *(slot for equation in self.equations for slot in equation.targets()),
        }
        self.equations = [
            equation._replace(dead=tuple(sorted(unused & defined)))
            for equation, unused in equations[::-1]
        ]


_flat: WeakKeyDictionary[Any, FlatJaxpr] = WeakKeyDictionary()


def flat_jaxpr_of(trace: Trace) -> FlatJaxpr:
    """The flat jaxpr of a trace, made once for all sizes.

    Raises:
        UnsupportedEquation: some primitive has no rule.
    """
    flat = _flat.get(trace.jaxpr)
    if flat is None:
        flat = _flat[trace.jaxpr] = FlatJaxpr(trace.jaxpr, trace.consts)
    return flat


def equations_of(trace: Trace) -> list[FlatEquation]:
    """The equations of a trace, flat and in numbers."""
    return flat_jaxpr_of(trace).at(trace.sizes)


def _type_of(atom: Any) -> ArrayType:
    """The type of a variable or literal of JAX's."""
    shape, dtype = getattr(atom.aval, "shape", None), getattr(atom.aval, "dtype", None)
    if shape is None or not isinstance(dtype, np.dtype):
        raise UnsupportedEquation(f"{atom.aval} is no array of NumPy's")
    return tuple(shape), dtype


def _open_jaxpr(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """A jaxpr and its constants, closed over them or without any."""
    return getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ())


def _has_sizes(value: Any) -> bool:
    """Return True if there are symbolic sizes in a parameter."""
    if type(value) in (tuple, list):
        return any(map(_has_sizes, value))
    return type(value) is SymbolicSize


def _at_sizes(value: Any, sizes: Sequence[int]) -> Any:
    """A parameter with numbers in place of symbolic sizes, and traces in place of jaxprs."""
    if type(value) is SymbolicSize:
        return sizes[value.number]
    if type(value) in (tuple, list):
        return type(value)([_at_sizes(item, sizes) for item in value])
    jaxpr, consts = _open_jaxpr(value)
    return Trace(jaxpr, consts, sizes=sizes) if hasattr(jaxpr, "eqns") else value
