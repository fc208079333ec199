"""Copies of a tensor with one of its views replaced."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from oneflow.base.shape import wrap_dim
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import as_strided
from oneflow.tensor.tensor import Tensor


@function()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` in place of the slice at `index` along `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.select_scatter(flow.zeros(2, 2), flow.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]], dtype=oneflow.float32)
    """
    return _with_slices(input, dim, operator.index(index), src)


@function()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy of `input` with `src` on the diagonal.

    Raises:
        RuntimeError: `src` has another shape than the diagonal.

    Example:
        >>> import oneflow as flow
        >>> flow.diagonal_scatter(flow.zeros(2, 2), flow.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]], dtype=oneflow.float32)
    """
    result = input.clone()
    return _with_part(result, result.diagonal(offset, dim1, dim2), src)


@function()
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy of `input` with `src` in place of the slices from `start` to `end` along `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.slice_scatter(flow.zeros(4), flow.ones(2), start=1, end=3)
        tensor([0., 1., 1., 0.], dtype=oneflow.float32)
    """
    return _with_slices(input, dim, slice(start, end, step), src)


@function()
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """A copy of `input` with `src` in the elements that `as_strided` would show.

    Raises:
        RuntimeError: they are not within `input`, or `src` has another shape.

    Example:
        >>> import oneflow as flow
        >>> flow.as_strided_scatter(flow.zeros(4), flow.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.], dtype=oneflow.float32)
    """
    result = input.clone()
    return _with_part(result, as_strided(result, size, stride, storage_offset), src)


def _with_slices(input: Tensor, dim: int, which: int | slice, source: Tensor) -> Tensor:
    result = input.clone()
    at = wrap_dim(dim, input.ndim)
    return _with_part(result, result[(*[slice(None)] * at, which)], source)


def _with_part(result: Tensor, part: Tensor, source: Tensor) -> Tensor:
    """`result` with `source` written into its view `part`.

    Raises:
        RuntimeError: the shapes differ.
    """
    if part.shape != source.shape:
        raise RuntimeError(
            f"expected `src` to have the size of the slice of `input`, {list(part.shape)}, but it "
            f"has {list(source.shape)}"
        )
    part.copy_(source)
    return result
