"""`Parameter`: a leaf tensor that modules list among their parameters."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from pickle import HIGHEST_PROTOCOL
from typing import Any, SupportsIndex

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.flags import reject_strings
from oneflow.base.placement import DeviceOrSharding
from oneflow.functional.creation.options import choose_device, new_shape
from oneflow.primitives.operators.creation import zeros
from oneflow.program.value import ValueOfClass
from oneflow.tensor.composed import ComposedTensor
from oneflow.tensor.subclasses import disabled_torch_function, has_override
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import device_or_sharding, import_array
from oneflow.tensor.views import alias_storage, unwrap


class _ParameterMeta(type):
    """The class of `Parameter`, to which also belong parameters that have classes of their own."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and hasattr(instance, "_is_param")


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the module it is assigned to.

    Args:
        data: the values; memory is shared with this tensor, as in PyTorch. Default: an empty
            tensor.
        requires_grad: whether it gets a gradient; integers and truth values get none.

    Example:
        >>> import oneflow as flow
        >>> p = flow.nn.Parameter(flow.tensor([1.0, 2.0]))
        >>> p.requires_grad, p.is_leaf
        (True, True)
    """

    __torch_function__ = staticmethod(disabled_torch_function)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            return new_parameter((0,), requires_grad=requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): `data` must be a Tensor, got {type(data).__name__}")
        if isinstance(data, ComposedTensor):
            raise TypeError(
                f"Parameter(): `data` must be a tensor of one array, got {type(data).__name__};"
                " make a parameter of its values"
            )
        value = unwrap(data)
        if isinstance(value, ValueOfClass) or has_override(type(data)):
            return _of_class(data, requires_grad)
        parameter = object.__new__(cls)
        parameter._value = value.alias()
        differentiable = data.dtype.is_floating_point or data.dtype.is_complex
        alias_storage(parameter, data, uncounted=False)
        parameter.requires_grad_(requires_grad and differentiable)
        return parameter

    @reject_strings
    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        # Everything happens in `__new__`.
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = _from_value(unwrap(self).alias(), self.requires_grad)
        return copy

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # As of any tensor, see `oneflow.tensor.copy_methods.reduce`.
        spec = unwrap(self).spec
        device, attributes = device_or_sharding(spec), dict(vars(self))
        state = (attributes,) if attributes else ()
        if isinstance(device, Device) and device.type == "meta":
            arguments = tuple(spec.shape), spec.dtype, device, self.requires_grad
            return new_parameter, arguments, *state
        return _rebuild, (self.numpy(), self.dtype, device, self.requires_grad), *state

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return "Parameter containing:\n" + super().__repr__()


def _of_class(data: Tensor, requires_grad: bool) -> Any:
    """A tensor of a class with an override, as a parameter: of the class, and a leaf.

    Raises:
        RuntimeError: `detach` gives a tensor of another class.
    """
    leaf = data.detach()
    if type(leaf) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            f"detach() returns an instance of the same type, but return type "
            f"{type(leaf).__name__} was found instead"
        )
    setattr(leaf, "_is_param", True)  # noqa: B010 - an attribute of users' classes
    return leaf.requires_grad_(requires_grad)


def new_parameter(
    shape: tuple[int, ...],
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = True,
) -> Parameter:
    """A parameter of zeros that shares its memory with nobody; initialisers fill it."""
    device = choose_device(device, None, None)
    value = zeros(shape=new_shape(shape), dtype=dtype or get_default_dtype(), device=device)
    return _from_value(value, requires_grad)


def _from_value(value: Any, requires_grad: bool) -> Parameter:
    parameter = object.__new__(Parameter)
    parameter._value = value
    parameter.requires_grad_(requires_grad)
    return parameter


def _rebuild(array: Any, dtype: DType, device: DeviceOrSharding, requires_grad: bool) -> Parameter:
    return _from_value(unwrap(import_array(array, dtype, device)), requires_grad)


def _reduce_for_process(parameter: Parameter) -> tuple[Any, ...]:
    """Reduce a parameter that is sent to another process, with its memory if that is shared."""
    if not parameter.is_shared():
        return parameter.__reduce_ex__(HIGHEST_PROTOCOL)
    attributes = dict(vars(parameter))
    arguments = (parameter.detach(), parameter.requires_grad)
    return Parameter, arguments, *((attributes,) if attributes else ())


ForkingPickler.register(Parameter, _reduce_for_process)
