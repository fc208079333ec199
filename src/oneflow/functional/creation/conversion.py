"""Copies, conversions of dtype and device, and whole-tensor writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType
from oneflow.base.flags import reject_strings
from oneflow.base.keyword_aliases import keyword_aliases, self_by_name
from oneflow.base.layout import require_memory_format
from oneflow.base.placement import Placement, Sharding, parse_device
from oneflow.base.program_name import program_name
from oneflow.base.shape import broadcast_shapes
from oneflow.base.suggestions import did_you_mean
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import plain_number
from oneflow.functional.creation.options import as_dtype
from oneflow.functional.registry import function, register_public
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.elementwise import cast as cast_primitive
from oneflow.primitives.operators.shape import broadcast_to, clone as clone_primitive
from oneflow.tensor.call import call
from oneflow.tensor.methods import attach, attach_method, by_class
from oneflow.tensor.operands import not_a_tensor, require_tensor
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import filled_value, import_array, on_device
from oneflow.tensor.views import keep_history, unwrap, write

# The functions that `to` applies to a tensor when its argument is a class, by class.
VIEW_TYPES: dict[type, Callable[[Tensor], Any]] = {}


@function()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with memory of its own; gradients flow through it.

    Example:
        >>> import oneflow as flow
        >>> flow.clone(flow.ones(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if memory_format is not None:
        require_memory_format(memory_format, "clone", input.ndim)
    return call(clone_primitive, input)


@function(also=("_C.cast",))
def cast(x: Tensor, dtype: DType, pin_memory: bool = False) -> Tensor:
    """`x` with another element type; itself if it has that type.

    Example:
        >>> import oneflow as flow
        >>> flow.cast(flow.tensor([1.9, -1.9]), flow.int32)
        tensor([ 1, -1], dtype=oneflow.int32)
    """
    target = as_dtype(dtype)
    if x._value.spec.dtype is target:
        return x
    return call(cast_primitive, x, dtype=target)


_DeviceLike = Device | Placement | Sharding | str | int


@overload
def to(
    x: Tensor,
    dtype: DType | type,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: Any = None,
) -> Tensor: ...
@overload
def to(
    x: Tensor,
    device: _DeviceLike | None = None,
    dtype: DType | type | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: Any = None,
) -> Tensor: ...
@overload
def to(
    x: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: Any = None,
) -> Tensor: ...
@function()
def to(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`x` on another device, with another dtype, or like another tensor.

    If nothing changes, the result is `x` itself.

    Called as ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other_tensor)``;
    ``to(Tensor)`` is the tensor itself, as for the parameters of a graph's modules.

    Args:
        x: tensor.
        args: device, dtype or tensor.
        kwargs: ``device``, ``dtype``, ``copy=True`` for a copy in any case; ``non_blocking`` and
            ``memory_format`` are accepted and change nothing.

    Raises:
        RuntimeError: there is no such device, one of two tensors is global, or the memory format
            is of tensors with other numbers of dimensions.
        TypeError: an argument that is none of these.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).to(flow.float64).dtype
        oneflow.float64
    """
    if args and isinstance(args[0], type):
        if issubclass(args[0], Tensor):
            return x
        if args[0] in VIEW_TYPES:
            return VIEW_TYPES[args[0]](x)
    device, dtype, copy = _destination(x, args, kwargs)
    result = x if device is None else on_device(x, device)
    if dtype is not None:
        result = cast(result, dtype)
    return clone(x) if copy and result is x else result


def _destination(x: Tensor, args: tuple, kwargs: dict) -> tuple[Device | None, DType | None, bool]:
    """Device, dtype and copy of a call of `to`."""
    options = _positional_destination(args)
    for name, value in kwargs.items():
        if name in options:
            options[name] = value
        elif name == "memory_format":
            require_memory_format(value, "to", x.ndim)
        elif name != "non_blocking":
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
    other = options["other"]
    if other is not None:
        if x.is_global or other.is_global:
            raise RuntimeError(
                "to(other) takes local tensors; for global ones write "
                "`x.to_global(other.placement, other.sbp)`"
            )
        return other.device, other.dtype, options["copy"]
    device = options["device"]
    dtype = options["dtype"]
    return (
        None if device is None else parse_device(device),
        None if dtype is None else as_dtype(dtype),
        options["copy"],
    )


