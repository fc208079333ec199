"""Tensors from nothing: filled with one number, ranges, identity matrices."""

from __future__ import annotations

import math
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import (
    Category,
    DType,
    bool_,
    complex_dtype,
    get_default_dtype,
    int64,
)
from oneflow.base.layout import require_memory_format, require_new_memory_format
from oneflow.base.limits import require_range
from oneflow.base.placement import Placement
from oneflow.base.sbp import SbpLike
from oneflow.functional.creation.options import (
    checked_dtype,
    choose_device,
    choose_device_like,
    new_shape,
    with_grad,
)
from oneflow.functional.registry import function
from oneflow.primitives.operators import creation as p
from oneflow.primitives.operators.shape import broadcast_to, reshape
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.operands import element_value
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import filled_value, move
from oneflow.tensor.views import unwrap


def number_dtype(*numbers: Any) -> DType:
    """The dtype of a tensor of Python numbers: bool, int64, default float or default complex."""
    kinds = {type(number) for number in numbers}
    if complex in kinds:
        return complex_dtype(get_default_dtype())
    if all(isinstance(number, bool) for number in numbers):
        return bool_
    return int64 if all(isinstance(number, int) for number in numbers) else get_default_dtype()


def plain_number(value: Any) -> Any:
    """A tensor or NumPy number of one element as a Python number."""
    return value.item() if hasattr(value, "item") else value


def _is_symbolic(value: Any) -> bool:
    """True for a tensor without a value, because a graph is being recorded."""
    return isinstance(value, Tensor) and unwrap(value).is_symbolic


def _number_dtype_of(value: Any) -> DType:
    """The dtype of a tensor of a number, which may be in a tensor of one element."""
    if not _is_symbolic(value):
        return number_dtype(plain_number(value))
    kinds = {Category.BOOL: False, Category.INTEGER: 0, Category.COMPLEX: 0j}
    return number_dtype(kinds.get(value.dtype.category, 0.0))


def _filled(value: Any, shape: tuple[int, ...], dtype: DType, device: Any) -> Value:
    """A value with a number everywhere, which may be in a tensor of one element."""
    if not _is_symbolic(value):
        return filled_value(plain_number(value), shape, dtype, device)
    number = reshape(element_value(value.detach(), dtype), shape=())
    filled = broadcast_to(number, shape=shape)
    return filled if filled.spec.device is device else move(filled, device)


