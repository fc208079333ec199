"""Sizes that a trace may depend on: one trace then serves every shape for which it would be equal.

An implementation is traced with symbolic sizes in place of numbers. Each knows its number, so that
Python code and JAX can compute and compare with it as they do with numbers; what is computed is
noted as an expression, and the outcome of every comparison as a guard. For other sizes the trace is
the same if all guards hold, with the expressions evaluated anew. Code that needs the number itself,
such as `range`, raises `TypeError`: then there is no such trace.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import numpy as np
from jax import core, lax

from oneflow.base.x64 import has_x64

_Binary = Callable[[int, int], Any]


class ShapeEnvironment:
    """The sizes of one trace: those given, constants, and all that was computed from them.

    JAX keeps shapes in hash tables, and so compares sizes and numbers of any traces, on any thread.
    So no symbolic size is ever equal to a number: 0 and 1 are numbers, and a size that turns out
    to be equal to another number, where somebody asks, is a number in the next attempt to trace.
    Two sizes may be equal, but only during their trace.

    Attributes:
        needed: positions of given sizes that must be numbers.

    Args:
        sizes: the numbers that the trace is made with.
        fixed: positions of those that stay numbers.
    """

    def __init__(self, sizes: Sequence[int], fixed: Set[int] = frozenset()) -> None:
        self.needed: set[int] = set()
        self._fixed = fixed
        self._num_sizes = len(sizes)
        self._values = list(sizes)
        # The origin of each value after the given ones: a function of two others, or a constant.
        self._steps: list[tuple[_Binary | None, int, int]] = []
        self._numbers_by_step: dict[tuple[_Binary | None, int, int], int] = {}
        self._guards: dict[tuple[_Binary, int, int], bool] = {}
        self._thread: int | None = None

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """Let this thread compare sizes by their numbers."""
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = None

    def is_tracing(self) -> bool:
        """Return True on the thread of the trace, while it goes on."""
        return self._thread == threading.get_ident()

    def symbols(self) -> list[Any]:
        """The given sizes: symbolic, or numbers."""
        return [
            self._values[number] if number in self._fixed else SymbolicSize(self, number)
            for number in range(self._num_sizes)
        ]

    @property
    def sizes(self) -> list[int]:
        """The numbers that the trace is made with, of the given sizes."""
        return self._values[: self._num_sizes]

    def value(self, number: int) -> int:
        """The value that the trace is made with."""
        return self._values[number]

    def computed(self, function: _Binary, x: int, y: int) -> SymbolicSize | int:
        """The size that a function gives for two sizes; as a number if it is 0 or 1."""
        step = function, x, y
        if step not in self._numbers_by_step:
            self._values.append(function(self._values[x], self._values[y]))
            self._steps.append(step)
            self._numbers_by_step[step] = len(self._values) - 1
        number = self._numbers_by_step[step]
        value = self._values[number]
        if value not in (0, 1):
            return SymbolicSize(self, number)
        self.compare(operator.eq, number, self.constant(value))
        return value

    def constant(self, value: int) -> int:
        """The number of a constant among the sizes."""
        step = None, value, 0
        if step not in self._numbers_by_step:
            self._values.append(value)
            self._steps.append(step)
            self._numbers_by_step[step] = len(self._values) - 1
        return self._numbers_by_step[step]

    def compare(self, function: _Binary, x: int, y: int) -> bool:
        """The outcome of a comparison of two sizes, on which the trace depends from now on."""
        result = bool(function(self._values[x], self._values[y]))
        self._guards[function, x, y] = result
        return result

    def require_number(self, number: int) -> None:
        """Require that a size, and all sizes that it was computed from, be numbers.

        Raises:
            TypeError: always.
        """
        self._note_needed(number)
        raise TypeError(f"size {number} is compared with its number")

    def _note_needed(self, number: int) -> None:
        if number < self._num_sizes:
            self.needed.add(number)
            return
        function, x, y = self._steps[number - self._num_sizes]
        if function is not None:
            self._note_needed(x)
            self._note_needed(y)

    def evaluate(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        """All sizes for other given ones; None if the trace would be another."""
        if any(sizes[number] != self._values[number] for number in self._fixed):
            return None
        values = list(sizes)
        try:
            for function, x, y in self._steps:
                values.append(x if function is None else function(values[x], values[y]))
        except ZeroDivisionError:
            return None
        for (function, x, y), result in self._guards.items():
            if function(values[x], values[y]) is not result:
                return None
        return tuple(values)


def _arithmetic(function: _Binary) -> Callable[[SymbolicSize, Any], Any]:
    """A method that computes a size from two."""

    def method(self: SymbolicSize, other: Any) -> Any:
        number = self.number_of(other)
        if number is None:
            return NotImplemented
        return self.environment.computed(function, self.number, number)

    return method


def _reversed_arithmetic(function: _Binary) -> Callable[[SymbolicSize, Any], Any]:
    """A method that computes a size from two; this one is the second operand."""

    def method(self: SymbolicSize, other: Any) -> Any:
        number = self.number_of(other)
        if number is None:
            return NotImplemented
        return self.environment.computed(function, number, self.number)

    return method


def _comparison(function: _Binary) -> Callable[[SymbolicSize, Any], Any]:
    """A method that compares two sizes."""

    def method(self: SymbolicSize, other: Any) -> Any:
        number = self.number_of(other)
        if number is None or not self.environment.is_tracing():
            return NotImplemented
        return self.environment.compare(function, self.number, number)

    return method


class SymbolicSize:
    """A size of a trace. JAX takes it for a symbolic dimension.

    Attributes:
        environment: the sizes that it belongs to.
        number: the number of this one among them.
    """

    __slots__ = ("_hash", "environment", "number")
    # So that arrays of NumPy's leave arithmetic to it.
    __array_ufunc__ = None
    # Facts about the array that it stands for in arithmetic with arrays.
    dtype, shape, weak_type = np.dtype(np.int64), (), True

    def __init__(self, environment: ShapeEnvironment, number: int) -> None:
        self.environment = environment
        self.number = number
        # Equal sizes have one hash, so that sets and dictionaries compare them; but not that of
        # their number, for which JAX may have cached a trace with numbers.
        self._hash = hash((id(environment), environment.value(number)))

    def __repr__(self) -> str:
        return f"s{self.number}"

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return self != 0

    def __eq__(self, other: Any) -> bool:
        if not self.environment.is_tracing():
            return (
                type(other) is SymbolicSize
                and other.environment is self.environment
                and other.number == self.number
            )
        number = self.number_of(other)
        if number is None:
            return False
        is_equal = self.environment.compare(operator.eq, self.number, number)
        if is_equal and type(other) is not SymbolicSize:
            self.environment.require_number(self.number)
        return is_equal

    def number_of(self, other: Any) -> int | None:
        """The number of another size or integer in the same environment; None if it has none."""
        if type(other) is SymbolicSize:
            return other.number if other.environment is self.environment else None
        if isinstance(other, int | np.integer):
            return self.environment.constant(int(other))
        return None

    __add__ = _arithmetic(operator.add)
    __sub__ = _arithmetic(operator.sub)
    __mul__ = _arithmetic(operator.mul)
    __floordiv__ = _arithmetic(operator.floordiv)
    __mod__ = _arithmetic(operator.mod)
    __radd__ = _reversed_arithmetic(operator.add)
    __rsub__ = _reversed_arithmetic(operator.sub)
    __rmul__ = _reversed_arithmetic(operator.mul)
    __rfloordiv__ = _reversed_arithmetic(operator.floordiv)
    __rmod__ = _reversed_arithmetic(operator.mod)
    rmin, rmax = _reversed_arithmetic(min), _reversed_arithmetic(max)
    min, max = _arithmetic(min), _arithmetic(max)
    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)

    def __neg__(self) -> SymbolicSize | int:
        return 0 - self

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return self.__jax_array__() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.__jax_array__()

    def dimension_as_value(self) -> Any:
        """The size as an array of the trace, which has the type of a Python number."""
        return size_value_p.bind(size=self, dtype=None)

    def as_array(self, dtype: np.dtype) -> Any:
        """The size as an array of the trace of a dtype."""
        return size_value_p.bind(size=self, dtype=dtype)

    __jax_array__ = dimension_as_value


size_value_p: Any = type(lax.add_p)("size_value")


@size_value_p.def_abstract_eval
def _size_value_type(*, size: SymbolicSize, dtype: np.dtype | None) -> Any:
    if dtype is not None:
        return core.ShapedArray((), dtype, weak_type=False)
    # Functions of users may be traced without types of 64 bits.
    integer = np.dtype(np.int64 if has_x64() else np.int32)
    return core.ShapedArray((), integer, weak_type=True)


def specialized(size: Any) -> int:
    """The number of a size, or of a number itself.

    A trace that asks for it holds only for those sizes that give the same number. So it should be
    one of few: how far a stride is from dividing a size, but not the size.
    """
    if type(size) is not SymbolicSize:
        return operator.index(size)
    value = size.environment.value(size.number)
    size.environment.compare(operator.eq, size.number, size.environment.constant(value))
    return value


def shape_at(shape: Sequence[Any], sizes: Sequence[int]) -> tuple[int, ...]:
    """The shape with numbers in place of symbolic sizes.

    Args:
        shape: symbolic sizes and numbers.
        sizes: the numbers of all sizes of an environment.
    """
    return tuple([sizes[size.number] if type(size) is SymbolicSize else size for size in shape])
