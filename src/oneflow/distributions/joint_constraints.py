"""Constraints made of others: of the elements of a value, and of parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.distributions.constraint import Constraint
from oneflow.functional.shape.concat import cat, stack
from oneflow.tensor.tensor import Tensor


class IndependentConstraint(Constraint):
    """A constraint that holds for a whole value if it holds for all elements of it.

    Args:
        base_constraint: the constraint of an element.
        reinterpreted_batch_ndims: how many further dimensions make up one value.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> constraints.independent(constraints.positive, 1).check(flow.tensor([1.0, -1.0]))
        tensor(False, dtype=oneflow.bool)
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
        """The number of the last dimensions that make up one value."""
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

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> found = constraints.MixtureSameFamilyConstraint(constraints.positive)
        >>> found.check(flow.tensor([1.0, -1.0]))
        tensor([ True, False], dtype=oneflow.bool)
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The values are integers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of the last dimensions that make up one value."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside for every component, one truth value for each."""
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _JointConstraint(Constraint):
    """Constraints of parts of a tensor, one after the other along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Some of the values are integers."""
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of the last dimensions that make up one value."""
        return max(constraint.event_dim for constraint in self.cseq)


class Cat(_JointConstraint):
    """Constraints of parts that are concatenated along `dim`.

    Args:
        cseq: the constraints.
        dim: dimension.
        lengths: size of each part along it, default 1.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> both = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
        >>> both.check(flow.tensor([-1.0, -1.0, 1.0]))
        tensor([False,  True,  True], dtype=oneflow.bool)
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
        checked = [
            constraint.check(part) for constraint, part in zip(self.cseq, parts, strict=True)
        ]
        return cat(checked, self.dim)


class Stack(_JointConstraint):
    """Constraints of parts that are stacked along `dim`.

    Args:
        cseq: the constraints.
        dim: dimension.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints
        >>> both = constraints.stack([constraints.positive, constraints.real])
        >>> both.check(flow.tensor([-1.0, -1.0]))
        tensor([False,  True], dtype=oneflow.bool)
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        """The number of the last dimensions that make up one value, maybe with the new one."""
        event_dim = super().event_dim
        return event_dim + 1 if self.dim + event_dim < 0 else event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        parts = value.unbind(self.dim)
        checked = [
            constraint.check(part) for constraint, part in zip(self.cseq, parts, strict=True)
        ]
        return stack(checked, self.dim)
