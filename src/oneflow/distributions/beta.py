"""The beta distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.dirichlet import Dirichlet
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.functional.shape.concat import stack
from oneflow.tensor.tensor import Tensor


class Beta(ExponentialFamily):
    """The beta distribution on (0, 1).

    Args:
        concentration1: the concentration of the value, positive.
        concentration0: the concentration of 1 minus the value, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500, dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    concentration1: Tensor
    concentration0: Tensor
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(
            validate_args, concentration1=concentration1, concentration0=concentration0
        )
        both = stack([self.concentration1, self.concentration0], -1)
        self._dirichlet = Dirichlet(both, False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._dirichlet.mean[..., 0]

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self._dirichlet.log_prob(stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, first: Tensor, second: Tensor) -> Tensor:
        return (first + 1).lgamma() + (second + 1).lgamma() - (first + second + 2).lgamma()
