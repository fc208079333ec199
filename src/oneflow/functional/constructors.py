"""`oneflow.Tensor(...)`, typed constructors such as `LongTensor`, and tensors like another."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.shape import Size
from oneflow.functional.conversion import TENSOR_TYPES
from oneflow.functional.creation import empty, full, ones, zeros
from oneflow.functional.interchange import tensor as tensor_from_data
from oneflow.functional.options import chosen_device, refuse_global
from oneflow.functional.registry import function
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


def _constructed(args: tuple, dtype: DType, device: Any) -> Tensor:
    """A tensor from sizes, data or another tensor, as PyTorch's old constructors read them."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype is not dtype:
            raise TypeError(f"expected {dtype!r} (got {args[0].dtype!r}); convert with `.to(...)`")
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int | Size):
        return Tensor._import(args[0], dtype, chosen_device(device))
    return empty(*(args or (0,)), dtype=dtype, device=device)


def _initialise(
    self: Tensor,
    *args: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Any = None,
    sbp: Any = None,
    requires_grad: bool = False,
) -> None:
    """Make a tensor of the default float type.

    It is made from sizes, from nested lists or an array, or is an alias of a tensor.
    """
    refuse_global(placement, sbp)
    wanted = dtype
    if wanted is None:
        given = args[0] if len(args) == 1 else None
        wanted = given.dtype if isinstance(given, Tensor) else get_default_dtype()
    made = _constructed(args, wanted, device)
    self._value, self._family = made._value, made._family
    self._chain, self._seen = made._chain, made._seen
    if requires_grad:
        self.requires_grad_()


class _TypedConstructor(type):
    """The type of `LongTensor` and its like.

    Calling one makes a tensor, `isinstance` looks at the dtype.
    """

    dtype: DType

    def __call__(cls, *args: Any, device: Device | str | None = None) -> Tensor:
        return _constructed(args, cls.dtype, device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype


def _typed(name: str) -> Any:
    dtype = TENSOR_TYPES[name]
    text = f"Makes {dtype!r} tensors from sizes, nested lists or arrays."
    return _TypedConstructor(name, (), {"dtype": dtype, "__doc__": text, "__module__": "oneflow"})


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


def _defaults(self: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Creation options with the dtype and device of `self` where not given."""
    return {"dtype": self.dtype, "device": self.device} | {
        name: value for name, value in options.items() if value is not None
    }


@function()
def new_zeros(input: Tensor, *size: Any, **options: Any) -> Tensor:
    """Zeros of another shape with the dtype and device of `input`; options as for `zeros`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, dtype=flow.int64).new_zeros(3)
        tensor([0, 0, 0], dtype=oneflow.int64)
    """
    return zeros(*size, **_defaults(input, options))


@function()
def new_ones(input: Tensor, *size: Any, **options: Any) -> Tensor:
    """Ones of another shape with the dtype and device of `input`; options as for `ones`."""
    return ones(*size, **_defaults(input, options))


@function()
def new_empty(input: Tensor, *size: Any, **options: Any) -> Tensor:
    """A tensor of another shape with the dtype and device of `input`; contents do not matter."""
    return empty(*size, **_defaults(input, options))


@function()
def new_full(input: Tensor, size: Any, fill_value: Any, **options: Any) -> Tensor:
    """One number everywhere in another shape, with the dtype and device of `input`."""
    return full(size, fill_value, **_defaults(input, options))


def new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    """A copy of `data` with the dtype and device of this tensor; options as for `tensor`."""
    return tensor_from_data(data, **_defaults(self, options))


def new(self: Tensor, *args: Any, device: Device | str | None = None) -> Tensor:
    """A tensor from sizes or data with the dtype and device of this one."""
    return _constructed(args, self.dtype, self.device if device is None else device)


attach("__init__", _initialise)
attach("new_tensor", new_tensor)
attach("new", new)
