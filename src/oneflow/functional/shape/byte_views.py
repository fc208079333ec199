"""Views of the bytes of a tensor as elements of another type."""

from __future__ import annotations

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
        return call_view(p.reshape, input, shape=spec.shape)
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
        if reason := _other_sizes_refused(input, max(want // have, 1)):
            if not may_copy(input):
                raise RuntimeError(f"self.{reason[0]} must be {reason[1]} {types}")
            input = call(p.reshape, input, shape=spec.shape)
    return call_view(bitcast, input, dtype=dtype, itemsize=have)


def _other_sizes_refused(input: Tensor, ratio: int) -> tuple[str, str] | None:
    """The part of a layout that does not fit elements `ratio` times as large, and the rule."""
    *strides, last = strided_layout(input).strides
    if last != 1:
        return "stride(-1)", f"1, not {last},"
    if ratio == 1:
        return None
    positions = {f"stride({dim})": stride for dim, stride in enumerate(strides)}
    for name, elements in ({"storage_offset()": storage_offset_of(input)} | positions).items():
        if elements % ratio:
            return name, f"divisible by {ratio}, not {elements},"
    return None
