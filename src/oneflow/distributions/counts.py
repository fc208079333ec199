"""Distributions of counts, and of one of several classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions.distribution import Distribution, broadcast_parameters
from oneflow.distributions.distributions import Categorical, probabilities
from oneflow.distributions.gamma import Gamma
from oneflow.functional.creation.factory_functions import arange, eye, full_like
from oneflow.functional.elementwise.activation import logsigmoid, softplus
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.index.search import one_hot
from oneflow.functional.nn.elementwise_loss import binary_cross_entropy_with_logits
from oneflow.functional.random import counts
from oneflow.functional.random.creation import rand
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.tensor.tensor import Tensor


class Poisson(Distribution):
    """The number of events in a unit of time.

    Args:
        rate: how many are expected, not negative.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Poisson(2.5).mode
        tensor(2., dtype=oneflow.float32)
    """

    rate: Tensor
    _parameter_names = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, rate=rate)
        self._check(self.rate >= 0, "`rate` must not be negative")

    @property
    def mean(self) -> Tensor:
        """The mean: `rate`."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """The variance: `rate`."""
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        with no_grad():
            return counts.poisson(self.rate.expand(self._shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check(value >= 0, "`value` must not be negative")
        return xlogy(value, self.rate) - self.rate - (value + 1).lgamma()


class Geometric(Distribution):
    """The number of failures before the first success.

    Args:
        probs: probability of success.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Geometric(0.25).mean
        tensor(3., dtype=oneflow.float32)
    """

    _parameter_names = ("logits",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.probs, self.logits = probabilities(probs, logits, "Geometric")
        super().__init__(self.probs.shape, (), validate_args)
        self._check((self.probs > 0) & (self.probs <= 1), "`probs` must be above 0, at most 1")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """The most probable number: 0."""
        return self.probs * 0

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        with no_grad():
            like = self.probs
            uniform = rand(self._shape(sample_shape), dtype=like.dtype, device=like.device)
            return ((-uniform).log1p() / (-like).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check(value >= 0, "`value` must not be negative")
        # 0 failures where none is possible.
        return xlogy(value, 1 - self.probs) + self.probs.log()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        of_one = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return of_one / self.probs


class Binomial(Distribution):
    """The number of successes among several trials.

    Args:
        total_count: number of trials.
        probs: probability of success.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Binomial(8, flow.tensor(0.25)).variance
        tensor(1.5000, dtype=oneflow.float32)
    """

    has_enumerate_support = True
    _parameter_names = ("total_count", "logits")

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.probs, self.logits = probabilities(probs, logits, "Binomial")
        broadcast = broadcast_parameters(count=total_count, probs=self.probs, logits=self.logits)
        self.total_count, self.probs, self.logits = broadcast
        self.total_count = self.total_count.to(self.probs.dtype)
        super().__init__(self.probs.shape, (), validate_args)
        self._check(self.total_count >= 0, "`total_count` must not be negative")
        self._check((self.probs >= 0) & (self.probs <= 1), "`probs` must be between 0 and 1")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        shape = self._shape(sample_shape)
        with no_grad():
            return counts.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check((value >= 0) & (value <= self.total_count), "`value` is outside the support")
        n, k = self.total_count, value
        log_binomial = (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
        return log_binomial + k * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        """The entropy in nats; all numbers of trials must be the same."""
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All numbers, along the first dimension.

        Raises:
            NotImplementedError: the numbers of trials differ.
        """
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = arange(most + 1, dtype=self.probs.dtype, device=self.probs.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((most + 1, *self._batch_shape)) if expand else values


class NegativeBinomial(Distribution):
    """The number of successes before several failures.

    Args:
        total_count: number of failures, positive.
        probs: probability of success, less than 1.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.NegativeBinomial(3.0, flow.tensor(0.5)).mean
        tensor(3., dtype=oneflow.float32)
    """

    _parameter_names = ("total_count", "logits")

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.probs, self.logits = probabilities(probs, logits, "NegativeBinomial")
        broadcast = broadcast_parameters(count=total_count, probs=self.probs, logits=self.logits)
        self.total_count, self.probs, self.logits = broadcast
        super().__init__(self.probs.shape, (), validate_args)
        self._check(self.total_count > 0, "`total_count` must be positive")
        self._check((self.probs >= 0) & (self.probs < 1), "`probs` must be at least 0, below 1")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        with no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), False).sample(sample_shape)
            return counts.poisson(rate)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check(value >= 0, "`value` must not be negative")
        n, k = self.total_count, value
        log_binomial = (n + k).lgamma() - (1 + k).lgamma() - n.lgamma()
        return log_binomial + n * logsigmoid(-self.logits) + k * logsigmoid(self.logits)


class _OfCategories(Distribution):
    """A distribution of vectors with an element for each of several classes."""

    def __init__(
        self, probs: Tensor | None, logits: Tensor | None, validate_args: bool | None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        count = self.logits.shape[-1]
        super().__init__(self._categorical.batch_shape, (count,), validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    def _logits_of(self, batch_shape: Sequence[int]) -> Tensor:
        return self.logits.expand((*batch_shape, *self._event_shape))


class OneHotCategorical(_OfCategories):
    """A categorical distribution whose values are vectors with a single 1.

    Args:
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.OneHotCategorical(flow.tensor([1.0, 3.0])).mode
        tensor([0., 1.], dtype=oneflow.float32)
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Sequence[int]) -> OneHotCategorical:
        """The same distributions with a larger batch shape."""
        return OneHotCategorical(logits=self._logits_of(batch_shape), validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def _one_hot(self, classes: Tensor) -> Tensor:
        return one_hot(classes, self._event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw vectors."""
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check((value == 0) | (value == 1), "`value` must be one-hot")
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All vectors, along the first dimension."""
        count = self._event_shape[0]
        values = eye(count, dtype=self.probs.dtype, device=self.probs.device)
        values = values.reshape((count,) + (1,) * len(self._batch_shape) + (count,))
        return values.expand((count, *self._batch_shape, count)) if expand else values


class Multinomial(_OfCategories):
    """The number of times that each class comes up in several draws.

    Args:
        total_count: number of draws.
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Multinomial(8, flow.tensor([1.0, 3.0])).mean
        tensor([2., 6.], dtype=oneflow.float32)
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Sequence[int]) -> Multinomial:
        """The same distributions with a larger batch shape."""
        logits = self._logits_of(batch_shape)
        return Multinomial(self.total_count, logits=logits, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw vectors of counts."""
        classes = self._categorical.sample((self.total_count, *sample_shape))
        return one_hot(classes, self._event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._check(value >= 0, "`value` must not be negative")
        value, logits = broadcast_tensors(value, self.logits)
        mask = (value == 0) & (logits == -math.inf)
        logits = full_like(logits, 0.0).where(mask, logits)
        total = value.sum(-1)
        return (total + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        n = self.total_count
        each = Binomial(n, self.probs, validate_args=False)
        support = each.enumerate_support(False)
        weights = each.log_prob(support).exp() * (support + 1).lgamma()
        return n * self._categorical.entropy() - math.lgamma(n + 1) + weights.sum((0, -1))
