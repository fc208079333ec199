"""``torch._check`` and its kind: conditions that programs state, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow

Message = Callable[[], Any] | None
_TEXT = "Expected cond to be True, but got False. (Give `message`, a function of its text.)"


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raise an error of a class unless a condition holds.

    Args:
        error_type: the class.
        cond: the condition.
        message: gives the error's text, which is computed where it is needed only.

    Raises:
        TypeError: `cond` is no bool, or `message` no function.
    """
    if isinstance(cond, flow.Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            "torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_TEXT if message is None else str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise a RuntimeError unless a condition holds; `message` gives its text."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise an IndexError unless a condition holds; `message` gives its text."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise a ValueError unless a condition holds; `message` gives its text."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise a TypeError unless a condition holds; `message` gives its text."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise a NotImplementedError unless a condition holds; `message` gives its text."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise a RuntimeError unless a number is a size, and `max` at most."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: flow.Tensor, message: Message = None
) -> None:
    """Raise an error of a class unless all elements of a tensor hold; they are read.

    Raises:
        TypeError: `cond` is no tensor of bools.
    """
    if not isinstance(cond, flow.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not flow.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: flow.Tensor, message: Message = None) -> None:
    """Raise a RuntimeError unless all elements of a tensor hold; `message` gives its text."""
    _check_tensor_all_with(RuntimeError, cond, message)
