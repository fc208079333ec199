"""The base of probability distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from oneflow.base.device import CPU
from oneflow.base.dtype import get_default_dtype
from oneflow.base.shape import Size
from oneflow.differentiation.grad_mode import no_grad
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


def broadcast_parameters(**numbers: Any) -> list[Tensor]:
    """Parameters given as numbers or tensors, broadcast to one shape."""
    device = next((each.device for each in numbers.values() if isinstance(each, Tensor)), CPU)
    tensors = [
        each if isinstance(each, Tensor) else import_array(each, get_default_dtype(), device)
        for each in numbers.values()
    ]
    total = tensors[0]
    for each in tensors[1:]:
        total = total + each
    return [each.expand(total.shape) for each in tensors]


class Distribution:
    """Base of probability distributions.

    Args:
        batch_shape: shape of independent, different distributions.
        event_shape: shape of one draw of one of them.
        validate_args: check parameters and values; None: the class's default.

    A class of your own names in `_parameter_names` the parameters that have the batch shape.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import Distribution
        >>> class Coin(Distribution):
        ...     def sample(self, sample_shape=()):
        ...         return flow.randint(0, 2, (*sample_shape, *self.batch_shape))
        >>> Coin(batch_shape=(3,)).sample((5,)).shape
        oneflow.Size([5, 3])
    """

    _parameter_names: tuple[str, ...] = ()
    has_rsample = False
    has_enumerate_support = False
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

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn checks of parameters and values on or off; a check waits for the values."""
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
        raise NotImplementedError

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
        """The logarithm of the probability, or of its density, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
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
        """All values, along the first dimension."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int]) -> Self:
        """The same distributions with a larger batch shape."""
        if not self._parameter_names:
            raise NotImplementedError
        numbers = {name: getattr(self, name).expand(batch_shape) for name in self._parameter_names}
        make: Any = type(self)
        return make(**numbers, validate_args=False)

    def _start(
        self, validate_args: bool | None, positive: Sequence[str] = (), **numbers: Any
    ) -> None:
        """Set parameters, broadcast to the batch shape; those named `positive` are checked."""
        tensors = broadcast_parameters(**numbers)
        for name, tensor in zip(numbers, tensors, strict=True):
            setattr(self, name, tensor)
        Distribution.__init__(self, tensors[0].shape, (), validate_args)
        for name in positive:
            self._check(getattr(self, name) > 0, f"`{name}` must be positive")

    def _shape(self, sample_shape: Sequence[int]) -> tuple[int, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _check(self, valid: Tensor | bool, message: str) -> None:
        """Raise ValueError unless `valid`; a tensor is read only when checks are on."""
        if self._validate_args and not (valid if isinstance(valid, bool) else valid.numpy().all()):
            raise ValueError(f"{type(self).__name__}: {message}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={self._batch_shape})"
