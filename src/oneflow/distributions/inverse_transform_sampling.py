"""Distributions whose draws are quantiles of uniform numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.base.limits import finfo
from oneflow.distributions import constraints
from oneflow.distributions.distribution import Distribution
from oneflow.functional.random.creation import rand_like
from oneflow.tensor.tensor import Tensor


def random_unit(like: Tensor) -> Tensor:
    """Uniform numbers between 0 and 1, never one of them, with the form of `like`."""
    # The numbers lie in the middle of each step, so that no quantile is infinite.
    step = finfo(like.dtype).eps / 2
    return rand_like(like) * (1 - 2 * step) + step


class InverseTransformSampling(Distribution):
    """Base of distributions whose draws are quantiles of uniform numbers."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        parameter = getattr(self, next(self._given_parameters())[0])
        return self.icdf(random_unit(parameter.expand(self._extended_shape(sample_shape))))


class LocationScale(InverseTransformSampling):
    """Base of distributions of real numbers, moved to `loc` and stretched by `scale`."""

    loc: Tensor
    scale: Tensor
    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale)

    @property
    def mode(self) -> Tensor:
        """The most probable value: `loc`."""
        return self.loc
