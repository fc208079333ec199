"""`Formula`: values that are written with Python's operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.loops import repeat
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim, Shape, combine

BOOL = np.dtype(bool)


@dataclass(frozen=True, eq=False)
class Formula:
    """A value of the graph; arithmetic with it appends nodes.

    Attributes:
        b: the builder.
        ref: the value.
    """

    b: OnnxBuilder
    ref: Ref

    @property
    def shape(self) -> Shape:
        """Its sizes."""
        return self.ref.shape

    def apply(self, name: str, *others: Formula | float, dtype: np.dtype | None = None) -> Formula:
        """The result of an operator on this value and others."""
        inputs = [self.ref, *(self._like(other) for other in others)]
        return Formula(self.b, self.b.op(name, *inputs, dtype=dtype))

    def _like(self, other: Formula | float) -> Ref:
        if isinstance(other, Formula):
            return other.ref
        return self.b.constant(np.asarray(other), self.ref.dtype)

    def _with(self, name: str, number: float) -> Formula:
        return Formula(self.b, self.b.op(name, self._like(number), self.ref))

    def __add__(self, other: Formula | float) -> Formula:
        return self.apply("Add", other)

    def __radd__(self, number: float) -> Formula:
        return self.apply("Add", number)

    def __sub__(self, other: Formula | float) -> Formula:
        return self.apply("Sub", other)

    def __rsub__(self, number: float) -> Formula:
        return self._with("Sub", number)

    def __mul__(self, other: Formula | float) -> Formula:
        return self.apply("Mul", other)

    def __rmul__(self, number: float) -> Formula:
        return self.apply("Mul", number)

    def __truediv__(self, other: Formula | float) -> Formula:
        return self.apply("Div", other)

    def __rtruediv__(self, number: float) -> Formula:
        return self._with("Div", number)

    def __neg__(self) -> Formula:
        return self.apply("Neg")

    def __pow__(self, exponent: Formula | float) -> Formula:
        return self.apply("Pow", exponent)

    def __lt__(self, other: Formula | float) -> Formula:
        return self.apply("Less", other, dtype=BOOL)

    def __gt__(self, other: Formula | float) -> Formula:
        return self.apply("Greater", other, dtype=BOOL)

    def __and__(self, other: Formula) -> Formula:
        return self.apply("And", other)

    def __or__(self, other: Formula) -> Formula:
        return self.apply("Or", other)

    def __matmul__(self, other: Formula) -> Formula:
        return Formula(self.b, o.matmul(self.b, self.ref, other.ref))

    def equals(self, other: Formula | float) -> Formula:
        """True where both are equal."""
        return self.apply("Equal", other, dtype=BOOL)

    def log(self) -> Formula:
        """The natural logarithm."""
        return self.apply("Log")

    def exp(self) -> Formula:
        """The exponential."""
        return self.apply("Exp")

    def abs(self) -> Formula:
        """The absolute value."""
        return self.apply("Abs")

    def sqrt(self) -> Formula:
        """The square root."""
        return self.apply("Sqrt")

    def reduced(self, name: str, *dims: int) -> Formula:
        """A reduction, such as ``ReduceSum``, over dimensions counted from the end; they stay."""
        places = [self.ref.rank + dim for dim in dims]
        return Formula(self.b, o.reduce(self.b, name, self.ref, places))

    def at(self, place: Formula, dim: int) -> Formula:
        """The part at a place along a dimension counted from the end, which stays, with size 1."""
        return Formula(self.b, o.gather(self.b, self.ref, place.ref, self.ref.rank + dim))

    def part(self, start: Dim, end: Dim, dim: int) -> Formula:
        """The part from `start` up to `end` along a dimension counted from the end."""
        place, size = self.ref.rank + dim, combine(end, start, operator.sub)
        return Formula(self.b, o.slice_(self.b, self.ref, [place], [start], [size]))

    def expanded(self, *shape: Dim) -> Formula:
        """The value broadcast to a shape."""
        return Formula(self.b, o.expand(self.b, self.ref, shape))

    @property
    def transposed(self) -> Formula:
        """The matrices with rows and columns exchanged."""
        *batch, rows, columns = range(self.ref.rank)
        return Formula(self.b, o.transpose(self.b, self.ref, [*batch, columns, rows]))

    def where(self, value_if_true: Formula | float, other: Formula | float) -> Formula:
        """`value_if_true` where this holds, else `other`; one of them is a value."""
        value = value_if_true if isinstance(value_if_true, Formula) else other
        assert isinstance(value, Formula)
        return Formula(
            self.b, o.where(self.b, self.ref, value._like(value_if_true), value._like(other))
        )

    def polynomial(self, coefficients: Sequence[float]) -> Formula:
        """The polynomial with these coefficients, the highest first, by Horner's rule."""
        total = self * coefficients[0]
        for number in coefficients[1:-1]:
            total = (total + number) * self
        return total + coefficients[-1]


