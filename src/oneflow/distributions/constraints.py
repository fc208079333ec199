"""Regions of values: what the parameters of a distribution may be, and what it draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from oneflow.base.dtype import bool_
from oneflow.base.limits import finfo
from oneflow.distributions.constraint import (
    Constraint as Constraint,
    Dependent as Dependent,
    dependent_property as dependent_property,
    is_dependent as is_dependent,
)
from oneflow.functional.linalg.decompositions import eigvalsh
from oneflow.functional.linalg.lapack import cholesky_ex
from oneflow.functional.shape.concat import cat as concatenate, stack as stack_tensors
from oneflow.tensor.tensor import Tensor

# Elements of symmetric matrices, and sums of probabilities, may differ by rounding.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Real(Constraint):
    """All numbers, but not NaN."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value == value  # False for NaN alone


@dataclass(frozen=True, eq=False)
class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value == 0) | (value == 1)


@dataclass(frozen=True, eq=False)
class GreaterThan(Constraint):
    """Numbers greater than `lower_bound`."""

    lower_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value > self.lower_bound


@dataclass(frozen=True, eq=False)
class GreaterThanEq(Constraint):
    """Numbers of at least `lower_bound`."""

    lower_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value >= self.lower_bound


@dataclass(frozen=True, eq=False)
class LessThan(Constraint):
    """Numbers less than `upper_bound`."""

    upper_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value < self.upper_bound


@dataclass(frozen=True, eq=False)
class Interval(Constraint):
    """Numbers from `lower_bound` to `upper_bound`, both included."""

    lower_bound: Any
    upper_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= self.lower_bound) & (value <= self.upper_bound)


@dataclass(frozen=True, eq=False)
class HalfOpenInterval(Constraint):
    """Numbers from `lower_bound` to `upper_bound`, which is not included."""

    lower_bound: Any
    upper_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= self.lower_bound) & (value < self.upper_bound)


@dataclass(frozen=True, eq=False)
class IntegerInterval(Constraint):
    """Integers from `lower_bound` to `upper_bound`, both included."""

    lower_bound: Any
    upper_bound: Any
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        inside = (value >= self.lower_bound) & (value <= self.upper_bound)
        return inside & (value % 1 == 0)


@dataclass(frozen=True, eq=False)
class IntegerGreaterThan(Constraint):
    """Integers of at least `lower_bound`."""

    lower_bound: Any
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value % 1 == 0) & (value >= self.lower_bound)


@dataclass(frozen=True, eq=False)
class Simplex(Constraint):
    """Vectors of numbers that are not negative and whose sum is 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < _TOLERANCE)


@dataclass(frozen=True, eq=False)
class OneHot(Constraint):
    """Vectors with a single 1; all else is 0."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


@dataclass(frozen=True, eq=False)
class MultinomialCounts(Constraint):
    """Vectors of counts whose sum is at most `upper_bound`."""

    upper_bound: Any
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


@dataclass(frozen=True, eq=False)
class LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value.tril() == value).all(-1).all(-1)


@dataclass(frozen=True, eq=False)
class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


@dataclass(frozen=True, eq=False)
class CorrCholesky(LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        # Rounding grows with the number of elements of a row.
        tolerance = 10 * value.shape[-1] * finfo(value.dtype).eps
        rows = ((value**2).sum(-1).sqrt() - 1).abs().le(tolerance).all(-1)
        return rows & super().check(value)


@dataclass(frozen=True, eq=False)
class Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        is_square = value.shape[-2] == value.shape[-1]
        return value.new_full(value.shape[:-2], is_square, dtype=bool_)


@dataclass(frozen=True, eq=False)
class Symmetric(Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return value.isclose(value.mT, atol=_TOLERANCE).all(-1).all(-1)


@dataclass(frozen=True, eq=False)
class PositiveSemidefinite(Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return super().check(value) & (eigvalsh(value) >= 0).all(-1)


@dataclass(frozen=True, eq=False)
class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return super().check(value) & (cholesky_ex(value)[1] == 0)


class IndependentConstraint(Constraint):
    """A constraint that holds for a whole value if it holds for all elements of it.

    Args:
        base_constraint: the constraint of an element.
        reinterpreted_batch_ndims: how many further dimensions make up one value.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if reinterpreted_batch_ndims < 0:
            raise ValueError("`reinterpreted_batch_ndims` must not be negative")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The values are integers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many of the last dimensions make up one value."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each.

        Raises:
            ValueError: `value` has fewer dimensions than one value.
        """
        if value.ndim < self.event_dim:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.ndim}: {value}"
            )
        inside = self.base_constraint.check(value)
        for _ in range(self.reinterpreted_batch_ndims):
            inside = inside.all(-1)
        return inside

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of a mixture, whose components are along a dimension of their own.

    Args:
        base_constraint: the constraint of the components.
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The values are integers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many of the last dimensions make up one value."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside for every component, one truth value for each."""
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Parts(Constraint):
    """Constraints of parts of a tensor, one after the other along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Some of the values are integers."""
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many of the last dimensions make up one value."""
        return max(each.event_dim for each in self.cseq)


class Cat(_Parts):
    """Constraints of parts that are concatenated along `dim`.

    Args:
        cseq: the constraints.
        dim: dimension.
        lengths: size of each part along it, default 1.
    """

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"{len(self.cseq)} constraints have {len(self.lengths)} lengths")

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        parts = value.split(self.lengths, self.dim)
        checked = [each.check(part) for each, part in zip(self.cseq, parts, strict=True)]
        return concatenate(checked, self.dim)


class Stack(_Parts):
    """Constraints of parts that are stacked along `dim`.

    Args:
        cseq: the constraints.
        dim: dimension.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make up one value, the new one included if it is one."""
        event_dim = super().event_dim
        return event_dim + 1 if self.dim + event_dim < 0 else event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        parts = value.unbind(self.dim)
        checked = [each.check(part) for each, part in zip(self.cseq, parts, strict=True)]
        return stack_tensors(checked, self.dim)


# The names of PyTorch: classes where a constraint has arguments, and else the one there is.
dependent = Dependent()
independent = IndependentConstraint
boolean = Boolean()
one_hot = OneHot()
nonnegative_integer = IntegerGreaterThan(0)
positive_integer = IntegerGreaterThan(1)
integer_interval = IntegerInterval
real = Real()
real_vector = independent(real, 1)
positive = GreaterThan(0.0)
nonnegative = GreaterThanEq(0.0)
greater_than = GreaterThan
greater_than_eq = GreaterThanEq
less_than = LessThan
multinomial = MultinomialCounts
unit_interval = Interval(0.0, 1.0)
interval = Interval
half_open_interval = HalfOpenInterval
simplex = Simplex()
lower_triangular = LowerTriangular()
lower_cholesky = LowerCholesky()
corr_cholesky = CorrCholesky()
square = Square()
symmetric = Symmetric()
positive_semidefinite = PositiveSemidefinite()
positive_definite = PositiveDefinite()
cat = Cat
stack = Stack
