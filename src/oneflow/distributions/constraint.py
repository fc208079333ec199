"""The base of constraints, and constraints that are known only to a distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from oneflow.tensor.tensor import Tensor


class Constraint:
    """A region of values.

    Attributes:
        is_discrete: its values are integers.
        event_dim: how many of the last dimensions make up one value.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.constraints.positive.check(flow.tensor([-1.0, 2.0]))
        tensor([False,  True], dtype=oneflow.bool)
    """

    is_discrete: ClassVar[Any] = False
    event_dim: ClassVar[Any] = 0

    def check(self, value: Tensor) -> Tensor:
        """Return which values are inside, one truth value for each."""
        raise NotImplementedError


class Dependent(Constraint):
    """A constraint that depends on the parameters of a distribution, or on other values.

    Args:
        is_discrete: its values are integers.
        event_dim: how many of the last dimensions make up one value.

    Without these, whoever asks for them gets an error.

    Example:
        >>> from oneflow.distributions import constraints
        >>> constraints.dependent(is_discrete=True, event_dim=1).event_dim
        1
    """

    def __init__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The values are integers."""
        if self._is_discrete is None:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of the last dimensions that make up one value."""
        if self._event_dim is None:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> Any:
        """Return a constraint of this kind with further facts."""
        return type(self)(
            is_discrete=self._is_discrete if is_discrete is None else is_discrete,
            event_dim=self._event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """Raise: only a distribution knows."""
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, Dependent):
    """A property that is a constraint; of the class, not of an instance, it is `dependent`.

    Args:
        fget: computes the constraint.
        is_discrete: its values are integers.
        event_dim: how many of the last dimensions make up one value.

    Example:
        >>> import oneflow as flow
        >>> uniform = flow.distributions.Uniform
        >>> flow.distributions.constraints.is_dependent(uniform.support)
        True
        >>> uniform(0.0, 2.0).support.check(flow.tensor(1.5))
        tensor(True, dtype=oneflow.bool)
    """

    def __init__(
        self,
        fget: Callable[[Any], Any] | None = None,
        *,
        is_discrete: bool | None = None,
        event_dim: int | None = None,
    ) -> None:
        property.__init__(self, fget)
        Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, fget: Callable[[Any], Any]
    ) -> dependent_property:
        """Return the property of a function: for use as a decorator with facts."""
        return dependent_property(fget, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Return True if a constraint depends on the parameters of a distribution.

    Example:
        >>> from oneflow.distributions import constraints
        >>> constraints.is_dependent(constraints.real)
        False
    """
    return isinstance(constraint, Dependent)