def _positional_destination(args: tuple) -> dict[str, Any]:
    """The positional arguments of `to` by name, told apart by their types."""
    options: dict[str, Any] = {"device": None, "dtype": None, "copy": False, "other": None}
    flags = [arg for arg in args if isinstance(arg, bool)]
    if len(flags) > 1:
        options["copy"] = flags[1]
    for arg in args:
        if arg is None or isinstance(arg, bool):
            continue
        if isinstance(arg, DType | type):
            name, value = "dtype", as_dtype(arg)
        elif isinstance(arg, Tensor):
            name, value = "other", arg
        elif isinstance(arg, Device | Placement | Sharding | str | int):
            name, value = "device", arg
        else:
            raise TypeError(f"to(): expected a device, dtype or tensor, got {type(arg).__name__}")
        if options[name] is not None:
            raise TypeError(f"to(): got two of a kind, {options[name]!r} and {arg!r}")
        options[name] = value
    return options


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor on the CPU; `memory_format` changes nothing.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).cpu().device
        device(type='cpu', index=0)
    """
    require_memory_format(memory_format, "cpu", self.ndim)
    return self.to(CPU)


def cuda(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """This tensor on a CUDA device: the given one, or the current one.

    Args:
        self: a tensor.
        device: default the current one.
        non_blocking: accepted: nothing waits for a transfer before its values are needed.
        memory_format: accepted.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2).cuda() if flow.cuda.is_available() else flow.ones(2)
        >>> x.is_cuda == flow.cuda.is_available()
        True
    """
    require_memory_format(memory_format, "cuda", self.ndim)
    return self.to(Device("cuda") if device is None else parse_device(device))


@keyword_aliases(other="target")
def type_as(self: Tensor, target: Tensor) -> Tensor:
    """This tensor with the dtype and device of `target`, or with its placement and SBP.

    A global tensor becomes local, this rank's part, if `target` is local.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).type_as(flow.zeros(1, dtype=flow.int32))
        tensor([1, 1], dtype=oneflow.int32)
    """
    if not isinstance(target, Tensor):
        raise not_a_tensor("type_as", "target", 1, target)
    if target.is_global:
        return self.to(dtype=target.dtype).to_global(target.placement, target.sbp)
    return (self.to_local() if self.is_global else self).to(target)


TENSOR_TYPES = {
    "BoolTensor": dt.bool_,
    "ByteTensor": dt.uint8,
    "CharTensor": dt.int8,
    "ShortTensor": dt.int16,
    "IntTensor": dt.int32,
    "LongTensor": dt.int64,
    "HalfTensor": dt.float16,
    "BFloat16Tensor": dt.bfloat16,
    "FloatTensor": dt.float32,
    "DoubleTensor": dt.float64,
    "ComplexFloatTensor": dt.complex64,
    "ComplexDoubleTensor": dt.complex128,
}
_TYPE_NAMES = {dtype: name for name, dtype in TENSOR_TYPES.items()}


@overload
def type_(self: Tensor, dtype: None = None) -> str: ...
@overload
def type_(self: Tensor, dtype: DType | type | str, non_blocking: bool = False) -> Tensor: ...
@reject_strings
def type_(self: Tensor, dtype: DType | type | str | None = None, non_blocking: bool = False) -> Any:
    """This tensor with another dtype.

    Without an argument: the name of its type, such as ``oneflow.FloatTensor``, in PyTorch's place
    ``torch.FloatTensor``.

    Raises:
        ValueError: a type name that does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).type(flow.int64)
        tensor([1, 1], dtype=oneflow.int64)
        >>> flow.ones(2).type()
        'oneflow.FloatTensor'
    """
    if dtype is None:
        name = _TYPE_NAMES.get(self.dtype, self.dtype.name)
        parts = (program_name(), self.device.type, self.layout.name.removesuffix("_coo"), name)
        return ".".join(part for part in parts if part not in ("cpu", "strided"))
    if not (isinstance(dtype, DType) or dtype in (bool, int, float, complex)):
        if (name := getattr(dtype, "__name__", str(dtype)).rpartition(".")[2]) not in TENSOR_TYPES:
            raise ValueError(f"invalid type: '{dtype}'{did_you_mean(name, TENSOR_TYPES)}")
        dtype = TENSOR_TYPES[name]
    return self.to(as_dtype(dtype))


@function(method=False)
def typename(obj: Any) -> str:
    """The name of an object's type: `Tensor.type()` of a tensor, else module and class.

    Example:
        >>> import oneflow as flow
        >>> flow.typename(flow.ones(2)), flow.typename(3)
        ('oneflow.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return type_(obj)
    kind = obj if isinstance(obj, type) else type(obj)
    prefix = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return prefix + kind.__qualname__


def _converter(name: str, dtype: DType) -> Callable[..., Tensor]:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            require_memory_format(memory_format, name, self.ndim)
        return cast(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"""This tensor as {dtype!r}.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1]).{name}().dtype
        {dtype!r}
    """
    return convert


for _name, _dtype in {
    "bool": dt.bool_,
    "byte": dt.uint8,
    "char": dt.int8,
    "short": dt.int16,
    "int": dt.int32,
    "long": dt.int64,
    "half": dt.float16,
    "bfloat16": dt.bfloat16,
    "float": dt.float32,
    "double": dt.float64,
    "cfloat": dt.complex64,
    "cdouble": dt.complex128,
}.items():
    attach_method(_name, _converter(_name, _dtype))
for _method in (cpu, cuda, type_as):
    attach(_method.__name__, _method)
attach_method("type", type_)


@reject_strings
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write `other` (tensor, array or number) into this tensor.

    It is broadcast, and converted to this tensor's dtype and device. A parameter may be written to
    outside `no_grad` too, with values that need no gradient.

    Raises:
        RuntimeError: the shapes do not broadcast to this tensor's.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2).copy_(flow.tensor([1, 2]))
        tensor([1., 2.], dtype=oneflow.float32)
    """
    is_parameter = self.requires_grad and self.is_leaf
    if other is self and not is_parameter:
        return self  # nothing changes, even where elements share a place
    if is_parameter and not getattr(other, "requires_grad", False):
        with no_grad():
            return _write_copy(self, other)
    return _write_copy(self, other)


def _write_copy(self: Tensor, other: Any) -> Tensor:
    spec = self._value.spec
    source = other if isinstance(other, Tensor) else import_array(other)
    source = source.to(spec.device, spec.dtype)
    if source._value.spec.shape != spec.shape:
        if broadcast_shapes(source._value.spec.shape, spec.shape) != spec.shape:
            raise RuntimeError(
                f"output with shape {list(spec.shape)} doesn't match the shape "
                f"{list(source.shape)} of the tensor to copy"
            )
        source = call(broadcast_to, source, shape=spec.shape)
    return write(self, keep_history(unwrap(self), clone_primitive(unwrap(source))))


@self_by_name
@by_class
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number (or 0-dim tensor) everywhere.

    Raises:
        RuntimeError: a tensor that has dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).fill_(2)
        tensor([2., 2., 2.], dtype=oneflow.float32)
    """
    require_tensor(self, "fill_")
    spec = self._value.spec
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.ndim} dimensions."
            )
        return _write_copy(self, value)
    target = without_repeats(self)
    shape = target._value.spec.shape
    write(target, filled_value(plain_number(value), shape, spec.dtype, spec.device))
    return self


