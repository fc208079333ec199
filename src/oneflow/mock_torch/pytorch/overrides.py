"""Names of ``torch.overrides``: functions that call the overrides of their arguments."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.tensor.function_modes import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    pop_mode as _pop_mode,
    push_mode as _push_mode,
)
from oneflow.tensor.subclasses import (
    OVERRIDABLE,
    OVERRIDES,
    DisableTorchFunctionSubclass,
    call_torch_function,
    overridden_members,
    types_of,
)
from oneflow.tensor.tensor import Tensor

#: The modules whose functions ask classes and modes, beside the class of tensors.
_MODULES = ("", ".functional", ".nn.functional", ".nn.init", ".linalg", ".fft", ".special")


class _Hop(threading.local):
    """The state of a thread whose next function that would ask asks nobody."""

    is_skipped = False


_HOP = _Hop()


def _asked(arguments: Iterable[Any]) -> tuple[type, ...]:
    """The classes that are asked, each once; of members of sequences none."""
    if not OVERRIDES.is_on:
        return ()
    return types_of(argument for argument in arguments if not isinstance(argument, list | tuple))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether an argument, or a mode, is asked how to compute a function.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.overrides.has_torch_function([torch.ones(2), 3])
        False
    """
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    if _HOP.is_skipped:
        _HOP.is_skipped = False
        return False
    return bool(OVERRIDES.asked_modes or _asked(relevant_args))


def has_torch_function_unary(input: Any) -> bool:
    """Return whether an argument is asked how to compute a function."""
    return has_torch_function((input,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Return whether an argument is asked how to compute a function."""
    return has_torch_function(relevant_args)


def is_tensor_like(inp: Any) -> bool:
    """Return whether something is a tensor, or is asked how to compute functions."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the innermost mode, or the arguments, how to compute a function.

    Raises:
        TypeError: none of them knows.
    """
    return call_torch_function(public_api, _asked(relevant_args), args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a function that calls the overrides of its arguments.

    Args:
        dispatcher: gives these arguments, of all arguments of the function.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return 2 * x
        >>> double(torch.ones(1)).tolist()
        [2.0]
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapper, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def _get_current_function_mode_stack() -> list[Any]:
    """Return the modes that this thread has entered, the innermost last."""
    return list(OVERRIDES.modes)


def _get_current_function_mode() -> Any:
    """Return the innermost mode of this thread, or None."""
    return OVERRIDES.modes[-1] if OVERRIDES.modes else None


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that ask classes and modes, by the module or class that has them."""
    functions: dict[Any, list[Callable[..., Any]]] = {}
    for path in _MODULES:
        module = MODULE_IN_PLACE.value(f"torch{path}")
        members = dict.fromkeys(f for f in vars(module).values() if callable(f))
        functions[module] = [f for f in members if f in OVERRIDABLE]
    functions[Tensor] = [f for _, f in overridden_members() if callable(f)]
    return functions


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return functions of PyTorch's modules that ask nobody."""
    modules = [MODULE_IN_PLACE.value(f"torch{path}") for path in _MODULES]
    functions = {f for module in modules for f in vars(module).values() if _is_function(f)}
    return functions - OVERRIDABLE


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether something is a method of tensors, or reads one of their properties."""
    return func.__name__ == "__get__" or func in get_overridable_functions()[Tensor]


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the path of a function that asks classes and modes; None for others.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.overrides.resolve_name(torch.linalg.norm)
        'torch.linalg.norm'
    """
    for owner, functions in get_overridable_functions().items():
        if f in functions:
            path = "torch.Tensor" if owner is Tensor else owner.__name__
            return next(f"{path}.{name}" for name, value in vars(owner).items() if value is f)
    return None


def redispatch_function(
    func: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any] | None
) -> Any:
    """Call a function that asks nobody itself; those that it calls ask again.

    Args:
        func: the function that a ``__torch_function__`` got.
        types: the classes that it got; not used.
        args: its arguments.
        kwargs: those by name.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> class Doubled(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return 2 * torch.overrides.redispatch_function(func, types, args, kwargs)
        >>> torch.exp(torch.zeros(1).as_subclass(Doubled)).item()
        2.0
    """
    if func in OVERRIDABLE or is_tensor_method_or_property(func):
        with DisableTorchFunctionSubclass():
            return inspect.unwrap(func)(*args, **(kwargs or {}))
    before, _HOP.is_skipped = _HOP.is_skipped, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _HOP.is_skipped = before


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Let a ``__torch_dispatch__`` ask again for operators in a block, which it does as it is."""
    yield


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return a function with the parameters of each one that can be overridden; it returns -1.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.overrides.get_testing_overrides()[torch.add](1, 2)
        -1
    """
    members = (f for functions in get_overridable_functions().values() for f in functions)
    return {function: _like(function) for function in members}


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the parameters of another; all arguments that are optional there are here."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some of built-in classes
        return lambda *args, **kwargs: -1
    plain = [
        parameter.replace(
            annotation=inspect.Parameter.empty,
            default=None
            if parameter.default is not inspect.Parameter.empty
            else inspect.Parameter.empty,
        )
        for parameter in parameters
        if not parameter.name.startswith("_")
    ]
    text = str(inspect.Signature(plain))[1:-1]
    return eval(f"lambda {text}: -1")


__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]
