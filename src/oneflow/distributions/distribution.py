"""The base of probability distributions."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any, Self

from oneflow.base.keywords import KeywordSuggestion
from oneflow.base.shape import Size, broadcast_shapes
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions.constraints import Constraint, dependent, is_dependent
from oneflow.distributions.parameters import broadcast_all, lazy_property
from oneflow.runtime.eager import is_capturing
from oneflow.tensor.tensor import Tensor


class Distribution(KeywordSuggestion):
    """Base of probability distributions.

    Args:
        batch_shape: shape of independent, different distributions.
        event_shape: shape of one draw of one of them.
        validate_args: check parameters and values; None: the class's default. Nothing is checked
            while a graph is captured, where no values exist.

    Attributes:
        arg_constraints: what parameters must satisfy, by name.
        support: what values are possible.
        has_rsample: gradients flow through draws.
        has_enumerate_support: all values can be enumerated.

    A class of your own sets its parameters and then calls this constructor.

    Raises:
        ValueError: a parameter does not satisfy its constraint.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import Distribution, constraints
        >>> class Coin(Distribution):
        ...     arg_constraints = {"face": constraints.unit_interval}
        ...     def __init__(self, face):
        ...         self.face = face
        ...         super().__init__(face.shape)
        ...     def sample(self, sample_shape=()):
        ...         return flow.bernoulli(self.face.expand(self._extended_shape(sample_shape)))
        >>> Coin(flow.tensor([0.1, 0.5, 0.9])).sample((5,)).shape
        oneflow.Size([5, 3])
    """

    # Any: mappings and constraints, or properties where they depend on other parameters.
    arg_constraints: Any = MappingProxyType({})
    support: Any = dependent
    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args = True

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, constraint in self._given_parameters():
            if self._is_checking() and not is_dependent(constraint):
                self._check_parameter(name, constraint)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn checks of parameters and values on or off; a check waits for the values."""
        if value not in (True, False):
            raise ValueError(f"`value` must be True or False, got {value!r}")
        Distribution._validate_args = bool(value)

    @property
    def batch_shape(self) -> Size:
        """Shape of independent, different distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """Shape of one draw of one of them."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw a tensor of shape ``sample_shape + batch_shape + event_shape``, without history."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """`sample` through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`n` draws."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density, at `value`.

        Raises:
            ValueError: `value` is outside the support, or has another shape.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`.

        Raises:
            ValueError: `value` is outside the support, or has another shape.
        """
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy of each distribution of the batch, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along the first dimension; repeated over the batch if `expand`."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distributions with a larger batch shape.

        Parameters, and distributions that this one is made of, are expanded; nothing is copied.

        Args:
            batch_shape: the larger shape.
            _instance: an object that a subclass has made; what it has is kept, the rest is set.
        """
        result = copy.copy(self) if _instance is None else _instance
        first = len(self._batch_shape)
        attributes = () if _instance is None else frozenset(vars(_instance))
        for name, value in vars(self).items():
            if name not in attributes:
                setattr(result, name, self._expanded(value, batch_shape, first))
        result._batch_shape = Size(batch_shape)
        return result

    def _expanded(self, value: Any, batch_shape: Sequence[int], first: int) -> Any:
        """A parameter, or a distribution that this one is made of, with a larger batch shape."""
        if isinstance(value, Tensor) and value.shape[:first] == self._batch_shape:
            return value.expand((*batch_shape, *value.shape[first:]))
        if isinstance(value, Distribution):
            return value.expand((*batch_shape, *value.batch_shape[first:]))
        return value

    def _get_checked_instance(self, cls: type[Distribution], _instance: Any = None) -> Any:
        """The object that `expand` of a class fills: a new one, unless a subclass has made it.

        Raises:
            NotImplementedError: a subclass has a constructor of its own, and no `expand`.
        """
        if _instance is not None:
            return _instance
        kind = type(self)
        if kind.__init__ is not cls.__init__:
            raise NotImplementedError(
                f"`{kind.__name__}` has a constructor of its own, so it must define `expand`, too: "
                f"that of `{cls.__name__}` cannot make its objects"
            )
        return kind.__new__(kind)

    def _set_parameters(self, validate_args: bool | None, **parameters: Any) -> None:
        """Set elementwise parameters, broadcast to the batch shape, and what follows from them."""
        tensors = broadcast_all(*parameters.values())
        for name, tensor in zip(parameters, tensors, strict=True):
            setattr(self, name, tensor)
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """The shape of draws."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _batch_support(self, values: Tensor, expand: bool) -> Tensor:
        """Values along a first dimension, in front of the dimensions of the batch."""
        size, batch = values.shape[0], self._batch_shape
        values = values.reshape((size, *(1,) * len(batch), *self._event_shape))
        return values.expand((size, *batch, *self._event_shape)) if expand else values

    def _given_parameters(self) -> Iterator[tuple[str, Constraint]]:
        """The parameters that were given, not computed from others, with their constraints."""
        for name, constraint in self.arg_constraints.items():
            if name in vars(self) or not isinstance(getattr(type(self), name, None), lazy_property):
                yield name, constraint

    def _is_checking(self) -> bool:
        return self._validate_args and not is_capturing()

    def _check_parameter(self, name: str, constraint: Constraint) -> None:
        value = getattr(self, name)
        if not constraint.check(value).numpy().all():
            raise ValueError(
                f"Expected parameter `{name}` ({type(value).__name__} of shape "
                f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                f"{constraint!r}, but found invalid values:\n{value}"
            )

    def _validate_sample(self, value: Tensor) -> None:
        """Check, if checks are on, that `value` is one that could have been drawn.

        Raises:
            ValueError: it is no tensor, its shape does not broadcast, or it is outside the support.
        """
        if not self._is_checking():
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = self._extended_shape()
        event = len(self._event_shape)
        if value.shape[value.ndim - event :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs "
                f"{self._event_shape}."
            )
        try:
            broadcast_shapes(value.shape, shape)
        except RuntimeError as error:
            raise ValueError(
                f"Value of shape {value.shape} is not broadcastable with batch_shape + "
                f"event_shape {shape}."
            ) from error
        support = self.support
        if not is_dependent(support) and not support.check(value).numpy().all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        parts = []
        for name, _ in self._given_parameters():
            value = getattr(self, name)
            scalar = isinstance(value, Tensor) and value.ndim == 0 and not is_capturing()
            parts.append(f"{name}: {value.item() if scalar else value.shape}")
        return f"{type(self).__name__}({', '.join(parts)})"
