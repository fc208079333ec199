"""Calls of job functions' time: names that have other arguments or results today."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from oneflow.base.location import PACKAGE
from oneflow.functional.operator_names import is_in_job_body, without_name

_F = TypeVar("_F", bound=Callable[..., Any])


class _Earlier(NamedTuple):
    """A function with the arguments of OneFlow 0.1 to 0.4, and when a call means it.

    Attributes:
        function: what the name was then.
        matches: of the arguments by the names that they had then: whether they are of that time.
    """

    function: Callable[..., Any]
    matches: Callable[[Mapping[str, Any]], bool]


_earlier: dict[Callable[..., Any], _Earlier] = {}


def _always(arguments: Mapping[str, Any]) -> bool:
    return True


def earlier_meaning_of(
    *functions: Callable[..., Any], matches: Callable[[Mapping[str, Any]], bool] = _always
) -> Callable[[_F], _F]:
    """Decorator: in bodies of jobs, calls of `functions` whose arguments fit mean this function.

    Args:
        functions: functions or classes of `oneflow`.
        matches: decides by the arguments under their earlier names, where both meanings would take
            them.
    """

    def register(function: _F) -> _F:
        for name in functions:
            _earlier[name] = _Earlier(function, matches)
        return function

    return register


def earlier_meaning(
    current: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """The function that the caller's caller meant by `current` in job functions' time.

    None where it is what it is today: no job's body runs in this thread, or the arguments are
    today's. This package's own calls are today's as well, a name behind the arguments apart.
    """
    if not is_in_job_body():
        return None
    stripped = without_name(current, args)
    earlier = _earlier.get(current)
    if (
        earlier is not None
        and not _is_internal(sys._getframe(2))
        and _matches(earlier, stripped, kwargs)
    ):
        return functools.partial(_call_with, earlier.function, stripped)
    return None if stripped is args else functools.partial(_call_with, current, stripped)


def _call_with(function: Callable[..., Any], args: tuple[Any, ...], *_: Any, **kwargs: Any) -> Any:
    """`function` of `args`, which take the place of the arguments by position."""
    return function(*args, **kwargs)


def _is_internal(frame: FrameType) -> bool:
    """True for a frame of this package, but for code that asks overrides and calls the function."""
    while "_parts" in frame.f_code.co_varnames and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(PACKAGE)


def _matches(earlier: _Earlier, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """True if an earlier function takes the arguments of a call."""
    try:
        arguments = inspect.signature(earlier.function).bind(*args, **kwargs).arguments
    except TypeError:
        return False
    return earlier.matches(arguments)
