"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from oneflow.base.limits import finfo
from oneflow.distributions import constraints
from oneflow.distributions.inverse_transform_sampling import InverseTransformSampling
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


class GeneralizedPareto(InverseTransformSampling):
    """The generalized Pareto distribution: of what exceeds a high threshold.

    Args:
        loc: smallest value.
        scale: positive.
        concentration: weight of the tail; 0 is the exponential distribution, and below 0 values
            are at most ``loc - scale / concentration``.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The numbers from `loc` to the end of the tail."""
        k = self._safe_concentration
        end = where(self.concentration < 0, self.loc - self.scale / k, math.inf)
        return constraints.interval(self.loc, end)

    @property
    def _is_exponential(self) -> Tensor:
        """True where quotients by the concentration are no better than their first two terms."""
        return self.concentration.abs() < finfo(self.concentration.dtype).eps

    @property
    def _safe_concentration(self) -> Tensor:
        """The concentration, and 1 where it is almost 0 and would divide."""
        return where(self._is_exponential, 1.0, self.concentration)

    @property
    def mean(self) -> Tensor:
        """The mean; infinite from a concentration of 1 on."""
        k = self.concentration
        return where(k < 1, self.loc + self.scale / (1 - k), math.inf)

    @property
    def mode(self) -> Tensor:
        """The most probable value: the smallest."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; infinite from a concentration of 1/2 on."""
        k = self.concentration
        return where(k < 0.5, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), math.inf)

    def _log_growth(self, value: Tensor) -> Tensor:
        """The logarithm of ``1 + k z`` divided by `k`."""
        z = (value - self.loc) / self.scale
        k = self._safe_concentration
        series = z * (1 - 0.5 * self.concentration * z)
        return series.where(self._is_exponential, (k * z).log1p() / k)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return -self.scale.log() - (1 + self.concentration) * self._log_growth(value)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw greater than `value`."""
        return -self._log_growth(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw of at most `value`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        growth = -(-value).log1p()
        k = self._safe_concentration
        series = growth * (1 + 0.5 * self.concentration * growth)
        z = series.where(self._is_exponential, (k * growth).expm1() / k)
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.scale.log() + self.concentration + 1
