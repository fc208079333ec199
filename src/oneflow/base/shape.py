"""Shapes: `Size`, dimension checks, broadcasting."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex, TypeGuard, overload

from oneflow.base.program_name import program_name


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of integers with `numel`.

    Example:
        >>> import oneflow as flow
        >>> flow.Size([2, 3]).numel()
        6
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[SupportsIndex] = ()) -> Size:
        """A shape with the given sizes."""
        try:
            return super().__new__(cls, map(operator.index, iterable))
        except TypeError:
            raise TypeError(f"Size expects integers, got {iterable!r}") from None

    def numel(self) -> int:
        """Number of elements of a tensor with this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"{program_name()}.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: tuple[Any, ...]) -> Size:
        return Size(tuple(self) + tuple(other))

    def __radd__(self, other: tuple[Any, ...]) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, value: SupportsIndex) -> Size:
        return Size(tuple(self) * operator.index(value))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...

    def __getitem__(self, key: SupportsIndex | slice) -> int | Size:
        result = tuple.__getitem__(self, key)
        return tuple.__new__(Size, result) if isinstance(result, tuple) else result


def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. A 0-dim tensor has the one dimension 0 (or -1), as in PyTorch.

    Raises:
        IndexError: `dim` is outside ``[-ndim, ndim - 1]``.
        TypeError: `dim` is no integer, or it is True or False, which stands in the place of another
            argument.
    """
    if type(dim) is not int:
        dim = _as_dim(dim)
    size = ndim or 1
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got "
            f"{dim})"
        )
    return dim + size if dim < 0 else dim


def _as_dim(value: Any) -> int:
    """Return a dimension that is no `int` as one.

    Raises:
        TypeError: it is a truth value, or no integer.
    """
    if type(value) is bool:
        raise TypeError(
            f"`dim` must be int, got the bool {value}; give other arguments by their name"
        )
    return as_integer(value, "dim")


def as_integer(value: Any, name: str) -> int:
    """Return the argument called `name` as an `int`.

    Raises:
        TypeError: it is no integer; a float is none, whatever its value.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be int, got {type(value).__name__} {value!r}") from None


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a sequence of numbers; a 0-dim tensor is a single number."""
    return (
        isinstance(value, Iterable)
        and not isinstance(value, str)
        and getattr(value, "ndim", 1) != 0
    )


def wrap_dims(dims: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """`dims` counted from the front, in the given order; None means all dimensions.

    Raises:
        IndexError: one of them is out of range.
        TypeError: `dims` is True or False, or one of them is no integer.
        RuntimeError: one of them appears twice.
    """
    if dims is None:
        return tuple(range(ndim))
    numbers: Any = dims
    if type(dims) is not tuple and not is_sequence(dims):
        numbers = (dims,)
    wrapped = tuple([wrap_dim(dim, ndim) for dim in numbers])
    if len(set(wrapped)) != len(wrapped):
        repeated = next(dim for dim in wrapped if wrapped.count(dim) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def _operand_error(result: list[int], index: int, shape: tuple[int, ...], dim: int) -> str:
    return (
        f"The size of tensor a ({result[dim]}) must match the size of tensor b ({shape[dim]}) at "
        f"non-singleton dimension {len(result) + dim}"
    )


def broadcast_shapes(
    *shapes: tuple[int, ...],
    error: Callable[[list[int], int, tuple[int, ...], int], str] = _operand_error,
) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to.

    Args:
        shapes: the shapes.
        error: makes a message from the result so far, the number of the shape that does not fit,
            that shape and the dimension, counted from the end.

    Raises:
        RuntimeError: two sizes differ and neither is 1; names the dimension and both sizes.
    """
    result = [1] * max(map(len, shapes), default=0)
    for index, shape in enumerate(shapes):
        for dim in range(-1, -len(shape) - 1, -1):
            size = shape[dim]
            if size == 1 or size == result[dim]:
                continue
            if result[dim] != 1:
                raise RuntimeError(error(result, index, shape, dim))
            result[dim] = size
    return tuple(result)


def sums_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether `target` broadcasts to `shape`, so that a gradient can be summed to it."""
    extra = len(shape) - len(target)
    return extra >= 0 and all(
        size in (1, have) for have, size in zip(shape[extra:], target, strict=True)
    )
