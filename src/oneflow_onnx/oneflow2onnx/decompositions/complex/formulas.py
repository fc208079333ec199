"""`ComplexFormula`: complex values that are written with Python's operators."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.complex_numbers import joined, parts
from oneflow_onnx.oneflow2onnx.formulas import Formula, atan2
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import broadcast_shapes


@dataclass(frozen=True, eq=False)
class ComplexFormula:
    """A complex value of the graph; arithmetic with it appends nodes.

    Attributes:
        re: its real parts.
        im: its imaginary parts.
    """

    re: Formula
    im: Formula

    @classmethod
    def of(cls, b: OnnxBuilder, x: Ref, is_complex: bool) -> ComplexFormula:
        """The formula of a value: pairs for complex numbers, or real numbers."""
        re, im = parts(b, x) if is_complex else (x, o.filled(b, x.shape, 0, x.dtype))
        return cls(Formula(b, re), Formula(b, im))

    @property
    def pairs(self) -> Ref:
        """The value as pairs."""
        shape = broadcast_shapes([self.re.shape, self.im.shape])
        return joined(self.re.b, self.re.ref, self.im.ref, shape)

    def __add__(self, other: ComplexFormula) -> ComplexFormula:
        return ComplexFormula(self.re + other.re, self.im + other.im)

    def __sub__(self, other: ComplexFormula) -> ComplexFormula:
        return ComplexFormula(self.re - other.re, self.im - other.im)

    def __neg__(self) -> ComplexFormula:
        return ComplexFormula(-self.re, -self.im)

    def __mul__(self, other: ComplexFormula) -> ComplexFormula:
        re = self.re * other.re - self.im * other.im
        return ComplexFormula(re, self.re * other.im + self.im * other.re)

    def __truediv__(self, other: ComplexFormula) -> ComplexFormula:
        return (self * other.conjugate).scaled(1 / other.square)

    def __matmul__(self, other: ComplexFormula) -> ComplexFormula:
        re = self.re @ other.re - self.im @ other.im
        return ComplexFormula(re, self.re @ other.im + self.im @ other.re)

    def scaled(self, factor: Formula | float) -> ComplexFormula:
        """The product with a real number."""
        return ComplexFormula(self.re * factor, self.im * factor)

    def plus(self, number: float) -> ComplexFormula:
        """The sum with a real number."""
        return ComplexFormula(self.re + number, self.im)

    @property
    def conjugate(self) -> ComplexFormula:
        """The complex conjugate."""
        return ComplexFormula(self.re, -self.im)

    @property
    def adjoint(self) -> ComplexFormula:
        """The conjugates of the matrices, with rows and columns exchanged."""
        return ComplexFormula(self.re.transposed, -self.im.transposed)

    @property
    def square(self) -> Formula:
        """The square of the absolute value."""
        return self.re * self.re + self.im * self.im

    def abs(self) -> Formula:
        """The absolute value."""
        return self.square.sqrt()

    def sqrt(self) -> ComplexFormula:
        """The square root with a real part that is not negative."""
        part = ((self.re.abs() + self.abs()) * 0.5).sqrt()
        other = self.im / (2 * part.equals(0).where(1, part))
        right = self.re > 0
        side = (self.im < 0).where(-part, part)
        return ComplexFormula(right.where(part, other.abs()), right.where(other, side))

    def exp(self) -> ComplexFormula:
        """The exponential."""
        length = self.re.exp()
        return ComplexFormula(length * self.im.apply("Cos"), length * self.im.apply("Sin"))

    def log(self) -> ComplexFormula:
        """The logarithm whose imaginary part is from -pi to pi."""
        b = self.re.b
        return ComplexFormula(self.abs().log(), Formula(b, atan2(b, self.im.ref, self.re.ref)))

    def at(self, place: Formula, dim: int) -> ComplexFormula:
        """The part at a place along a dimension counted from the end, which stays, with size 1."""
        return ComplexFormula(self.re.at(place, dim), self.im.at(place, dim))

    def reduced(self, name: str, *dims: int) -> ComplexFormula:
        """A reduction of both parts over dimensions counted from the end; they stay."""
        return ComplexFormula(self.re.reduced(name, *dims), self.im.reduced(name, *dims))

    def kept(self, mask: Formula) -> ComplexFormula:
        """The value where a mask holds, else 0."""
        return ComplexFormula(mask.where(self.re, 0), mask.where(self.im, 0))

    def replaced(self, mask: Formula, other: ComplexFormula) -> ComplexFormula:
        """`other` where a mask holds, else the value."""
        return ComplexFormula(mask.where(other.re, self.re), mask.where(other.im, self.im))
