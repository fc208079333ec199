"""Transforms of each number by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.limits import finfo
from oneflow.base.shape import Size, broadcast_shapes
from oneflow.distributions import constraints
from oneflow.distributions.constraints import Constraint
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.parameters import broadcast_all, sum_rightmost
from oneflow.distributions.transform import FixedTransform, Transform
from oneflow.functional.elementwise.activation import softplus
from oneflow.tensor.tensor import Tensor


class IncreasingTransform(FixedTransform):
    """Base of increasing functions of real numbers."""

    domain = constraints.real
    bijective = True

    @property
    def sign(self) -> Any:
        """1: it increases."""
        return 1


class ExpTransform(IncreasingTransform):
    """The exponential function.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.ExpTransform()(flow.tensor(0.0))
        tensor(1., dtype=oneflow.float32)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The argument itself."""
        return x


class SigmoidTransform(IncreasingTransform):
    """The logistic function.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.SigmoidTransform()(flow.tensor(0.0))
        tensor(0.5000, dtype=oneflow.float32)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        # Results are kept inside the interval, where the inverse is finite.
        limits = finfo(x.dtype)
        return x.sigmoid().clamp(limits.tiny, 1 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(limits.tiny, 1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of ``sigmoid(x) * sigmoid(-x)``."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(IncreasingTransform):
    """The function ``log(1 + exp(x))``.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.SoftplusTransform()(flow.tensor(0.0))
        tensor(0.6931, dtype=oneflow.float32)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of ``sigmoid(x)``."""
        return -softplus(-x)


class TanhTransform(IncreasingTransform):
    """The hyperbolic tangent.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.TanhTransform()(flow.tensor(1.0))
        tensor(0.7616, dtype=oneflow.float32)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of ``1 - tanh(x)**2``, without its cancellation."""
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(FixedTransform):
    """The absolute value; it has no inverse, and `inv(y)` is `y`.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.AbsTransform()(flow.tensor(-1.0))
        tensor(1., dtype=oneflow.float32)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


def _same(first: Any, second: Any) -> bool:
    """Return True if numbers or tensors are the same."""
    if not isinstance(first, Tensor) and not isinstance(second, Tensor):
        return first == second
    pair = broadcast_all(first, second)
    return bool((pair[0] == pair[1]).numpy().all())


def _sign(number: Any) -> Any:
    return number.sign() if isinstance(number, Tensor) else (number > 0) - (number < 0)


def _broadcast_shape(shape: Sequence[int], *parameters: Any) -> Size:
    """The shape of a result computed from values of `shape` and from numbers or tensors."""
    shapes = [parameter.shape for parameter in parameters if isinstance(parameter, Tensor)]
    return Size(broadcast_shapes(tuple(shape), *shapes))


class PowerTransform(Transform):
    """A power of positive numbers.

    Args:
        exponent: not 0.
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.PowerTransform(flow.tensor(2.0))(flow.tensor(3.0))
        tensor(9., dtype=oneflow.float32)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        """The sign of the exponent: whether the transform increases or decreases."""
        return _sign(self.exponent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of ``exponent * x ** (exponent - 1)``."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return _broadcast_shape(shape, self.exponent)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return self.forward_shape(shape)


class AffineTransform(Transform):
    """The function ``loc + scale * x``.

    Args:
        loc: what is added.
        scale: factor, not 0.
        event_dim: how many of the last dimensions make up one value.
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.AffineTransform(loc=1.0, scale=-2.0)(flow.tensor(3.0))
        tensor(-5., dtype=oneflow.float32)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """The number of the last dimensions that make up one value."""
        return self._event_dim

    @property
    def domain(self) -> Constraint:
        """The real numbers, or tensors of them."""
        if self._event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self._event_dim)

    @property
    def codomain(self) -> Constraint:
        """The real numbers, or tensors of them."""
        return self.domain

    @property
    def sign(self) -> Any:
        """The sign of `scale`: whether the transform increases or decreases."""
        return _sign(self.scale)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute value of `scale`."""
        (scale,) = broadcast_all(self.scale)
        return sum_rightmost(scale.abs().log().expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return _broadcast_shape(shape, self.loc, self.scale)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return self.forward_shape(shape)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution of numbers.

    Args:
        distribution: has `cdf`, `icdf` and `log_prob`.
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> tools.CumulativeDistributionTransform(tools.Normal(0.0, 1.0))(flow.tensor(0.0))
        tensor(0.5000, dtype=oneflow.float32)
    """

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:
        """The support of the distribution."""
        return self.distribution.support

    @property
    def sign(self) -> int:
        """1: it increases."""
        return 1

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)