@function(method=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input` with one number (or 0-dim tensor) everywhere.

    Gradients flow to `value`; those of `input` are 0.

    Raises:
        RuntimeError: a `value` that has dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.fill(flow.zeros(3), 2)
        tensor([2., 2., 2.], dtype=oneflow.float32)
    """
    return fill_(clone(input), value)


def without_repeats(self: Tensor) -> Tensor:
    """`self`, or the view of it that leaves out what `expand` repeats; one number suits all."""
    if self._family is None or 0 not in self.stride():
        return self
    return self[tuple(slice(1) if step == 0 else slice(None) for step in self.stride())]


@by_class
def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).zero_()
        tensor([0., 0.], dtype=oneflow.float32)
    """
    require_tensor(self, "zero_")
    target = without_repeats(self)
    spec = target._value.spec
    write(target, zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device))
    return self


@self_by_name
def pin_memory(self: Tensor) -> Tensor:
    """This tensor: XLA keeps transfer memory of its own.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> x.pin_memory() is x
        True
    """
    return self


def is_pinned(self: Tensor) -> bool:
    """False: see `pin_memory`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_pinned()
        False
    """
    return False


for _method in (copy_, fill_, zero_, pin_memory, is_pinned):
    attach(_method.__name__, _method)
attach("zeros_", zero_)
attach("to_numpy", Tensor.numpy)
# Methods that PyTorch has as functions, too.
register_public("detach", Tensor.detach)
register_public("detach_", Tensor.detach_)
register_public("fill_", fill_)
register_public("zero_", zero_)
