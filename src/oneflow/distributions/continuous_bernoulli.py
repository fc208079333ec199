"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from oneflow.distributions import constraints
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.distributions.inverse_transform_sampling import InverseTransformSampling
from oneflow.distributions.parameters import clamp_probs
from oneflow.distributions.probability_parameters import SuccessProbability
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


class ContinuousBernoulli(SuccessProbability, InverseTransformSampling, ExponentialFamily):
    """The distribution on (0, 1) whose density grows with ``probs**x * (1 - probs)**(1 - x)``.

    Loaiza-Ganem and Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders" (2019).

    Args:
        probs: the probability of success, in the Bernoulli distribution of the same shape.
        logits: instead of it, its log-odds.
        lims: between these probabilities, where formulas divide 0 by 0, Taylor series are taken.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.ContinuousBernoulli(0.5).variance
        tensor(0.0833, dtype=oneflow.float32)
    """

    support = constraints.unit_interval

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        self._set_probability(probs, logits, validate_args)

    @property
    def _inner_probs(self) -> Tensor:
        """The probabilities, kept off 0 and 1."""
        return clamp_probs(self.probs)

    @property
    def _is_stable(self) -> Tensor:
        """True where formulas do not divide 0 by 0."""
        return (self._inner_probs <= self._lims[0]) | (self._inner_probs > self._lims[1])

    @property
    def _stable_probs(self) -> Tensor:
        """Probabilities where formulas are stable, and any other such one elsewhere."""
        return where(self._is_stable, self._inner_probs, self._lims[0])

    @property
    def _center(self) -> Tensor:
        """The argument of the Taylor series."""
        return self._inner_probs - 0.5

    def _log_size(self) -> Tensor:
        """The logarithm of the normalizing factor."""
        probs, square = self._stable_probs, self._center**2
        # 2 artanh(1 - 2 probs) / (1 - 2 probs)
        exact = ((-probs).log1p() - probs.log()).abs().log() - (1 - 2 * probs).abs().log()
        series = math.log(2) + (4 / 3 + 104 / 45 * square) * square
        return exact.where(self._is_stable, series)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        probs, center = self._stable_probs, self._center
        exact = probs / (2 * probs - 1) + 1 / ((-probs).log1p() - probs.log())
        series = 0.5 + (1 / 3 + 16 / 45 * center**2) * center
        return exact.where(self._is_stable, series)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        probs, square = self._stable_probs, self._center**2
        exact = probs * (probs - 1) / (1 - 2 * probs) ** 2
        exact = exact + 1 / ((-probs).log1p() - probs.log()) ** 2
        series = 1 / 12 - (1 / 15 - 128 / 945 * square) * square
        return exact.where(self._is_stable, series)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        probs = self._inner_probs
        return value * probs.log() + (1 - value) * (-probs).log1p() + self._log_size()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        probs = self._stable_probs
        exact = (probs**value * (1 - probs) ** (1 - value) + probs - 1) / (2 * probs - 1)
        return exact.where(self._is_stable, value).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        probs = self._stable_probs
        failure = (-probs).log1p()
        exact = ((value * (2 * probs - 1) - probs).log1p() - failure) / (probs.log() - failure)
        return exact.where(self._is_stable, value)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return -(self.mean * self.logits + (-self._inner_probs).log1p() + self._log_size())

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, logits: Tensor) -> Tensor:
        # log((exp(x) - 1) / x), and its Taylor series near 0
        is_small = logits.abs() < 4 * (self._lims[1] - 0.5)
        safe = where(is_small, 1.0, logits)
        exact = (safe.expm1() / safe).log()
        return where(is_small, logits / 2 + logits**2 / 24, exact)
