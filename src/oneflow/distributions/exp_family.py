"""The base of exponential families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.autograd.gradients import grad
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.distributions.distribution import Distribution
from oneflow.tensor.tensor import Tensor


class ExponentialFamily(Distribution):
    """Base of distributions of the density ``h(x) exp(<t(x), theta> - A(theta))``.

    A class says what its natural parameters ``theta``, its log-normalizer ``A`` and the mean of
    ``log h(x)`` are. Entropy and divergences within the class follow by differentiating ``A``
    (Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010).

    Example:
        >>> import oneflow as flow
        >>> isinstance(flow.distributions.Normal(0.0, 1.0), flow.distributions.ExponentialFamily)
        True
    """

    # The logarithm of the normalizing factor, of the batch shape, of the natural parameters.
    _log_normalizer: Callable[..., Tensor]

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters, of the batch shape and dimensions of their own."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        """The mean of the logarithm of the carrier measure ``h``."""
        return 0.0

    def _log_normalizer_with_slopes(self) -> tuple[Tensor, Sequence[Tensor], Sequence[Any]]:
        """The log-normalizer, the natural parameters, and its gradients with regard to them."""
        natural = [
            parameter if parameter.requires_grad else parameter.detach().requires_grad_()
            for parameter in self._natural_params
        ]
        with enable_grad():
            normalizer = self._log_normalizer(*natural)
            slopes = grad(normalizer.sum(), natural, create_graph=True)
        return normalizer, natural, slopes

    def _sum_events(self, values: Tensor) -> Tensor:
        """Sum over the dimensions behind the batch."""
        return values.reshape((*self._batch_shape, -1)).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats, by the log-normalizer's gradient."""
        normalizer, natural, slopes = self._log_normalizer_with_slopes()
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(natural, slopes, strict=True):
            result = result - self._sum_events(parameter * slope)
        return result
