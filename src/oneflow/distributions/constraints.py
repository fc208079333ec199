"""Constraints: regions of valid parameters and of the support of distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oneflow.base.dtype import bool_
from oneflow.base.limits import finfo
from oneflow.distributions.constraint import (
    Constraint as Constraint,
    Dependent as Dependent,
    dependent_property as dependent_property,
    is_dependent as is_dependent,
)
from oneflow.distributions.joint_constraints import (
    Cat,
    IndependentConstraint,
    MixtureSameFamilyConstraint as MixtureSameFamilyConstraint,
    Stack,
)
from oneflow.functional.linalg.decompositions import eigvalsh
from oneflow.functional.linalg.lapack import cholesky_ex
from oneflow.tensor.tensor import Tensor

# Elements of symmetric matrices, and sums of probabilities, may differ by rounding.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Real(Constraint):
    """All numbers, but not NaN.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.real.check(flow.tensor([1.0, float("nan")]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value == value  # False for NaN alone


@dataclass(frozen=True, eq=False)
class Boolean(Constraint):
    """0 and 1.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.boolean.check(flow.tensor([1.0, 2.0]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value == 0) | (value == 1)


@dataclass(frozen=True, eq=False)
class GreaterThan(Constraint):
    """Numbers greater than `lower_bound`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.greater_than(1.0).check(flow.tensor([1.0, 2.0]))
        tensor([False,  True], dtype=oneflow.bool)
    """

    lower_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value > self.lower_bound


@dataclass(frozen=True, eq=False)
class GreaterThanEq(Constraint):
    """Numbers of at least `lower_bound`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.greater_than_eq(1.0).check(flow.tensor([0.0, 1.0]))
        tensor([False,  True], dtype=oneflow.bool)
    """

    lower_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value >= self.lower_bound


@dataclass(frozen=True, eq=False)
class LessThan(Constraint):
    """Numbers less than `upper_bound`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.less_than(1.0).check(flow.tensor([0.0, 1.0]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    upper_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return value < self.upper_bound


@dataclass(frozen=True, eq=False)
class Interval(Constraint):
    """Numbers from `lower_bound` to `upper_bound`, both included.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.interval(0.0, 1.0).check(flow.tensor([1.0, 2.0]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    lower_bound: Any
    upper_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= self.lower_bound) & (value <= self.upper_bound)


@dataclass(frozen=True, eq=False)
class HalfOpenInterval(Constraint):
    """Numbers from `lower_bound` to `upper_bound`, which is not included.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.half_open_interval(0.0, 1.0).check(flow.tensor([0.0, 1.0]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    lower_bound: Any
    upper_bound: Any

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= self.lower_bound) & (value < self.upper_bound)


@dataclass(frozen=True, eq=False)
class IntegerInterval(Constraint):
    """Integers from `lower_bound` to `upper_bound`, both included.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.integer_interval(0, 3).check(flow.tensor([3.0, 0.5]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    lower_bound: Any
    upper_bound: Any
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        inside = (value >= self.lower_bound) & (value <= self.upper_bound)
        return inside & (value % 1 == 0)


@dataclass(frozen=True, eq=False)
class IntegerGreaterThan(Constraint):
    """Integers of at least `lower_bound`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.nonnegative_integer.check(flow.tensor([3.0, -1.0]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    lower_bound: Any
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value % 1 == 0) & (value >= self.lower_bound)


@dataclass(frozen=True, eq=False)
class Simplex(Constraint):
    """Vectors of numbers that are not negative and whose sum is 1.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.simplex.check(flow.tensor([[0.5, 0.5], [0.5, 0.6]]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < _TOLERANCE)


@dataclass(frozen=True, eq=False)
class OneHot(Constraint):
    """Vectors with a single 1; all else is 0.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.one_hot.check(flow.tensor([[0.0, 1.0], [1.0, 1.0]]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


@dataclass(frozen=True, eq=False)
class MultinomialCounts(Constraint):
    """Vectors of counts whose sum is at most `upper_bound`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.multinomial(2).check(flow.tensor([[1.0, 1.0], [2.0, 1.0]]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    upper_bound: Any
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


@dataclass(frozen=True, eq=False)
class LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.lower_triangular.check(flow.ones(2, 2))
        tensor(False, dtype=oneflow.bool)
    """

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return (value.tril() == value).all(-1).all(-1)


@dataclass(frozen=True, eq=False)
class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.lower_cholesky.check(flow.eye(2))
        tensor(True, dtype=oneflow.bool)
    """

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


@dataclass(frozen=True, eq=False)
class CorrCholesky(LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.corr_cholesky.check(2 * flow.eye(2))
        tensor(False, dtype=oneflow.bool)
    """

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        # Rounding grows with the number of elements of a row.
        tolerance = 10 * value.shape[-1] * finfo(value.dtype).eps
        rows = ((value**2).sum(-1).sqrt() - 1).abs().le(tolerance).all(-1)
        return rows & super().check(value)


@dataclass(frozen=True, eq=False)
class Square(Constraint):
    """Square matrices.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.square.check(flow.ones(2, 3))
        tensor(False, dtype=oneflow.bool)
    """

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        is_square = value.shape[-2] == value.shape[-1]
        return value.new_full(value.shape[:-2], is_square, dtype=bool_)


@dataclass(frozen=True, eq=False)
class Symmetric(Square):
    """Symmetric matrices.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.symmetric.check(flow.ones(2, 2))
        tensor(True, dtype=oneflow.bool)
    """

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return value.isclose(value.mT, atol=_TOLERANCE).all(-1).all(-1)


@dataclass(frozen=True, eq=False)
class PositiveSemidefinite(Symmetric):
    """Symmetric matrices without negative eigenvalues.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.positive_semidefinite.check(flow.zeros(2, 2))
        tensor(True, dtype=oneflow.bool)
    """

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return super().check(value) & (eigvalsh(value) >= 0).all(-1)


@dataclass(frozen=True, eq=False)
class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.positive_definite.check(flow.zeros(2, 2))
        tensor(False, dtype=oneflow.bool)
    """

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return super().check(value) & (cholesky_ex(value)[1] == 0)


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
