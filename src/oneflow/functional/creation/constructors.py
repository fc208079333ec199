"""`oneflow.Tensor(...)`, typed constructors such as `LongTensor`, and tensors like another."""

from __future__ import annotations

import functools
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype, set_default_dtype
from oneflow.base.flags import reject_strings
from oneflow.base.layout import Layout
from oneflow.base.placement import Placement, parse_device
from oneflow.base.sbp import SbpLike
from oneflow.base.shape import Size
from oneflow.differentiation.grad_mode import is_grad_enabled
from oneflow.functional.creation.conversion import TENSOR_TYPES
from oneflow.functional.creation.factory_functions import empty, full, ones, zeros
from oneflow.functional.creation.from_data import tensor as tensor_from_data
from oneflow.functional.creation.options import (
    checked_dtype,
    choose_device,
    choose_device_like,
    sizes_of,
)
from oneflow.functional.creation.storages import contents_of
from oneflow.functional.registry import function
from oneflow.tensor.methods import attach
from oneflow.tensor.subclasses import enable_dispatch_for
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, numpy_from_data


def _construct(args: tuple, dtype: DType, device: Any) -> Tensor:
    """A tensor from sizes, data or another tensor, as PyTorch's old constructors read them.

    None is no data, as on ranks that take it from another one.
    """
    if len(args) == 1 and args[0] is None:
        args = ()
    if len(args) == 1:
        args = (contents_of(args[0], dtype),)
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype is not dtype:
            raise TypeError(f"expected {dtype!r} (got {args[0].dtype!r}); convert with `.to(...)`")
        # Gradients flow through it.
        records = args[0].requires_grad and is_grad_enabled()
        alias = args[0].view_as(args[0]) if records else args[0].detach()
        return alias.to(parse_device(device))
    if len(args) == 1 and not isinstance(args[0], int | Size):
        return import_array(args[0], dtype, parse_device(device))
    return empty(*(args or (0,)), dtype=dtype, device=device)


def _copy_requires_grad(result: Tensor, args: tuple) -> Tensor:
    """Let an alias ask for its own gradient where it was made while none were recorded."""
    is_alias = len(args) == 1 and isinstance(args[0], Tensor)
    if is_alias and args[0].requires_grad and not result.requires_grad:
        result.requires_grad_()
    return result


def _fill(
    self: Tensor,
    *args: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> None:
    """Make a tensor of the default float type.

    It is made from sizes, from nested lists or an array, or is an alias of a tensor, through which
    gradients flow; in `no_grad` the alias of one that requires grad requires its own.
    """
    result_dtype, default = dtype or get_default_dtype(), None
    if len(args) == 1 and isinstance(args[0], Tensor):
        result_dtype, default = dtype or args[0].dtype, args[0].device
    result = _construct(args, result_dtype, choose_device(device, placement, sbp, default))
    self._value, self._family = result._value, result._family
    self._chain, self._seen = result._chain, result._seen
    _copy_requires_grad(self, args)
    if requires_grad:
        self.requires_grad_()
    enable_dispatch_for(type(self))


@functools.wraps(_fill)
def _initialize(self: Tensor, *args: Any, **options: Any) -> None:
    # A subclass with its own `__new__` has made the tensor of arguments whose meaning it knows.
    if not hasattr(self, "_value"):
        _fill(self, *args, **options)


class _TypedConstructor(type):
    """The type of `LongTensor` and its like.

    Calling one makes a tensor, `isinstance` looks at the dtype.
    """

    dtype: DType
    device_type: str

    def __call__(
        cls,
        *args: Any,
        device: Device | str | None = None,
        placement: Placement | None = None,
        sbp: SbpLike | None = None,
    ) -> Tensor:
        device = choose_device(device, placement, sbp, parse_device(cls.device_type))
        return _copy_requires_grad(_construct(args, cls.dtype, device), args)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.layout is Layout.strided
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )


def set_default_tensor_type(tensor_type: Any) -> None:
    """Set the default float type to the type of a constructor, such as `oneflow.DoubleTensor`.

    Args:
        tensor_type: a typed constructor of floats, or its name, ``"oneflow.DoubleTensor"``.

    Raises:
        TypeError: it is none, or one of integers.

    Example:
        >>> import oneflow as flow
        >>> flow.set_default_tensor_type(flow.DoubleTensor)
        >>> flow.tensor([0.5]).dtype
        oneflow.float64
        >>> flow.set_default_tensor_type("oneflow.FloatTensor")
    """
    dtype = getattr(tensor_type, "dtype", None)
    if isinstance(tensor_type, str):
        dtype = TENSOR_TYPES.get(tensor_type.rpartition(".")[2])
    if dtype is None or not dtype.is_floating_point:
        raise TypeError(
            "set_default_tensor_type(): expected a type of floating point tensors, such as "
            f"oneflow.FloatTensor or its name, got {tensor_type!r}"
        )
    set_default_dtype(dtype)


def _typed(name: str, device_type: str = "cpu") -> Any:
    dtype = TENSOR_TYPES[name]
    module = "oneflow" if device_type == "cpu" else f"oneflow.{device_type}"
    path = f"flow{module.removeprefix('oneflow')}.{name}"
    text = f"""Makes {dtype!r} tensors on {device_type} from sizes, nested lists or arrays.

    Example:
        >>> import oneflow as flow
        >>> isinstance(flow.tensor([1, 0], dtype=flow.{dtype.name}), {path})
        {device_type == "cpu"}
    """
    options = {"dtype": dtype, "device_type": device_type, "__doc__": text, "__module__": module}
    return _TypedConstructor(name, (), options)


