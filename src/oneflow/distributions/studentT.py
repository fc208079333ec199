"""Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.chi2 import Chi2
from oneflow.distributions.distribution import Distribution
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.random.creation import randn_like
from oneflow.tensor.tensor import Tensor


class StudentT(Distribution):
    """Student's t distribution.

    Args:
        df: degrees of freedom, positive.
        loc: middle.
        scale: positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.StudentT(4.0).variance
        tensor(2., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    df: Tensor
    loc: Tensor
    scale: Tensor
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to one degree of freedom."""
        return where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """The most probable value: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to two degrees of freedom, NaN up to one."""
        finite = self.scale**2 * self.df / (self.df - 2)
        return where(self.df > 1, where(self.df > 2, finite, math.inf), math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        normal = randn_like(self.df.expand(self._extended_shape(sample_shape)))
        square = Chi2(self.df, False).rsample(sample_shape)
        return self.loc + self.scale * normal * (square / self.df).rsqrt()

    def _log_beta(self) -> Tensor:
        half = self.df / 2
        return half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        size = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1) * (z * z / self.df).log1p() - size

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        half = self.df / 2
        difference = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + difference + 0.5 * self.df.log() + self._log_beta()
