"""Parameters and buffers of lazy layers before their first input."""

from __future__ import annotations

from collections.abc import Sequence
from pickle import HIGHEST_PROTOCOL
from typing import Any, ClassVar, NoReturn, SupportsIndex

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.shape import Size
from oneflow.functional.creation.factory_functions import empty
from oneflow.module.buffer import Buffer
from oneflow.module.parameter import Parameter
from oneflow.tensor.subclasses import disabled_torch_function, enable_overrides
from oneflow.tensor.tensor import Tensor

# Methods that ask for, or change, what such a tensor has.
_WITHOUT_VALUES = frozenset(
    [
        "bfloat16",
        "char",
        "copy_",
        "cpu",
        "cuda",
        "double",
        "float",
        "get_device",
        "half",
        "int",
        "is_complex",
        "is_floating_point",
        "long",
        "requires_grad_",
        "retain_grad",
        "short",
        "to",
        "type",
    ]
)


def _raise_unsupported(function: str) -> NoReturn:
    raise ValueError(
        f"`{function}` cannot take an uninitialized parameter or buffer: the layer gives them "
        "shapes when it is called for the first time, or loads a state dict"
    )


class _Uninitialized(Tensor):
    """A tensor of a lazy layer before its first input: it has neither shape nor values.

    Attributes:
        cls_to_become: the class that it has afterwards.
    """

    is_initialized = False
    cls_to_become: ClassVar[type[Tensor]]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Refuse what computes with the values.

        Raises:
            ValueError: it is none of the methods of dtypes and devices.
        """
        if func.__name__ not in _WITHOUT_VALUES:
            _raise_unsupported(func.__name__)
        return disabled_torch_function(func, types, args, kwargs)

    @property
    def shape(self) -> Size:
        """Raise an error: there is no shape yet.

        Raises:
            RuntimeError: always.
        """
        self._raise_uninitialized("shape")

    def detach(self) -> Tensor:
        """Return itself: a state dict of a lazy layer has it."""
        return self

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise an error: there are no values yet."""
        self._raise_uninitialized("values")

    def __iter__(self) -> NoReturn:
        _raise_unsupported("__iter__")

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

    def materialize(
        self,
        shape: Parameter | Sequence[int] | int,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        """Become an ordinary parameter or buffer.

        Args:
            shape: its shape, or another parameter, whose values it gets.
            device: its device, if it is to be another one.
            dtype: its data type, if it is to be another one.
        """
        device, dtype = device or self.device, dtype or self.dtype
        object.__setattr__(self, "__class__", self.cls_to_become)
        if isinstance(shape, Parameter):
            self.data = shape.data.to(device=device, dtype=dtype)
        else:
            self.data = empty(shape, device=device, dtype=dtype)

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return f"<{type(self).__name__}>"


def require_initialized(weight: Any, function: str) -> None:
    """Check that a function gets a parameter that has a shape.

    Raises:
        ValueError: it has none yet.
    """
    if isinstance(weight, _Uninitialized):
        raise ValueError(
            f"The module passed to `{function}` can't have uninitialized parameters. Make sure to "
            "run the dummy forward before"
        )


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter of a lazy layer before its first input: it has neither shape nor values.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyLinear(3).weight
        <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> Parameter:
        enable_overrides()
        return super().__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        # Everything happens in `__new__`.
        pass

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (type(self), (self.requires_grad, self.device, self.dtype))


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer of a lazy layer before its first input: it has neither shape nor values.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LazyBatchNorm1d().running_mean
        <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        persistent: bool = True,
    ) -> Buffer:
        enable_overrides()
        data = empty(0, device=device, dtype=dtype, requires_grad=requires_grad)
        buffer: Any = super().__new__(cls, data, persistent=persistent)
        object.__setattr__(buffer, "__class__", cls)
        return buffer

    def __init__(
        self,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> None:
        # Everything happens in `__new__`.
        pass

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (type(self), (self.requires_grad, self.device, self.dtype))

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return one of another dtype or on another device."""
        converted = super().to(*args, **kwargs)
        return UninitializedBuffer(device=converted.device, dtype=converted.dtype)
