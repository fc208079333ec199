"""The F distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.chi2 import Chi2
from oneflow.distributions.distribution import Distribution
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


class FisherSnedecor(Distribution):
    """The F distribution: of the quotient of two mean squares.

    Args:
        df1: degrees of freedom of the numerator, positive.
        df2: the degrees of freedom of the denominator, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.FisherSnedecor(1.0, 4.0).mean
        tensor(2., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    df1: Tensor
    df2: Tensor
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to a `df2` of 2."""
        return where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN up to a `df1` of 2."""
        maximum = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return where(self.df1 > 2, maximum, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance; NaN up to a `df2` of 4."""
        n, m = self.df1, self.df2
        finite = 2 * m**2 * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4))
        return where(m > 4, finite, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        squares = [Chi2(df, False).rsample(sample_shape) / df for df in (self.df1, self.df2)]
        return squares[0] / squares[1]

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        n, m, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        size = (n + m).lgamma() - n.lgamma() - m.lgamma()
        power = n * ratio.log() + (n - 1) * value.log()
        return size + power - (n + m) * (ratio * value).log1p()
