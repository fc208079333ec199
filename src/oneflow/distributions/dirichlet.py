"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from oneflow.base.limits import finfo
from oneflow.distributions import constraints
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.distributions.gamma import standard_gamma
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.index.search import one_hot
from oneflow.functional.nn.softmax import softmax
from oneflow.functional.random.creation import rand_like
from oneflow.tensor.tensor import Tensor


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: of shares that add up to 1.

    Args:
        concentration: ``[..., n]``, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Dirichlet(flow.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500], dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("Dirichlet: `concentration` must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most probable shares; all in one if every concentration is less than 1."""
        above = (self.concentration - 1).clamp(min=0)
        inside = above / above.sum(-1, True)
        corner = one_hot(inside.argmax(-1), self._event_shape[0]).to(inside.dtype)
        return corner.where((self.concentration < 1).all(-1, True), inside)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        # Half of the gammas of concentration 1e-3 are too small for double precision, their
        # logarithms are not: Gamma(k) is Gamma(k + 1) times U^(1/k) for a uniform U in (0, 1].
        k = concentration.double()
        uniform = 1 - rand_like(k)
        shares = softmax(standard_gamma(k + 1).log() + uniform.log() / k, -1)
        limits = finfo(concentration.dtype)
        return shares.to(concentration.dtype).clamp(limits.tiny, 1 - limits.eps / 2)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        k = self.concentration
        return xlogy(k - 1, value).sum(-1) + k.sum(-1).lgamma() - k.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        total, count = k.sum(-1), self._event_shape[0]
        of_parts = ((k - 1) * k.digamma()).sum(-1)
        return k.lgamma().sum(-1) - total.lgamma() - (count - total) * total.digamma() - of_parts

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration - 1,)

    def _log_normalizer(self, powers: Tensor) -> Tensor:
        return (powers + 1).lgamma().sum(-1) - (powers + 1).sum(-1).lgamma()
