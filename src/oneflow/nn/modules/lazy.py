"""Layers that learn the number of their inputs from the first input they get."""

from __future__ import annotations

import inspect
from pickle import HIGHEST_PROTOCOL
from typing import Any, ClassVar, NoReturn, SupportsIndex

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.shape import Size
from oneflow.functional.creation.factory_functions import empty
from oneflow.module.buffer import Buffer
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.modules import batchnorm, conv, instancenorm, linear
from oneflow.tensor.subclasses import call_as_it_is
from oneflow.tensor.tensor import Tensor


class _Uninitialized(Tensor):
    """A tensor of a lazy layer before its first input: it has neither shape nor values."""

    __torch_function__ = staticmethod(call_as_it_is)

    @property
    def shape(self) -> Size:
        """Raise an error: there is no shape yet.

        Raises:
            RuntimeError: always.
        """
        self._raise_uninitialized("shape")

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise an error: there are no values yet."""
        self._raise_uninitialized("values")

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            kind, arguments = self.__reduce_ex__(HIGHEST_PROTOCOL)
            memo[id(self)] = kind(*arguments)
        return memo[id(self)]

    def _raise_uninitialized(self, what: str) -> NoReturn:
        raise RuntimeError(
            f"Can't access the {what} of an uninitialized parameter or buffer: the layer gets them "
            "when it is called for the first time, or loads a state dict"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter of a lazy layer before its first input: it has neither shape nor values.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyLinear(3).weight
        <UninitializedParameter>
    """

    def __new__(
        cls,
        requires_grad: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> Parameter:
        return super().__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        # Everything happens in `__new__`.
        pass

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (type(self), (self.requires_grad, self.device, self.dtype))

    def materialize(self, parameter: Parameter) -> None:
        """Become an ordinary parameter, with the values of another one."""
        object.__setattr__(self, "__class__", Parameter)
        self.data = parameter.data.to(device=self.device, dtype=self.dtype)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer of a lazy layer before its first input: it has neither shape nor values.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyBatchNorm1d().running_mean
        <UninitializedBuffer>
    """

    def __new__(cls, device: Device | str | None = None, dtype: DType | None = None) -> Buffer:
        return super().__new__(cls, empty(0, device=device, dtype=dtype))

    def __init__(self, device: Any = None, dtype: Any = None) -> None:
        # Everything happens in `__new__`.
        pass

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (type(self), (self.device, self.dtype))

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return one of another dtype or on another device."""
        converted = super().to(*args, **kwargs)
        return UninitializedBuffer(converted.device, converted.dtype)


_TRACKED = {"affine": True, "track_running_stats": True}


class _LazyModule(Module):
    """Base of lazy layers: `cls_to_become` of the same arguments, after the number of inputs.

    Attributes:
        cls_to_become: the class of the layer after its first input.
        size_dim: the dimension of the input that is counted.
    """

    __signature__: ClassVar[inspect.Signature]
    cls_to_become: ClassVar[type[Module]]
    size_dim: ClassVar[int] = 1
    # Arguments that `cls_to_become` has other defaults for.
    _defaults: ClassVar[dict[str, Any]] = {}
    # Of the weight in a state dict: the dimension that tells the number of inputs.
    _weight_dim: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        signature = inspect.signature(
            cls.__init__ if "__init__" in vars(cls) else cls.cls_to_become
        )
        # All but `self`, or the number of inputs.
        cls.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        bound = inspect.signature(self.cls_to_become).bind(1, *args, **kwargs).arguments
        self._size_name, *_ = bound
        self._arguments = {**self._defaults, **bound}
        self._groups = bound.get("groups", 1)
        # Made once with some number of inputs, to see what it has and whether arguments are right.
        example = self._make(self._groups)
        for name, parameter in example._parameters.items():
            lazy = None
            if parameter is not None:
                lazy = UninitializedParameter(device=parameter.device, dtype=parameter.dtype)
            self.register_parameter(name, lazy)
        for name, buffer in example._buffers.items():
            lazy = buffer
            if buffer is not None and buffer.ndim:
                lazy = UninitializedBuffer(buffer.device, buffer.dtype)
            self.register_buffer(name, lazy)
        self.register_forward_pre_hook(_initialize)

    def _make(self, size: int) -> Module:
        return self.cls_to_become(**{**self._arguments, self._size_name: size})

    def has_uninitialized_params(self) -> bool:
        """Return True: an initialised layer is of another class."""
        return True

    def initialize_parameters(self, size: int) -> None:
        """Become a layer of that many inputs."""
        module = self._make(size)
        for name, parameter in module._parameters.items():
            lazy = self._parameters[name]
            if isinstance(lazy, UninitializedParameter):
                lazy.materialize(parameter)
        for name, buffer in module._buffers.items():
            lazy = self._buffers[name]
            if lazy is not None:
                self._buffers[name] = buffer.to(device=lazy.device, dtype=lazy.dtype)
        state = {**vars(self), **{k: v for k, v in vars(module).items() if k not in vars(self)}}
        hooks = state["_forward_pre_hooks"]
        for number in [n for n, hook in hooks.items() if hook is _initialize]:
            del hooks[number]
        del state["_arguments"], state["_groups"], state["_size_name"]
        object.__setattr__(self, "__class__", self.cls_to_become)
        vars(self).clear()
        vars(self).update(state)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name, dim in (("weight", self._weight_dim), ("running_mean", 0)):
            given = state_dict.get(f"{prefix}{name}")
            if given is not None and not isinstance(given, _Uninitialized):
                self.initialize_parameters(given.shape[dim] * (self._groups if dim else 1))
                self._load_from_state_dict(state_dict, prefix, *args, **kwargs)
                return
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def extra_repr(self) -> str:
        given = {**self._arguments, self._size_name: "?"}
        return ", ".join(f"{name}={value}" for name, value in given.items())


def _initialize(module: _LazyModule, inputs: tuple[Tensor, ...]) -> None:
    """Initialise a lazy layer from its first input, before the call."""
    module.initialize_parameters(inputs[0].shape[module.size_dim])


class LazyLinear(_LazyModule):
    """`Linear` without `in_features`: the size of the last dimension of the first input.

    Attributes:
        weight, bias: those of `Linear`; the weight gets its shape and values in the first call.

    Shape:
        input: ``(*, F)``.
        output: ``(*, out_features)``.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.LazyLinear(3)
        >>> layer(flow.ones(2, 5)).shape, layer
        (oneflow.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = linear.Linear
    size_dim = -1


class LazyConv1d(_LazyModule):
    """`Conv1d` without `in_channels`.

    Attributes:
        weight, bias: those of `Conv1d`; the weight gets its shape and values in the first call.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: as of `Conv1d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyConv1d(6, 3)(flow.ones(1, 4, 9)).shape
        oneflow.Size([1, 6, 7])
    """

    cls_to_become = conv.Conv1d
    size_dim = -2


class LazyConvTranspose1d(_LazyModule):
    """`ConvTranspose1d` without `in_channels`.

    Attributes:
        weight, bias: those of `ConvTranspose1d`; the weight gets its shape in the first call.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: as of `ConvTranspose1d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyConvTranspose1d(6, 3)(flow.ones(1, 4, 9)).shape
        oneflow.Size([1, 6, 11])
    """

    cls_to_become = conv.ConvTranspose1d
    size_dim = -2
    _weight_dim = 0


class LazyBatchNorm1d(_LazyModule):
    """`BatchNorm1d` without `num_features`.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as of `BatchNorm1d`; they
            get their shapes in the first call.

    Shape:
        input: ``(N, C, L)`` or ``(N, C)``.
        output: ``(N, C, L)`` or ``(N, C)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyBatchNorm1d()(flow.ones(1, 4, 9)).shape
        oneflow.Size([1, 4, 9])
    """

    cls_to_become = batchnorm.BatchNorm1d
    _weight_dim = 0


class LazyInstanceNorm1d(_LazyModule):
    """`InstanceNorm1d` without `num_features`, with weights and statistics by default.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as of `InstanceNorm1d`;
            they get their shapes in the first call.

    Shape:
        input: ``(N, C, L)``.
        output: ``(N, C, L)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyInstanceNorm1d()(flow.ones(1, 4, 9)).shape
        oneflow.Size([1, 4, 9])
    """

    cls_to_become = instancenorm.InstanceNorm1d
    _weight_dim = 0
    _defaults: ClassVar[dict[str, Any]] = _TRACKED


class LazyConv2d(_LazyModule):
    """`Conv2d` without `in_channels`.

    Attributes:
        weight, bias: those of `Conv2d`; the weight gets its shape and values in the first call.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: as of `Conv2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyConv2d(6, 3)(flow.ones(1, 4, 9, 9)).shape
        oneflow.Size([1, 6, 7, 7])
    """

    cls_to_become = conv.Conv2d
    size_dim = -3


class LazyConvTranspose2d(_LazyModule):
    """`ConvTranspose2d` without `in_channels`.

    Attributes:
        weight, bias: those of `ConvTranspose2d`; the weight gets its shape in the first call.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: as of `ConvTranspose2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyConvTranspose2d(6, 3)(flow.ones(1, 4, 9, 9)).shape
        oneflow.Size([1, 6, 11, 11])
    """

    cls_to_become = conv.ConvTranspose2d
    size_dim = -3
    _weight_dim = 0


class LazyBatchNorm2d(_LazyModule):
    """`BatchNorm2d` without `num_features`.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as of `BatchNorm2d`; they
            get their shapes in the first call.

    Shape:
        input: ``(N, C, H, W)``.
        output: ``(N, C, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyBatchNorm2d()(flow.ones(1, 4, 9, 9)).shape
        oneflow.Size([1, 4, 9, 9])
    """

    cls_to_become = batchnorm.BatchNorm2d
    _weight_dim = 0


class LazyInstanceNorm2d(_LazyModule):
    """`InstanceNorm2d` without `num_features`, with weights and statistics by default.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as of `InstanceNorm2d`;
            they get their shapes in the first call.

    Shape:
        input: ``(N, C, H, W)``.
        output: ``(N, C, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyInstanceNorm2d()(flow.ones(1, 4, 9, 9)).shape
        oneflow.Size([1, 4, 9, 9])
    """

    cls_to_become = instancenorm.InstanceNorm2d
    _weight_dim = 0
    _defaults: ClassVar[dict[str, Any]] = _TRACKED


class LazyConv3d(_LazyModule):
    """`Conv3d` without `in_channels`.

    Attributes:
        weight, bias: those of `Conv3d`; the weight gets its shape and values in the first call.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: as of `Conv3d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyConv3d(6, 3)(flow.ones(1, 4, 9, 9, 9)).shape
        oneflow.Size([1, 6, 7, 7, 7])
    """

    cls_to_become = conv.Conv3d
    size_dim = -4


class LazyConvTranspose3d(_LazyModule):
    """`ConvTranspose3d` without `in_channels`.

    Attributes:
        weight, bias: those of `ConvTranspose3d`; the weight gets its shape in the first call.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: as of `ConvTranspose3d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyConvTranspose3d(6, 3)(flow.ones(1, 4, 9, 9, 9)).shape
        oneflow.Size([1, 6, 11, 11, 11])
    """

    cls_to_become = conv.ConvTranspose3d
    size_dim = -4
    _weight_dim = 0


class LazyBatchNorm3d(_LazyModule):
    """`BatchNorm3d` without `num_features`.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as of `BatchNorm3d`; they
            get their shapes in the first call.

    Shape:
        input: ``(N, C, D, H, W)``.
        output: ``(N, C, D, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyBatchNorm3d()(flow.ones(1, 4, 9, 9, 9)).shape
        oneflow.Size([1, 4, 9, 9, 9])
    """

    cls_to_become = batchnorm.BatchNorm3d
    _weight_dim = 0


class LazyInstanceNorm3d(_LazyModule):
    """`InstanceNorm3d` without `num_features`, with weights and statistics by default.

    Attributes:
        weight, bias, running_mean, running_var, num_batches_tracked: as of `InstanceNorm3d`;
            they get their shapes in the first call.

    Shape:
        input: ``(N, C, D, H, W)``.
        output: ``(N, C, D, H, W)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyInstanceNorm3d()(flow.ones(1, 4, 9, 9, 9)).shape
        oneflow.Size([1, 4, 9, 9, 9])
    """

    cls_to_become = instancenorm.InstanceNorm3d
    _weight_dim = 0
    _defaults: ClassVar[dict[str, Any]] = _TRACKED
