"""Normal, uniform, Bernoulli and categorical distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import broadcast_shapes
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions.distribution import Distribution, broadcast_parameters
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.nn.elementwise_loss import binary_cross_entropy_with_logits
from oneflow.functional.random.creation import bernoulli, multinomial, rand, randn
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

_LARGEST = 1e4
_SMALLEST = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


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

    loc: Tensor
    scale: Tensor
    has_rsample = True
    _parameter_names = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, ("scale",), loc=loc, scale=scale)

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

    low: Tensor
    high: Tensor
    has_rsample = True
    _parameter_names = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, low=low, high=high)
        self._check(self.low < self.high, "`low` must be less than `high`")

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: no value is more probable than others."""
        return full_like(self.low, math.nan)

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


def one_of(probs: Any, logits: Any, name: str) -> bool:
    """Return True if `probs` was given.

    Raises:
        ValueError: both or neither.
    """
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: give either `probs` or `logits`, not both")
    return probs is not None


def probabilities(probs: Any, logits: Any, name: str) -> tuple[Tensor, Tensor]:
    """Return probabilities and their log-odds, of which one is given.

    Raises:
        ValueError: both or neither.
    """
    if not one_of(probs, logits, name):
        (logits,) = broadcast_parameters(logits=logits)
        return logits.sigmoid(), logits
    (probs,) = broadcast_parameters(probs=probs)
    inner = _inner(probs)
    return probs, inner.log() - (-inner).log1p()


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
    _parameter_names = ("logits",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.probs, self.logits = probabilities(probs, logits, "Bernoulli")
        super().__init__(self.probs.shape, (), validate_args)
        if probs is not None:
            inside = (self.probs >= 0) * (self.probs <= 1)
            self._check(inside, "`probs` must be between 0 and 1")

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The more probable value; NaN if both are the same."""
        found = (self.probs > 0.5).to(self.probs.dtype)
        return full_like(found, math.nan).where(self.probs == 0.5, found)

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
        given = probs if one_of(probs, logits, "Categorical") else logits
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise ValueError("Categorical: the parameter must be at least one-dimensional.")
        super().__init__(given.shape[:-1], (), validate_args)
        if probs is not None:
            valid = (probs >= 0) * (probs.sum(-1, True) > 0)
            self._check(valid, "`probs` must not be negative, nor all 0")
            self._probs = probs / probs.sum(-1, True)
            self._logits = _inner(self._probs).log()
        else:
            self._logits = given.log_softmax(-1)
            self._probs = self._logits.exp()
        self._count = given.shape[-1]

    @property
    def probs(self) -> Tensor:
        """The probabilities of the numbers."""
        return self._probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._logits

    @property
    def mean(self) -> Tensor:
        """NaN: numbers of classes have no mean."""
        return full_like(self.probs[..., 0], math.nan)

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN: numbers of classes have no variance."""
        return self.mean

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
