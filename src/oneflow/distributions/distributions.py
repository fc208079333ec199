"""Probability distributions: draws, and log-probabilities that gradients flow through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.device import CPU
from oneflow.base.dtype import get_default_dtype
from oneflow.base.shape import Size, broadcast_shapes
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.nn.elementwise_loss import binary_cross_entropy_with_logits
from oneflow.functional.random.creation import bernoulli, multinomial, rand, randn
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

_LARGEST = 1e4
_SMALLEST = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def _parameters(**numbers: Any) -> list[Tensor]:
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
    """

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

    def expand(self, batch_shape: Sequence[int]) -> Distribution:
        """The same distributions with a larger batch shape."""
        raise NotImplementedError

    def _shape(self, sample_shape: Sequence[int]) -> tuple[int, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _check(self, valid: Tensor | bool, message: str) -> None:
        """Raise ValueError unless `valid`; a tensor is read only when checks are on."""
        if self._validate_args and not (valid if isinstance(valid, bool) else valid.numpy().all()):
            raise ValueError(f"{type(self).__name__}: {message}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={self._batch_shape})"


class Normal(Distribution):
    """The normal distribution.

    Args:
        loc: mean.
        scale: standard deviation, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Normal(0.0, 1.0).log_prob(flow.tensor(0.0))
        tensor(-0.9189, dtype=oneflow.float32)
    """

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _parameters(loc=loc, scale=scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._check(self.scale > 0, "`scale` must be positive")

    @property
    def mean(self) -> Tensor:
        """The mean: `loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable value: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance: the square of `scale`."""
        return self.scale * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        noise = randn(self._shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        z = (value - self.loc) / self.scale
        return z * z * -0.5 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return ((value - self.loc) / (self.scale * math.sqrt(2))).erf() * 0.5 + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.loc + self.scale * math.sqrt(2) * (value * 2 - 1).erfinv()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.scale.log() + (0.5 + 0.5 * math.log(2 * math.pi))

    def expand(self, batch_shape: Sequence[int]) -> Normal:
        """The same distributions with a larger batch shape."""
        return Normal(self.loc.expand(batch_shape), self.scale.expand(batch_shape), False)


class Uniform(Distribution):
    """The uniform distribution on ``[low, high)``.

    Args:
        low: lower end.
        high: upper end, greater than `low`.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Uniform(0.0, 4.0).mean
        tensor(2., dtype=oneflow.float32)
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = _parameters(low=low, high=high)
        super().__init__(self.low.shape, (), validate_args)
        self._check(self.low < self.high, "`low` must be less than `high`")

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        sample = rand(self._shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + sample * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density; minus infinity outside."""
        self._check((value >= self.low) * (value <= self.high), "`value` is outside the support")
        inside = (self.low <= value) * (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return (self.high - self.low).log()

    def expand(self, batch_shape: Sequence[int]) -> Uniform:
        """The same distributions with a larger batch shape."""
        return Uniform(self.low.expand(batch_shape), self.high.expand(batch_shape), False)


def _one_of(probs: Any, logits: Any, name: str) -> bool:
    """Return True if `probs` was given.

    Raises:
        ValueError: both or neither.
    """
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: give either `probs` or `logits`, not both")
    return probs is not None


def _inner(probs: Tensor) -> Tensor:
    """Probabilities kept off 0 and 1 by one rounding step, to take logarithms of."""
    step = _SMALLEST[probs.dtype.name]
    return probs.clamp(step, 1 - step)


class Bernoulli(Distribution):
    """1 with probability `probs`, else 0.

    Args:
        probs: probability of 1.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Bernoulli(0.25).variance
        tensor(0.1875, dtype=oneflow.float32)
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if _one_of(probs, logits, "Bernoulli"):
            (self.probs,) = _parameters(probs=probs)
            inner = _inner(self.probs)
            self.logits = inner.log() - (-inner).log1p()
        else:
            (self.logits,) = _parameters(logits=logits)
            self.probs = self.logits.sigmoid()
        super().__init__(self.probs.shape, (), validate_args)
        if probs is not None:
            inside = (self.probs >= 0) * (self.probs <= 1)
            self._check(inside, "`probs` must be between 0 and 1")

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw ones and zeros."""
        with no_grad():
            return bernoulli(self.probs.detach().expand(self._shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check((value == 0) + (value == 1), "`value` must be 0 or 1")
        shape = broadcast_shapes(value.shape, self._batch_shape)
        logits, value = self.logits.expand(shape), value.to(self.logits.dtype).expand(shape)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1, along the first dimension."""
        values = import_array([0.0, 1.0], self.probs.dtype, self.probs.device)
        values = values.reshape((2,) + (1,) * len(self._batch_shape))
        return values.expand((2, *self._batch_shape)) if expand else values

    def expand(self, batch_shape: Sequence[int]) -> Bernoulli:
        """The same distributions with a larger batch shape."""
        return Bernoulli(logits=self.logits.expand(batch_shape), validate_args=False)


class Categorical(Distribution):
    """The numbers 0 to n - 1 with given probabilities.

    Args:
        probs: weights of the numbers, along the last dimension; normalised to a sum of 1.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Categorical(flow.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500], dtype=oneflow.float32)
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = probs if _one_of(probs, logits, "Categorical") else logits
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise ValueError("Categorical: the parameter must be at least one-dimensional.")
        super().__init__(given.shape[:-1], (), validate_args)
        if probs is not None:
            valid = (probs >= 0) * (probs.sum(-1, True) > 0)
            self._check(valid, "`probs` must not be negative, nor all 0")
            self.probs = probs / probs.sum(-1, True)
            self.logits = _inner(self.probs).log()
        else:
            self.logits = given.log_softmax(-1)
            self.probs = self.logits.exp()
        self._count = given.shape[-1]

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers, as int64."""
        count = math.prod(sample_shape)
        if count == 0 or 0 in self._batch_shape:
            return import_array([], self.mode.dtype).reshape(self._shape(sample_shape))
        rows = self.probs.detach().reshape((-1, self._count))
        return multinomial(rows, count, True).t().reshape(self._shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of each number."""
        self._check((value >= 0) * (value < self._count), "`value` is outside the support")
        shape = broadcast_shapes(value.shape, self._batch_shape)
        logits = self.logits.expand((*shape, self._count))
        return logits.gather(-1, value.long().expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        # Numbers of probability 0 count nothing; their logarithm is minus infinity.
        finite = self.logits.clamp(min=-_LARGEST)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The numbers, along the first dimension."""
        values = import_array(list(range(self._count)), None, self.probs.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((self._count, *self._batch_shape)) if expand else values

    def expand(self, batch_shape: Sequence[int]) -> Categorical:
        """The same distributions with a larger batch shape."""
        logits = self.logits.expand((*batch_shape, self._count))
        return Categorical(logits=logits, validate_args=False)
