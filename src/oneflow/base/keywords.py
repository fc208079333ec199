"""Errors of calls with a keyword that does not exist say which one is meant, perhaps.

Python does so by itself from 3.13 on.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from oneflow.base.suggestions import did_you_mean

_UNKNOWN = re.compile(r"got an unexpected keyword argument '(\w+)'$")


def keyword_hint(text: str, names: Iterable[str]) -> str:
    """Return the end of Python's message for a keyword that a function does not have."""
    unknown = _UNKNOWN.search(text)
    return "" if unknown is None else did_you_mean(unknown[1], names)


def suggest_keyword(error: TypeError, function: Callable[..., Any]) -> None:
    """Add to Python's error of a call of a function which of its keywords is meant, perhaps."""
    text = str(error)
    if text.startswith(f"{function.__qualname__}() "):
        error.args = (f"{text}{keyword_hint(text, _keywords_of(function))}",)


class _Make:
    """Makes an object, unless its `__init__` does not have a keyword, and has one like it."""

    def __call__(self, kind: type[KeywordSuggestion], *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            _check_keywords(kind.__init__, kwargs)
        make = super(KeywordSuggestion, kind).__new__
        return make(kind) if make is object.__new__ else make(kind, *args, **kwargs)


class KeywordSuggestion:
    """Base class of classes whose constructors suggest keywords.

    Example:
        >>> import oneflow as flow
        >>> try:
        ...     flow.nn.Linear(3, 2, bas=False)
        ... except TypeError as error:
        ...     print(error)
        Linear.__init__() got an unexpected keyword argument 'bas'; did you mean 'bias'?
    """

    __slots__ = ()

    if not TYPE_CHECKING:
        # No function: tools that show how a class is called would show the parameters of that.
        __new__ = _Make()


def _check_keywords(init: Callable[..., Any], keywords: dict[str, Any]) -> None:
    names = _keywords_of(init)
    for name in keywords:
        if names and name not in names and (hint := did_you_mean(name, names)):
            raise TypeError(
                f"{init.__qualname__}() got an unexpected keyword argument {name!r}{hint}"
            )


def set_extra_keywords(wrapper: Callable[..., Any], keywords: Iterable[str]) -> None:
    """Say which keywords a wrapper of a function takes besides the function's own."""
    setattr(wrapper, "extra_keywords", tuple(keywords))  # noqa: B010


def _keywords_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The keywords of a function of Python; none if it takes any, or if nobody knows."""
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        extra, inner = getattr(function, "extra_keywords", None), _keywords_of(wrapped)
        return () if extra is None or not inner else (*inner, *extra)
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return ()
    return code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
