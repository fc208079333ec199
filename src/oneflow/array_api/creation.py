"""Arrays from nothing, numbers and other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from oneflow.array_api.rows import documented
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.functional.creation import factory_functions as make, from_data, spacing
from oneflow.functional.creation.factory_functions import (
    empty_like as empty_like,
    full_like as full_like,
    ones_like as ones_like,
    zeros_like as zeros_like,
)
from oneflow.functional.shape import rearrange, stack
from oneflow.tensor.tensor import Tensor


class _OfShape(Protocol):
    def __call__(
        self, shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
    ) -> Tensor: ...


def _of_shape(function: Callable[..., Tensor], summary: str) -> _OfShape:
    def standard(
        shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
    ) -> Tensor:
        return function(shape, dtype=dtype, device=device)

    return documented(standard, function.__name__, summary, function.__name__)


empty = _of_shape(make.empty, "Return an array whose values do not matter.")
ones = _of_shape(make.ones, "Return an array of ones.")
zeros = _of_shape(make.zeros, "Return an array of zeros.")


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """Return an array of numbers, nested sequences or another library's array.

    Args:
        obj: an array, a number, nested sequences of them, or an object with a buffer or DLPack.
        dtype: default that of `obj`; of Python's numbers the default dtypes.
        device: default that of `obj`.
        copy: True for memory of its own, False to refuse what needs that, None for either.

    Raises:
        ValueError: `copy` is False, and `obj` must be copied.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.asarray([1, 2])
        tensor([1, 2], dtype=oneflow.int64)
    """
    return from_data.asarray(obj, dtype, device, copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a copy of another library's array; an array of this one is given back.

    Raises:
        BufferError: `copy` is False, and `x` must be copied.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> flow.array_api.from_dlpack(np.arange(3))
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    return from_data.from_dlpack(x, device=device, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """Return the numbers from `start` up to `stop`, exclusive; none if `step` leads away from it.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.arange(3)
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    first, last = (0, start) if stop is None else (start, stop)
    if step and (last - first) / step <= 0:
        last = first
    return make.arange(first, last, step, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """Return a matrix with ones on its `k`-th diagonal, counted upwards from the main one.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.eye(2, 3, k=1)
        tensor([[0., 1., 0.],
                [0., 0., 1.]], dtype=oneflow.float32)
    """
    columns = n_rows if n_cols is None else n_cols
    matrix = np.eye(n_rows, columns, k)
    return from_data.as_tensor(matrix, dtype=dtype or get_default_dtype(), device=device)


def full(
    shape: int | tuple[int, ...],
    fill_value: complex,
    *,
    dtype: DType | None = None,
    device: Any = None,
) -> Tensor:
    """Return an array that holds one number everywhere; it decides the dtype if none is given.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.full((2,), 3)
        tensor([3, 3], dtype=oneflow.int64)
    """
    return make.full(shape, fill_value, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`, the last one if `endpoint`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linspace(0, 1, 4, endpoint=False)
        tensor([0.0000, 0.2500, 0.5000, 0.7500], dtype=oneflow.float32)
    """
    count = num if endpoint else num + 1
    return spacing.linspace(start, stop, count, dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Return coordinate arrays of a grid.

    Args:
        arrays: the coordinates of each axis, of one dimension and dtype.
        indexing: ``"xy"`` for the second array's axis first, as in pictures, or ``"ij"``.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.array_api.meshgrid(flow.arange(2), flow.arange(3))
        >>> x.shape, y[:, 0]
        (oneflow.Size([3, 2]), tensor([0, 1, 2], dtype=oneflow.int64))
    """
    return list(stack.meshgrid(*arrays, indexing=indexing)) if arrays else []


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices with zeros above the `k`-th diagonal.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.tril(flow.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]], dtype=oneflow.float32)
    """
    return rearrange.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices with zeros below the `k`-th diagonal.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.triu(flow.ones(2, 2), k=1)
        tensor([[0., 1.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return rearrange.triu(x, k)