@function(method=False)
def zeros(
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of zeros.

    Args:
        size: sizes, as separate numbers or one sequence.
        dtype: element type, default the default float type.
        device: where it lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for its gradient.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, 2)
        tensor([[0., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    value = p.zeros(
        shape=new_shape(size),
        dtype=checked_dtype(dtype, get_default_dtype()),
        device=choose_device(device, placement, sbp),
    )
    return with_grad(wrap(value), requires_grad)


@function(method=False)
def ones(
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ones; arguments as in `zeros`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(3, dtype=flow.int64)
        tensor([1, 1, 1], dtype=oneflow.int64)
    """
    value = p.ones(
        shape=new_shape(size),
        dtype=checked_dtype(dtype, get_default_dtype()),
        device=choose_device(device, placement, sbp),
    )
    return with_grad(wrap(value), requires_grad)


@function(method=False)
def empty(
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor whose contents do not matter (zeros); arguments as in `zeros`.

    Example:
        >>> import oneflow as flow
        >>> flow.empty(2, 3).shape
        oneflow.Size([2, 3])
    """
    if memory_format is not None:
        require_new_memory_format(memory_format, "empty", len(new_shape(size)))
    return zeros(
        *size,
        dtype=dtype,
        device=device,
        placement=placement,
        sbp=sbp,
        requires_grad=requires_grad,
    )


@function(method=False)
def full(
    size: Any,
    fill_value: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with one number everywhere; its dtype is the number's unless given.

    Args:
        size: shape.
        fill_value: number, or tensor of one element.
        dtype: default bool, int64 or the default float or complex type, after the number.
        device: where it lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for its gradient.

    Example:
        >>> import oneflow as flow
        >>> flow.full((2,), 7)
        tensor([7, 7], dtype=oneflow.int64)
    """
    dtype = checked_dtype(dtype, _number_dtype_of(fill_value))
    shape = new_shape((size,))
    return with_grad(
        wrap(_filled(fill_value, shape, dtype, choose_device(device, placement, sbp))),
        requires_grad,
    )


@function(method=False, keyword_aliases={"s": "value"})
def scalar_tensor(
    value: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A number as a tensor without dimensions.

    Args:
        value: number, or tensor of one element.
        dtype: default the default float type, whatever the number.
        device: where it lives, default CPU.
        requires_grad: ask for its gradient.

    Example:
        >>> import oneflow as flow
        >>> flow.scalar_tensor(3)
        tensor(3., dtype=oneflow.float32)
    """
    dtype = checked_dtype(dtype, get_default_dtype())
    return full((), value, dtype, device, requires_grad=requires_grad)


def _like(
    name: str,
    input: Tensor,
    dtype: DType | None,
    device: Any,
    placement: Any,
    sbp: Any,
    memory_format: Any,
) -> dict:
    """Creation attributes after a tensor's example."""
    if not isinstance(input, Tensor):
        raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    spec = input._value.spec
    require_memory_format(memory_format, name, spec.ndim)
    return {
        "shape": spec.shape,
        "dtype": checked_dtype(dtype, spec.dtype),
        "device": choose_device_like(spec, device, placement, sbp),
    }


@function(method=False)
def zeros_like(
    input: Tensor,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros with the shape, dtype and device of `input`, unless given.

    Args:
        input: the example; if it is global so is the result, with its placement and sbp.
        dtype: element type.
        device: where it lives.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for its gradient.
        memory_format: accepted for PyTorch's sake.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros_like(flow.ones(2))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    value = p.zeros(**_like("zeros_like", input, dtype, device, placement, sbp, memory_format))
    return with_grad(wrap(value), requires_grad)


@function(method=False)
def ones_like(
    input: Tensor,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones with the shape, dtype and device of `input`, unless given; arguments as in `zeros_like`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones_like(flow.zeros(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """
    value = p.ones(**_like("ones_like", input, dtype, device, placement, sbp, memory_format))
    return with_grad(wrap(value), requires_grad)


@function(method=False)
def empty_like(
    input: Tensor,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor like `input` whose contents do not matter (zeros); arguments as in `zeros_like`.

    Example:
        >>> import oneflow as flow
        >>> flow.empty_like(flow.ones(2)).shape
        oneflow.Size([2])
    """
    value = p.zeros(**_like("empty_like", input, dtype, device, placement, sbp, memory_format))
    return with_grad(wrap(value), requires_grad)


@function(method=False)
def full_like(
    input: Tensor,
    fill_value: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One number everywhere, with the shape, dtype and device of `input`, unless given.

    The arguments after `fill_value`, a number or a tensor of one element, are as in `zeros_like`.

    Example:
        >>> import oneflow as flow
        >>> flow.full_like(flow.ones(2), 5)
        tensor([5., 5.], dtype=oneflow.float32)
    """
    value = _filled(
        fill_value, **_like("full_like", input, dtype, device, placement, sbp, memory_format)
    )
    return with_grad(wrap(value), requires_grad)


@function(method=False, fills_out=True)
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` up to, not including, `end`.

    Args:
        start: first number, default 0; a single positional argument is `end`.
        end: bound.
        step: distance, not zero.
        dtype: default int64 if all three are integers, else the default float type.
        device: where it lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for its gradient.

    Raises:
        RuntimeError: `step` is zero or leads away from `end`, or a number is not finite or beyond
            64 bits.
        ValueError: `step` is zero as the int64 that `dtype` asks for.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(1, 7, 2)
        tensor([1, 3, 5], dtype=oneflow.int64)
    """
    if end is None:
        start, end = None, start
    start = 0 if start is None else start
    start, end, step = plain_number(start), plain_number(end), plain_number(step)
    if not all(map(math.isfinite, (start, end, step))):
        raise RuntimeError(f"unsupported range: {start} -> {end} in steps of {step}")
    is_integer = all(isinstance(number, int) for number in (start, end, step))
    dtype = checked_dtype(dtype, int64 if is_integer else get_default_dtype())
    for number in (start, end, step) if is_integer else ():
        require_range(number, number, dtype if dtype.name == "uint64" else int64)
    if step == 0:
        raise RuntimeError("step must be nonzero, got 0")
    if (end - start) * step < 0:
        raise RuntimeError(f"arange(): {end} is not reached from {start} by steps of {step}")
    size = -((start - end) // step) if is_integer else math.ceil((end - start) / step)
    if dtype.category is Category.INTEGER and not is_integer:
        # As in PyTorch, int64 counts from bounds without their fractions, other types with them.
        start, end, step = int(start), int(end), int(step)
        if dtype is int64:
            if step == 0:
                raise ValueError("step must be nonzero, but it is 0 as int64")
            size = max(-((start - end) // step), 0)
        is_integer = True
    make = p.range_integer if is_integer else p.range_float
    value = make(start, step, size=size, dtype=dtype, device=choose_device(device, placement, sbp))
    return with_grad(wrap(value), requires_grad)


@function(method=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The identity matrix of `n` rows and `m` columns (default `n`).

    Raises:
        RuntimeError: a negative size.

    Example:
        >>> import oneflow as flow
        >>> flow.eye(2)
        tensor([[1., 0.],
                [0., 1.]], dtype=oneflow.float32)
    """
    shape = new_shape((n, n if m is None else m))
    value = p.eye(
        shape=shape,
        dtype=checked_dtype(dtype, get_default_dtype()),
        device=choose_device(device, placement, sbp),
    )
    return with_grad(wrap(value), requires_grad)
