"""Writing where a mask is true."""

from __future__ import annotations

from typing import Any

from oneflow.base.shape import broadcast_shapes
from oneflow.functional.registry import attach_inplace_form, function
from oneflow.primitives.operators import scatter as s
from oneflow.primitives.operators.elementwise import where
from oneflow.primitives.operators.shape import broadcast_to
from oneflow.program.value import Value
from oneflow.tensor.call import call, wrap
from oneflow.tensor.indexing import is_overlapping, put_item
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.operands import as_mask, element_value
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import filled_value
from oneflow.tensor.views import unwrap


@function()
def masked_fill(input: Tensor, mask: Tensor, value: Any, inplace: bool = False) -> Tensor:
    """A copy of `input` with a number (or 0-dim tensor) where `mask` is true.

    Args:
        input: tensor.
        mask: bool or integer tensor; the shapes broadcast.
        value: the number.
        inplace: write it into `input`; what has several places there is replaced if `mask` is true
            for one of them.

    Raises:
        RuntimeError: the mask is neither bool nor integer, or the value is a tensor with
            dimensions.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, -2.0])
        >>> x.masked_fill(x < 0, 0)
        tensor([1., 0.], dtype=oneflow.float32)
    """
    mask = as_mask(mask, "masked_fill only supports boolean masks, but got mask with dtype")
    if inplace:
        if is_overlapping(input):
            number = number_value(value, input, (), "masked_fill")
            put_item(input, mask.expand(input.shape), wrap(number))
            return input
        return write_result(input, masked_fill(before_write(input), mask, value), "masked_fill_")
    return wrap(where(unwrap(mask), number_value(value, input, (), "masked_fill"), unwrap(input)))


attach_inplace_form(masked_fill, "masked_fill_")


@function(inplace=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with the elements of `source`, in order, where `mask` is true.

    Raises:
        RuntimeError: dtypes differ, the mask is neither bool nor integer, or (at the next read of a
            value) `source` is too short.

    Example:
        >>> import oneflow as flow
        >>> mask = flow.tensor([True, False, True])
        >>> flow.zeros(3).masked_scatter(mask, flow.tensor([1.0, 2.0]))
        tensor([1., 0., 2.], dtype=oneflow.float32)
    """
    mask = as_mask(mask, "masked_scatter_ only supports boolean masks, but got")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype!r} "
            f"and {source.dtype!r}"
        )
    shape = broadcast_shapes(input.shape, mask.shape)
    return call(s.masked_scatter, input.expand(shape), mask.expand(shape), source)


def number_value(value: Any, input: Tensor, shape: tuple[int, ...], name: str) -> Value:
    """A number or 0-dim tensor as a value of `shape` with the dtype of `input`.

    Raises:
        RuntimeError: a tensor that has dimensions, or that is complex where `input` is not; a
            number that the integers of `input` cannot hold.
    """
    spec = input._value.spec
    if not isinstance(value, Tensor):
        return filled_value(value, shape, spec.dtype, spec.device)
    if value.ndim:
        raise RuntimeError(
            f"{name}() only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    if value.dtype.is_complex and not spec.dtype.is_complex:
        raise RuntimeError(
            f"{name}(): value cannot be converted to type {spec.dtype} without overflow: it is "
            "complex"
        )
    return broadcast_to(element_value(value.to(spec.device), spec.dtype), shape=shape)
