"""Names of ``torch.overrides``: functions that call the overrides of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from oneflow.mock_torch.missing import Missing
from oneflow.tensor.subclasses import call_torch_function, has_override
from oneflow.tensor.tensor import Tensor


class TorchFunctionMode(Missing):
    """The type of contexts that compute functions in other ways."""

    _reason = (
        "functions ask subclasses of tensors only; a subclass with `__torch_function__` computes"
        " them in another way"
    )


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether an argument is asked how to compute a function.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.overrides.has_torch_function([torch.ones(2), 3])
        False
    """
    return any(has_override(type(argument)) for argument in relevant_args)


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
    """Ask the arguments how to compute a function.

    Raises:
        TypeError: none of them knows.
    """
    kinds = dict.fromkeys(kind for kind in map(type, relevant_args) if has_override(kind))
    return call_torch_function(public_api, tuple(kinds), args, kwargs)


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


__all__ = [
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "wrap_torch_function",
]
