"""Moving and converting the tensors of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, overload

from oneflow.base.device import Device
from oneflow.base.dtype import DType, bfloat16, float16, float32, float64
from oneflow.base.layout import require_memory_format
from oneflow.base.placement import Placement
from oneflow.differentiation.grad_mode import no_grad
from oneflow.module.parameter import Parameter
from oneflow.primitives.operators.creation import zeros
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor


class ConversionMixin:
    """The part of a module that moves and converts its parameters and buffers."""

    children: Callable[[], Any]
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _forward_pre_hooks: Any

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter's data, every gradient and every buffer by ``fn`` of it.

        And weights that a hook derives from parameters, see `oneflow.nn.utils.weight_norm`.
        """
        for child in self.children() if recurse else ():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                _convert(parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        for hook in self._forward_pre_hooks.values():
            name = getattr(hook, "target_name", None)
            if name is not None:
                setattr(self, name, fn(getattr(self, name).detach()))
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: what runs often is compiled anyway, see `oneflow.compile`."""

    @overload
    def to(
        self,
        device: Device | str | int | None = None,
        dtype: DType | None = None,
        non_blocking: bool = False,
        *,
        memory_format: Any = None,
    ) -> Self: ...
    @overload
    def to(self, dtype: DType, non_blocking: bool = False) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = False) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and convert all parameters and buffers.

        Takes ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or ``to(tensor)``. Only floating
        point tensors change their dtype. `non_blocking` and `memory_format` are accepted and
        change nothing.

        Raises:
            TypeError: the dtype is not a floating point or complex one.
            RuntimeError: `copy` is given, which only a tensor's `to` takes.
        """
        device, dtype = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            floating = tensor.dtype.is_floating_point or tensor.dtype.is_complex
            new_dtype = dtype if dtype is not None and floating else tensor.dtype
            return tensor.to(device=device or tensor.device, dtype=new_dtype)

        return self._apply(convert)

    def to_global(self, placement: Placement | None = None, sbp: Any = None) -> Self:
        """Make all parameters and buffers global tensors, or give them another placement or SBP.

        Each is converted as `Tensor.to_global` does: with ``broadcast`` all ranks get the values of
        the first one; with ``split`` every rank's tensor is a part of a larger whole.

        Args:
            placement: the devices; those that global parameters have if left out.
            sbp: the SBP of parameters and buffers; their own if left out.

        Raises:
            ValueError: `placement` or `sbp` is missing.

        Example:
            >>> import oneflow as flow
            >>> net = flow.nn.Linear(4, 2)
            >>> net.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast).weight.is_global
            True
        """
        return self._apply(lambda tensor: tensor.to_global(placement, sbp))

    to_consistent = to_global

    def to_local(self) -> Self:
        """Replace all global parameters and buffers by this rank's parts of them.

        Example:
            >>> import oneflow as flow
            >>> net = flow.nn.Linear(4, 2)
            >>> net = net.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast)
            >>> net.to_local().weight.is_global
            False
        """
        return self._apply(lambda tensor: tensor.to_local() if tensor.is_global else tensor)

    def type(self, dst_type: DType) -> Self:
        """Convert all parameters and buffers to `dst_type`."""
        return self._apply(lambda tensor: tensor.to(dtype=dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._to_floating(float32)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._to_floating(float64)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16."""
        return self._to_floating(float16)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16."""
        return self._to_floating(bfloat16)

    def _to_floating(self, dtype: DType) -> Self:
        return self._apply(
            lambda tensor: tensor.to(dtype=dtype) if tensor.dtype.is_floating_point else tensor
        )

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._to_device(Device("cpu"))

    def cuda(self, device: int | Device | str | None = None) -> Self:
        """Move all parameters and buffers to a GPU: the given one, or the current one."""
        return self._to_device(Device("cuda" if device is None else device))

    def _to_device(self, device: Device) -> Self:
        # `to` is not called: a subclass may write it by means of `cpu` and `cuda`.
        return self._apply(lambda tensor: tensor.to(device=device))

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def to_empty(self, *, device: Device | str | int, recurse: bool = True) -> Self:
        """Give parameters and buffers new memory on `device` without copying values.

        With `recurse` the tensors of submodules get new memory, too.
        """
        target = Device(device)

        def fresh(tensor: Tensor) -> Tensor:
            return wrap(zeros(shape=tuple(tensor.shape), dtype=tensor.dtype, device=target))

        return self._apply(fresh, recurse)


def _convert(parameter: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
    """Replace the data and the gradient of a parameter, which stays the same object."""
    grad = parameter.grad
    with no_grad():
        data = fn(parameter)
        if data is not parameter:
            parameter.grad = None
            parameter.data = data
            parameter.grad = None if grad is None else fn(grad)


def parse_to(*args: Any, **kwargs: Any) -> tuple[Device | None, DType | None]:
    """The device and dtype meant by the arguments of `Module.to`."""
    kwargs.pop("non_blocking", None)
    require_memory_format(kwargs.pop("memory_format", None), "to")
    if "copy" in kwargs or sum(isinstance(argument, bool) for argument in args) > 1:
        raise RuntimeError(
            "to() of a module does not accept `copy`; copy the module with copy.deepcopy first"
        )
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    other = kwargs.pop("tensor", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for argument in (*args, other):
        if isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, DType):
            dtype = argument
        elif isinstance(argument, str | Device | int) and not isinstance(argument, bool):
            device = argument
        elif argument is not None and not isinstance(argument, bool):
            raise TypeError(f"to() takes a device, a dtype or a tensor, got {argument!r}")
    return None if device is None else Device(device), dtype