def positions(b: OnnxBuilder, count: Dim) -> Formula:
    """The numbers from 0 to ``count - 1``, int64."""
    return Formula(b, o.positions(b, count))


def last_position(b: OnnxBuilder, count: Dim) -> Formula:
    """The number ``count - 1``, int64."""
    return Formula(b, b.number(count)) - 1


def row_numbers(b: OnnxBuilder, count: Dim) -> Formula:
    """The numbers of rows, as a column: [count, 1]."""
    return Formula(b, o.unsqueeze(b, positions(b, count).ref, [1]))


def identity(like: Formula, columns: Dim) -> Formula:
    """The first columns of the identity, with as many rows as others: [..., rows, columns]."""
    b, (*batch, rows, _) = like.b, like.shape
    diagonal = row_numbers(b, rows).equals(positions(b, columns))
    ones = Formula(b, b.cast(diagonal.ref, like.ref.dtype))
    return ones.expanded(*batch, rows, columns)


def scale_of(a: Formula) -> Formula:
    """The power of 2 below the largest element of each matrix: [..., 1, 1].

    Squares of elements divided by it do not overflow.
    """
    largest = a.abs().reduced("ReduceMax", -2, -1)
    exponent = (largest.equals(0).where(1, largest).log() / math.log(2)).apply("Floor")
    return Formula(a.b, a.b.constant(2, a.ref.dtype)) ** exponent


def repeated(
    count: Dim,
    start: Sequence[Formula],
    step: Callable[[Formula, list[Formula]], Sequence[Formula]],
) -> list[Formula]:
    """Values after `count` steps, each from its number, of shape [1], and the values before it."""
    b = start[0].b

    def advance(number: Ref, values: list[Ref]) -> list[Ref]:
        place = Formula(b, o.reshape(b, number, (1,)))
        return [formula.ref for formula in step(place, [Formula(b, value) for value in values])]

    return [
        Formula(b, ref) for ref in repeat(b, count, [formula.ref for formula in start], advance)
    ]


def atan2(b: OnnxBuilder, y: Ref, x: Ref) -> Ref:
    """The angle of the point (x, y), from -pi to pi."""
    zero, pi = b.constant(0, x.dtype), b.constant(math.pi, x.dtype)
    at_zero = b.op("Equal", x, zero, dtype=BOOL)
    ratio = b.op("Div", y, o.where(b, at_zero, b.constant(1, x.dtype), x))
    angle = b.op("Atan", ratio)
    negative = b.op("Less", y, zero, dtype=BOOL)
    shifted = b.op("Add", angle, o.where(b, negative, b.op("Neg", pi), pi))
    angle = o.where(b, b.op("Less", x, zero, dtype=BOOL), shifted, angle)
    vertical = b.op("Mul", b.op("Sign", y), b.constant(math.pi / 2, x.dtype))
    return o.where(b, at_zero, vertical, angle)
