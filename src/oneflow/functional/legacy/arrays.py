"""Functions on arrays that have other names or arguments than PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.dtype import DType
from oneflow.functional.creation import factory_functions
from oneflow.functional.registry import function, publish
from oneflow.functional.shape import reshape, stack
from oneflow.tensor.tensor import Tensor

publish("slice_v2", stack.slice_)


@function(method=False)
def expand_dims(input: Tensor, axis: int) -> Tensor:
    """View with a new dimension of size 1 at `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.expand_dims(flow.ones(2, 3), 1).shape
        oneflow.Size([2, 1, 3])
    """
    return reshape.unsqueeze(input, axis)


@function(method=False)
def identity(x: Tensor) -> Tensor:
    """A tensor equal to `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.identity(flow.ones(1))
        tensor([1.], dtype=oneflow.float32)
    """
    return x.clone()


@function(method=False)
def constant(
    value: float, dtype: DType | None = None, shape: Sequence[int] | None = None
) -> Tensor:
    """A tensor filled with a number; of one dimension and one element if no shape is given.

    Example:
        >>> import oneflow as flow
        >>> flow.constant(3, dtype=flow.int32, shape=(2,))
        tensor([3, 3], dtype=oneflow.int32)
    """
    return factory_functions.full((1,) if shape is None else tuple(shape), value, dtype=dtype)


@function(method=False)
def range_(
    start: float, limit: float | None = None, delta: float = 1, dtype: DType | None = None
) -> Tensor:
    """The numbers from `start` to before `limit`; from 0 to before `start` if it is given alone.

    Example:
        >>> import oneflow as flow
        >>> flow.range(3)
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    if limit is None:
        start, limit = 0, start
    return factory_functions.arange(start, limit, delta, dtype=dtype)
