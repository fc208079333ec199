"""Jaxprs with numbers in place of symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.primitives.symbolic_size import SymbolicSize


class _Aval:
    """The shape and dtype of an atom."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype


class _Variable:
    """A variable of a jaxpr."""

    __slots__ = ("aval",)

    def __init__(self, aval: _Aval) -> None:
        self.aval = aval


class _Equation:
    """An equation of a jaxpr."""

    __slots__ = ("invars", "outvars", "params", "primitive")

    def __init__(
        self, primitive: Any, params: dict[str, Any], invars: list[Any], outvars: list[Any]
    ) -> None:
        self.primitive = primitive
        self.params = params
        self.invars = invars
        self.outvars = outvars


class JaxprAtSizes:
    """A jaxpr, closed or not, with numbers in place of symbolic sizes.

    It has what reads jaxprs asks for: equations with parameters and variables with shapes.

    Args:
        given: the jaxpr.
        values: the number for each symbolic size.
    """

    def __init__(self, given: Any, values: Sequence[int]) -> None:
        jaxpr = getattr(given, "jaxpr", given)
        self._values = values
        self._atoms: dict[Any, _Variable] = {}
        self.consts = getattr(given, "consts", ())
        self.constvars = [self._atom(each) for each in jaxpr.constvars]
        self.invars = [self._atom(each) for each in jaxpr.invars]
        self.eqns = [self._equation(each) for each in jaxpr.eqns]
        self.outvars = [self._atom(each) for each in jaxpr.outvars]
        del self._atoms

    @property
    def jaxpr(self) -> JaxprAtSizes:
        """The equations."""
        return self

    def _equation(self, equation: Any) -> _Equation:
        params = {name: self._parameter(value) for name, value in equation.params.items()}
        invars = [self._atom(each) for each in equation.invars]
        outvars = [self._atom(each) for each in equation.outvars]
        return _Equation(equation.primitive, params, invars, outvars)

    def _parameter(self, value: Any) -> Any:
        if type(value) is SymbolicSize:
            return self._values[value.number]
        if type(value) in (tuple, list):
            return type(value)([self._parameter(each) for each in value])
        return JaxprAtSizes(value, self._values) if hasattr(value, "eqns") else value

    def _atom(self, atom: Any) -> Any:
        if hasattr(atom, "val"):
            return atom
        found = self._atoms.get(atom)
        if found is None:
            aval = atom.aval
            shape = shape_at(aval.shape, self._values)
            found = self._atoms[atom] = _Variable(_Aval(shape, aval.dtype))
        return found


def shape_at(shape: Sequence[Any], values: Sequence[int]) -> tuple[int, ...]:
    """The shape with numbers in place of symbolic sizes."""
    return tuple([values[each.number] if type(each) is SymbolicSize else each for each in shape])
