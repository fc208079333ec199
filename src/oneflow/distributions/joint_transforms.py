"""Transforms of parts of a tensor, and of its shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.base.shape import Size
from oneflow.distributions import constraints
from oneflow.distributions.constraints import Constraint
from oneflow.distributions.parameters import sum_rightmost
from oneflow.distributions.transform import Transform
from oneflow.functional.shape.concat import cat, stack
from oneflow.tensor.tensor import Tensor


class _PartsTransform(Transform):
    """Base of transforms that are made of parts; each part transforms a slice along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise ValueError("`tseq` must be transforms")
        super().__init__(cache_size)
        self.transforms = (
            [transform.with_cache(cache_size) for transform in tseq] if cache_size else [*tseq]
        )
        self.dim = dim

    @property
    def bijective(self) -> bool:
        """Return True if all transforms are."""
        return all(transform.bijective for transform in self.transforms)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return self._join([transform(part) for transform, part in parts])

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return self._join([transform.inv(part) for transform, part in parts])


class CatTransform(_PartsTransform):
    """Transforms of parts that are concatenated along `dim`.

    Args:
        tseq: the transforms.
        dim: dimension.
        lengths: size of each part along it, default 1.
        cache_size: the cache size of the transforms.

    Raises:
        ValueError: there are not as many `lengths` as transforms.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> both = tools.CatTransform([tools.ExpTransform(), tools.AbsTransform()], lengths=[1, 2])
        >>> both(flow.tensor([0.0, -1.0, -2.0]))
        tensor([1., 1., 2.], dtype=oneflow.float32)
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"{len(self.transforms)} transforms have {len(self.lengths)} lengths")

    @property
    def event_dim(self) -> int:
        """The greatest of the transforms."""
        return max(transform.event_dim for transform in self.transforms)

    @property
    def length(self) -> int:
        """The size of all parts along the dimension."""
        return sum(self.lengths)

    @property
    def domain(self) -> Constraint:
        """The domains of the transforms, one after the other along `dim`."""
        return constraints.cat(
            [transform.domain for transform in self.transforms], self.dim, self.lengths
        )

    @property
    def codomain(self) -> Constraint:
        """The codomains of the transforms, one after the other along `dim`."""
        return constraints.cat(
            [transform.codomain for transform in self.transforms], self.dim, self.lengths
        )

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        return value.split(self.lengths, self.dim)

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithms of the determinants, concatenated or, if `dim` is the event's, added."""
        event_dim = self.event_dim
        terms = [
            sum_rightmost(transform.log_abs_det_jacobian(*parts), event_dim - transform.event_dim)
            for transform, *parts in zip(
                self.transforms, self._split(x), self._split(y), strict=True
            )
        ]
        dim = (self.dim if self.dim < 0 else self.dim - x.ndim) + event_dim
        return cat(terms, dim) if dim < 0 else sum(terms[1:], start=terms[0])


class StackTransform(_PartsTransform):
    """Transforms of parts that are stacked along `dim`.

    Args:
        tseq: the transforms.
        dim: dimension.
        cache_size: the cache size of the transforms.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> both = tools.StackTransform([tools.ExpTransform(), tools.AbsTransform()])
        >>> both(flow.tensor([[0.0], [-1.0]]))
        tensor([[1.],
                [1.]], dtype=oneflow.float32)
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @property
    def domain(self) -> Constraint:
        """The domains of the transforms, stacked along `dim`."""
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:
        """The codomains of the transforms, stacked along `dim`."""
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        return value.unbind(self.dim)

    def _join(self, parts: Sequence[Tensor]) -> Tensor:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithms of the determinants of all transforms, stacked."""
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return self._join([transform.log_abs_det_jacobian(*pair) for transform, *pair in parts])


class ReshapeTransform(Transform):
    """A change of the shape of events.

    Args:
        in_shape: shape of the events of arguments.
        out_shape: shape of the events of results.
        cache_size: 1 to remember the last argument with its result.

    Raises:
        ValueError: the shapes have different numbers of elements.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.ReshapeTransform((4,), (2, 2))(flow.zeros(3, 4)).shape
        oneflow.Size([3, 2, 2])
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @property
    def domain(self) -> Constraint:
        """Real numbers of as many dimensions as `in_shape`."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Constraint:
        """Real numbers of as many dimensions as `out_shape`."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.ndim - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.ndim - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """0."""
        return x.new_zeros(x.shape[: x.ndim - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return _with_event(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return _with_event(shape, self.out_shape, self.in_shape)


def _with_event(shape: Sequence[int], old: Sequence[int], new: Sequence[int]) -> Size:
    """Return `shape` with the last dimensions `old` replaced by `new`."""
    batch_ndims = len(shape) - len(old)
    if batch_ndims < 0:
        raise ValueError("Too few dimensions on input")
    if tuple(shape[batch_ndims:]) != tuple(old):
        raise ValueError(
            f"Shape mismatch: expected {tuple(shape[batch_ndims:])} but got {tuple(old)}"
        )
    return Size((*shape[:batch_ndims], *new))
