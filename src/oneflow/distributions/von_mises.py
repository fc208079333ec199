"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.distribution import Distribution
from oneflow.functional.elementwise.special import i0e, i1e
from oneflow.primitives.operators.sampling import random_von_mises
from oneflow.random.generator import draw
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


class VonMises(Distribution):
    """The von Mises distribution of angles, between -pi and pi.

    Args:
        loc: mean angle, in radians.
        concentration: positive; the inverse of a variance where it is large.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.VonMises(1.0, 4.0).mode
        tensor(1., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        """The mean angle: `loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable angle: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the length of the mean of unit vectors."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw angles."""
        with no_grad():
            concentration = self.concentration.expand(self._extended_shape(sample_shape))
            angle = call(random_von_mises, concentration, *draw(None)) + self.loc
            return (angle + math.pi) % (2 * math.pi) - math.pi

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        # The exponential that `i0e` leaves out of the Bessel function is taken off here.
        exponent = self.concentration * ((value - self.loc).cos() - 1)
        return exponent - math.log(2 * math.pi) - i0e(self.concentration).log()
