"""Names of ``torch.utils._python_dispatch``: modes and classes that compute operators."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self, runtime_checkable

from oneflow.tensor.python_dispatch import (
    DISPATCH,
    pop_mode as _pop_mode,
    push_mode as _push_mode,
)
from oneflow.tensor.tensor import Tensor


class TorchDispatchMode:
    """The base of contexts that compute operators in other ways, or look at them.

    Within the block each operator becomes a call of ``__torch_dispatch__(func, types, args,
    kwargs)``, where `func` is one of ``torch.ops.aten``; those of backward passes, too, whose
    forward passes ran within such a block.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.utils._python_dispatch import TorchDispatchMode
        >>> class Names(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> x = torch.ones(1, 2)
        >>> with Names():
        ...     y = torch.nn.functional.linear(x, x)
        aten.t.default
        aten.mm.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError(
                f"`_dispatch_key`: operators have one kind of kernel here, got {_dispatch_key}"
            )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute an operator.

        Raises:
            NotImplementedError: the class does not say how.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Ask this mode from now on."""
        _push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a mode, which a ``with`` statement enters."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return False: no mode is one of PyTorch's compiler."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that computes all operators as they are."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator."""
        return func(*args, **(kwargs or {}))


@runtime_checkable
class TensorWithFlatten(Protocol):
    """Protocol: tensors that are made of others, which they name."""

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        """Return the names of attributes that are tensors, and what else makes the tensor."""
        ...

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Any], flatten_spec: Any, outer_size: Any, outer_stride: Any
    ) -> Tensor:
        """Return the tensor of these."""
        ...


TraceableWrapperSubclass = TensorWithFlatten


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the modes that this thread has entered, the innermost last."""
    return list(DISPATCH.modes)


def _get_current_dispatch_mode() -> Any:
    """Return the innermost mode of this thread, or None."""
    return DISPATCH.modes[-1] if DISPATCH.modes else None


def _len_torch_dispatch_stack() -> int:
    """Return how many modes this thread has entered."""
    return len(DISPATCH.modes)


def _get_dispatch_stack_at(index: int) -> Any:
    """Return a mode that this thread has entered, the outermost first."""
    return DISPATCH.modes[index]


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether this thread is in a mode, or in what one computes."""
    return bool(DISPATCH.modes or DISPATCH.depth)


def any_torch_dispatch_mode_on_stack(*, include_infra_modes: bool = True) -> bool:
    """Return whether this thread has entered a mode."""
    return bool(DISPATCH.modes)


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context in which no mode that was entered before is asked."""
    modes = [_pop_mode() for _ in DISPATCH.modes][::-1]
    try:
        yield modes
    finally:
        for mode in modes:
            _push_mode(mode)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether tensors of a class are made of others, which they name."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Return whether a tensor is made of others, which its class names.

    Args:
        t: anything.
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[[str, Any], Any],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """Return a tensor like another one, made of what a function gives for its inner tensors.

    Args:
        t: a tensor whose class has `__tensor_flatten__` and `__tensor_unflatten__`.
        callback: takes the name of an inner tensor, and the tensor.
        outer_size: the size of the result; that of `t` by default.
        outer_stride: its strides, likewise.

    Raises:
        RuntimeError: the result has another size.
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    result = type(t).__tensor_unflatten__(inner, context, size, stride)
    if tuple(result.shape) != tuple(size):
        raise RuntimeError(
            f"`__tensor_unflatten__` of {type(t).__name__} returned a tensor of shape "
            f"{tuple(result.shape)}, expected {tuple(size)}"
        )
    return result


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return what an operator of a wrapper returns: the argument to which it wrote.

    The tensors within wrappers share memory as their classes say, so that views need nothing.

    Args:
        func: the operator.
        args: its arguments.
        kwargs: the arguments by name.
        out: what the class has computed.
    """
    if func.writes and args and isinstance(args[0], Tensor):
        return args[0]
    if kwargs and isinstance(kwargs.get("out"), Tensor):
        return kwargs["out"]
    return out


__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "any_torch_dispatch_mode_on_stack",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]
