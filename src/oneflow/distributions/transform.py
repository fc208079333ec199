"""The base of transforms between values, inverses, compositions and transforms of events."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self

from oneflow.base.keywords import KeywordSuggestion
from oneflow.base.shape import Size
from oneflow.distributions import constraints
from oneflow.distributions.constraints import Constraint
from oneflow.distributions.parameters import sum_rightmost
from oneflow.tensor.tensor import Tensor


class Transform(KeywordSuggestion):
    """Base of differentiable, invertible functions of values.

    Args:
        cache_size: 1 to remember the last argument with its result, so that the inverse of the
            result is the argument itself, without the rounding of computing it. Default 0.

    Attributes:
        domain: constraint of the arguments.
        codomain: constraint of the results.
        bijective: ``t.inv(t(x)) == x`` for all `x`, and ``t(t.inv(y)) == y`` for all `y`. If not,
            the inverse is one of several arguments.

    A class of your own has methods `_call`, `_inverse` and `log_abs_det_jacobian`, and overrides
    `forward_shape` and `inverse_shape` if it changes shapes.

    Raises:
        ValueError: `cache_size` is neither 0 nor 1.

    Example:
        >>> import oneflow as flow
        >>> double = flow.distributions.AffineTransform(loc=1.0, scale=2.0)
        >>> double(flow.tensor(3.0)), double.inv(flow.tensor(7.0))
        (tensor(7., dtype=oneflow.float32), tensor(3., dtype=oneflow.float32))
    """

    # Any: a constraint, or a property of that type where it depends on what the transform is of.
    domain: Any = constraints.dependent
    codomain: Any = constraints.dependent
    bijective: Any = False

    #: The inverse, once it has been asked for.
    _inv: Any = None  # a transform, once somebody has asked for it

    def __init__(self, cache_size: int = 0) -> None:
        self._set_cache_size(cache_size)

    def _set_cache_size(self, cache_size: int) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)

    def with_cache(self, cache_size: int = 1) -> Self:
        """Return the same transform with this `cache_size`: itself if it has it."""
        if self._cache_size == cache_size:
            return self
        result = copy.copy(self)
        result._set_cache_size(cache_size)
        return result

    @property
    def event_dim(self) -> int:
        """The number of the last dimensions that make up one value.

        Raises:
            ValueError: the transform changes their number.
        """
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse, always the same object: ``t.inv.inv is t``."""
        if self._inv is None:
            self._inv = InverseTransform(self)
        return self._inv

    def __getstate__(self) -> dict[str, Any]:
        """Leave the inverse out, which is this transform's: a copy has its own."""
        return {name: value for name, value in vars(self).items() if name != "_inv"}

    @property
    def sign(self) -> Any:
        """1 where the transform increases, -1 where it decreases; of elementwise ones only."""
        raise NotImplementedError

    def __call__(self, x: Tensor) -> Tensor:
        """Return the transformed values."""
        if self._cache_size and x is self._cached[0]:
            return self._cached[1]
        y = self._call(x)
        if self._cache_size:
            self._cached = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached[1]:
            return self._cached[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute value of the determinant of the derivative ``dy / dx``."""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class FixedTransform(Transform):
    """Base of transforms without parameters: two of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class InverseTransform(Transform):
    """The inverse of a transform, with which it shares its cache."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        """Keep the transform, without which this is nothing."""
        return dict(vars(self))

    @property
    def domain(self) -> Constraint:
        """The set of values that the inverse transform takes."""
        return self._inv.codomain

    @property
    def codomain(self) -> Constraint:
        """The set of values that the inverse transform returns."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        """True if the transform that this inverts is bijective."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """The sign of the slope of the transform that this inverts."""
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        """The transform."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return the inverse of the transform with this `cache_size`."""
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InverseTransform) and self._inv == other._inv

    def __hash__(self) -> int:
        return hash((InverseTransform, self._inv))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the values whose transforms are `x`."""
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The negative of the transform's."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    Args:
        parts: the transforms, the first one first.
        cache_size: the cache size of each part; 0 leaves the parts as they are.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> tools.ComposeTransform([tools.AbsTransform(), tools.ExpTransform()])(flow.tensor(-1.0))
        tensor(2.7183, dtype=oneflow.float32)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size)
        self.parts = list(parts)

    def with_cache(self, cache_size: int = 1) -> ComposeTransform:
        """Return the same transforms with this `cache_size`."""
        if self._cache_size == cache_size:
            return self
        return ComposeTransform([part.with_cache(cache_size) for part in self.parts], cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((ComposeTransform, *self.parts))

    def _outer_constraint(self, parts: Sequence[Transform], side: str, other: str) -> Constraint:
        """The constraint at one end, with as many dimensions as any part needs there.

        Args:
            parts: the transforms, from this end to the other.
            side: attribute with the constraint of each part at this end.
            other: attribute with that at its other end.
        """
        if not parts:
            return constraints.real
        event_dim = getattr(parts[-1], other).event_dim
        for part in reversed(parts):
            change = getattr(part, side).event_dim - getattr(part, other).event_dim
            event_dim = max(event_dim + change, getattr(part, side).event_dim)
        outer = getattr(parts[0], side)
        if event_dim > outer.event_dim:
            return constraints.independent(outer, event_dim - outer.event_dim)
        return outer

    @property
    def domain(self) -> Constraint:
        """The domain of the first part."""
        return self._outer_constraint(self.parts, "domain", "codomain")

    @property
    def codomain(self) -> Constraint:
        """The codomain of the last part."""
        return self._outer_constraint(self.parts[::-1], "codomain", "domain")

    @property
    def bijective(self) -> bool:
        """Return True if all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        return math.prod((part.sign for part in self.parts), start=1)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, the last one first."""
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        """Return the values transformed by all parts."""
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum over the parts."""
        event_dim = self.domain.event_dim
        total = sum_rightmost(x * 0, event_dim) if not self.parts else 0
        for position, part in enumerate(self.parts):
            output = y if position == len(self.parts) - 1 else part(x)
            term = part.log_abs_det_jacobian(x, output)
            total = total + sum_rightmost(term, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = output
        return total  # pyright: ignore[reportReturnType]

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parts!r})"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform some of whose batch dimensions count as dimensions of one event.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: how many dimensions, counted from the last.
        cache_size: the cache size of the transform.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> transform = tools.IndependentTransform(tools.ExpTransform(), 1)
        >>> transform.log_abs_det_jacobian(flow.ones(3), flow.ones(3).exp())
        tensor(3., dtype=oneflow.float32)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> IndependentTransform:
        """Return the same transform with this `cache_size`."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @property
    def domain(self) -> Constraint:
        """The domain of the base transform, with further dimensions of the event."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        """The codomain of the base transform, with further dimensions of the event."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """True if the base transform is bijective."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """The sign of the slope of the base transform."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the base transform, summed over the further dimensions."""
        terms = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(terms, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        base = repr(self.base_transform)
        return f"{type(self).__name__}({base}, {self.reinterpreted_batch_ndims})"
