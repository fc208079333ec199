"""Views of the bytes of a tensor as elements of another type."""

from __future__ import annotations

from collections.abc import Iterable

from oneflow.base.dtype import DType
from oneflow.primitives.operators import shape as p
from oneflow.primitives.operators.strided import bitcast
from oneflow.runtime.eager import is_capturing
from oneflow.tensor.call import call, call_view
from oneflow.tensor.strides import storage_offset_of, strided_layout
from oneflow.tensor.tensor import Tensor


def may_copy(input: Tensor) -> bool:
    """Test if `view` may copy: of global tensors and in graphs it copies, as OneFlow does."""
    return input._value.spec.sbp is not None or is_capturing()


def view_as_type(input: Tensor, dtype: DType) -> Tensor:
    """The same bytes as elements of another type; the last dimension changes with the element size.

    Raises:
        RuntimeError: the last dimension does not divide, or its elements are not neighbours, or
            larger elements would not start at a whole number of them.
    """
    spec = input._value.spec
    if dtype is spec.dtype:
        # It keeps strides, which a reshape gives dimensions of size 1 anew.
        return call_view(p.broadcast_to, input, shape=spec.shape)
    have, want = spec.dtype.itemsize, dtype.itemsize
    if have != want:
        types = f"to view {spec.dtype!r} as {dtype!r} (different element sizes)"
        if not spec.shape:
            raise RuntimeError(f"self.dim() cannot be 0 {types}")
        if spec.shape[-1] * have % want:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {want // have} {types}, but got "
                f"{spec.shape[-1]}"
            )
        if reason := invalid_part(input, max(want // have, 1), range(input.ndim - 1)):
            if not may_copy(input):
                raise RuntimeError(f"self.{reason}, {types}")
            input = call(p.reshape, input, shape=spec.shape)
    return call_view(bitcast, input, dtype=dtype, itemsize=have)


def invalid_part(input: Tensor, ratio: int, dims: Iterable[int]) -> str | None:
    """The part of a layout, and its rule, that does not fit elements `ratio` times as large.

    Args:
        input: tensor whose last dimension makes up the larger elements.
        ratio: elements of `input` in each of them.
        dims: the dimensions along which larger elements must start at a whole number of them.

    Returns:
        A text such as ``stride(0) must be divisible by 2, not 3``; None if all fit.
    """
    strides = strided_layout(input).strides
    if strides[-1] != 1:
        return f"stride(-1) must be 1, not {strides[-1]}"
    if ratio == 1:
        return None
    numbers = {"storage_offset()": storage_offset_of(input)}
    numbers |= {f"stride({dim})": strides[dim] for dim in dims}
    for name, elements in numbers.items():
        if elements % ratio:
            return f"{name} must be divisible by {ratio}, not {elements}"
    return None