BoolTensor = _typed("BoolTensor")
ByteTensor = _typed("ByteTensor")
CharTensor = _typed("CharTensor")
ShortTensor = _typed("ShortTensor")
IntTensor = _typed("IntTensor")
LongTensor = _typed("LongTensor")
HalfTensor = _typed("HalfTensor")
BFloat16Tensor = _typed("BFloat16Tensor")
FloatTensor = _typed("FloatTensor")
DoubleTensor = _typed("DoubleTensor")
ComplexFloatTensor = _typed("ComplexFloatTensor")
ComplexDoubleTensor = _typed("ComplexDoubleTensor")
CudaBoolTensor = _typed("BoolTensor", "cuda")
CudaByteTensor = _typed("ByteTensor", "cuda")
CudaCharTensor = _typed("CharTensor", "cuda")
CudaShortTensor = _typed("ShortTensor", "cuda")
CudaIntTensor = _typed("IntTensor", "cuda")
CudaLongTensor = _typed("LongTensor", "cuda")
CudaHalfTensor = _typed("HalfTensor", "cuda")
CudaBFloat16Tensor = _typed("BFloat16Tensor", "cuda")
CudaFloatTensor = _typed("FloatTensor", "cuda")
CudaDoubleTensor = _typed("DoubleTensor", "cuda")


def _like(
    input: Tensor, ndim: int, dtype: DType | None, device: Any, placement: Any, sbp: Any
) -> dict[str, Any]:
    """The dtype and the device or sharding of `input` where none is given.

    Args:
        input: the example.
        ndim: number of dimensions of the new tensor.
        dtype: as the user gave it, like the rest; None for what was not given.
        device: the device of a local tensor.
        placement: the placement of a global tensor.
        sbp: signatures of a global tensor.
    """
    spec = input._value.spec
    target = choose_device_like(spec, device, placement, sbp, ndim)
    return {"dtype": checked_dtype(dtype, spec.dtype), "device": target}


def _ndim_of(data: Any) -> int:
    """The number of dimensions of a tensor made of `data`."""
    return data.ndim if isinstance(data, Tensor) else numpy_from_data(data, None).ndim


@function()
def new_zeros(
    x: Tensor,
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of another shape, with the dtype and device of `x` unless given.

    Without a size they have the shape of `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, dtype=flow.int64).new_zeros(3)
        tensor([0, 0, 0], dtype=oneflow.int64)
    """
    sizes = sizes_of(size or (x.shape,))
    options = _like(x, len(sizes), dtype, device, placement, sbp)
    return zeros(sizes, **options, requires_grad=requires_grad)


@function()
def new_ones(
    x: Tensor,
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of another shape, with the dtype and device of `x` unless given.

    Without a size they have the shape of `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, dtype=flow.int64).new_ones(3)
        tensor([1, 1, 1], dtype=oneflow.int64)
    """
    sizes = sizes_of(size or (x.shape,))
    options = _like(x, len(sizes), dtype, device, placement, sbp)
    return ones(sizes, **options, requires_grad=requires_grad)


@function()
def new_empty(
    x: Tensor,
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor whose contents do not matter, with the dtype and device of `x` unless given.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, dtype=flow.float64).new_empty(3).dtype
        oneflow.float64
    """
    if not size:
        raise TypeError("`new_empty` needs a `size`; `empty_like` makes one of the same shape")
    options = _like(x, len(sizes_of(size)), dtype, device, placement, sbp)
    return empty(*size, **options, requires_grad=requires_grad)


@function()
def new_full(
    x: Tensor,
    size: Any,
    fill_value: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number everywhere, with the dtype and device of `x` unless given.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).new_full((2,), 7)
        tensor([7., 7.], dtype=oneflow.float32)
    """
    options = _like(x, len(sizes_of((size,))), dtype, device, placement, sbp)
    return full(size, fill_value, **options, requires_grad=requires_grad)


@reject_strings
def new_tensor(
    self: Tensor,
    data: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
) -> Tensor:
    """A copy of `data`, with the dtype and device of this tensor unless given.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, dtype=flow.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=oneflow.float64)
    """
    ndim = _ndim_of(data) if self.is_global else 0
    options = _like(self, ndim, dtype, device, placement, sbp)
    return tensor_from_data(data, **options, requires_grad=requires_grad)


def new(self: Tensor, *args: Any, device: Device | str | None = None) -> Tensor:
    """A tensor from sizes or data with the dtype and device of this one.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2).new([1, 2])
        tensor([1., 2.], dtype=oneflow.float32)
    """
    if device is None and self.is_global:
        is_data = len(args) == 1 and not isinstance(args[0], int | Size)
        ndim = _ndim_of(args[0]) if is_data else len(sizes_of(args or (0,)))
        device = choose_device_like(self._value.spec, None, None, None, ndim)
    return _construct(args, self.dtype, self.device if device is None else device)


attach("__init__", _initialize)
attach("new_tensor", new_tensor)
attach("new", new)
