"""Layers that learn the number of their inputs from the first input they get."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from oneflow.module.module import Module
from oneflow.nn.modules import batchnorm, conv, instancenorm, linear
from oneflow.nn.modules.uninitialized import (
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)
from oneflow.tensor.tensor import Tensor

_UNINITIALIZED = (UninitializedBuffer, UninitializedParameter)


def is_lazy(param: object) -> bool:
    """Return whether something is a parameter or buffer without a shape.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.parameter import is_lazy
        >>> is_lazy(flow.nn.LazyLinear(2).weight), is_lazy(flow.nn.Linear(2, 2).weight)
        (True, False)
    """
    return isinstance(param, _UNINITIALIZED)


_TRACKED = {"affine": True, "track_running_stats": True}


class LazyModuleMixin(Module):
    """Base, before `Module`, of layers that make their parameters when they are first called.

    A subclass registers an `UninitializedParameter` for each, and gives them shapes and values in
    `initialize_parameters`.

    Attributes:
        cls_to_become: the class of the layer after its first call, or None to keep its own.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.modules.lazy import LazyModuleMixin, UninitializedParameter
        >>> class Scale(LazyModuleMixin, flow.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = UninitializedParameter()
        ...
        ...     def initialize_parameters(self, x):
        ...         self.factor.materialize(x.shape[-1:])
        ...         flow.nn.init.ones_(self.factor)
        ...
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> Scale()(flow.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """

    cls_to_become: ClassVar[Any] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # As in PyTorch, whose files hold both hooks and their handles.
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        initialize: Any = self._infer_parameters
        self._initialize_hook = self.register_forward_pre_hook(initialize, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Test if a parameter or buffer has neither shape nor values."""
        tensors = (*self._parameters.values(), *self._buffers.values())
        return any(isinstance(tensor, _UNINITIALIZED) for tensor in tensors)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters shapes and values; called with the arguments of the first call."""
        raise NotImplementedError(f"{type(self).__name__} must define `initialize_parameters`")

    def _infer_parameters(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        """Initialise the layer from its first input, before the call.

        Raises:
            RuntimeError: its `initialize_parameters` leaves some without shape.
        """
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(f"{type(self).__name__}.initialize_parameters() must initialize all")
        self._materialize()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Give the parameters the shapes of those that are loaded."""
        for registry in (self._parameters, self._buffers):
            for name, tensor in registry.items():
                loaded = state_dict.get(f"{prefix}{name}")
                if loaded is None or isinstance(loaded, _UNINITIALIZED):
                    continue
                if isinstance(tensor, _UNINITIALIZED):
                    tensor.materialize(loaded.shape)

    def _materialize(self) -> None:
        """Be an ordinary layer from now on."""
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            object.__setattr__(self, "__class__", self.cls_to_become)


class _LazyModule(LazyModuleMixin):
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
    # The dimension of the weight in a state dict that has the number of inputs as its size.
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
        # A layer is made once with some number of inputs, to see its parameters and whether
        # arguments are right.
        example = self._make(self._groups())
        for name, parameter in example._parameters.items():
            lazy = None
            if parameter is not None:
                lazy = UninitializedParameter(device=parameter.device, dtype=parameter.dtype)
            self.register_parameter(name, lazy)
        for name, buffer in example._buffers.items():
            lazy = buffer
            if buffer is not None and buffer.ndim:
                lazy = UninitializedBuffer(device=buffer.device, dtype=buffer.dtype)
            self.register_buffer(name, lazy)

    def _groups(self) -> int:
        """Parts of the inputs that a convolution treats separately."""
        return self._arguments.get("groups", 1)

    def _make(self, size: int) -> Module:
        return self.cls_to_become(**{**self._arguments, self._size_name: size})

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Be a layer for such an input."""
        if self._size_name not in vars(self):
            self._set_size(input.shape[self.size_dim])

    def _set_size(self, size: int) -> None:
        """Be a layer of that many inputs."""
        module = self._make(size)
        for name, parameter in module._parameters.items():
            lazy = self._parameters[name]
            if isinstance(lazy, UninitializedParameter):
                lazy.materialize(parameter)
        for name, buffer in module._buffers.items():
            lazy = self._buffers[name]
            if lazy is not None:
                self._buffers[name] = buffer.to(device=lazy.device, dtype=lazy.dtype)
        for name, value in vars(module).items():
            vars(self).setdefault(name, value)

    def _materialize(self) -> None:
        super()._materialize()
        for name in ("_arguments", "_size_name"):
            del vars(self)[name]

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        for name, dim in (("weight", self._weight_dim), ("running_mean", 0)):
            parameter = state_dict.get(f"{prefix}{name}")
            if parameter is not None and not isinstance(parameter, _UNINITIALIZED):
                if self._size_name not in vars(self):
                    self._set_size(parameter.shape[dim] * (self._groups() if dim else 1))
                break
        super()._lazy_load_hook(state_dict, prefix)

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        """Return the attributes of a layer of no inputs, as PyTorch has them."""
        example = self._make(self._groups())
        own = {name: value for name, value in vars(example).items() if name not in vars(self)}
        size = {self._size_name: vars(self).get(self._size_name, 0)}
        return {**own, **example._attributes_in_pytorch(), **size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy, or of a whole layer in a file of PyTorch."""
        name = next(iter(inspect.signature(self.cls_to_become).parameters))
        others = {n: value for n, value in state.items() if n != name or value}
        if "_arguments" not in state:
            others.update(_size_name=name, _arguments=self._arguments_in(state, name))
        super().__setstate__(others)

    def _arguments_in(self, state: dict[str, Any], size_name: str) -> dict[str, Any]:
        """Return the arguments that have led to the attributes of a layer of PyTorch."""
        arguments: dict[str, Any] = {size_name: 1}
        parameters = state["_parameters"]
        for name in inspect.signature(self.cls_to_become).parameters:
            if name in state:
                arguments.setdefault(name, state[name])
            elif name in parameters:
                arguments[name] = parameters[name] is not None
            elif name in ("device", "dtype") and parameters.get("weight") is not None:
                arguments[name] = getattr(parameters["weight"], name)
        return arguments

    def extra_repr(self) -> str:
        arguments = {**self._arguments, self._size_name: vars(self).get(self._size_name, "?")}
        return ", ".join(f"{name}={value}" for name, value in arguments.items())


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
        output: the same as for `Conv1d`.

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
        output: the same as for `ConvTranspose1d`.

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
        output: the same as for `Conv2d`.

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
        output: the same as for `ConvTranspose2d`.

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
        output: the same as for `Conv3d`.

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
        output: the same as for `ConvTranspose3d`.

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
