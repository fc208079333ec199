"""Arguments that are true or false: a text is neither, though Python finds it true."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from oneflow.base.keywords import set_extra_keywords
from oneflow.base.parameters import parameters_of

_Function = TypeVar("_Function", bound=Callable[..., Any])
_ANNOTATIONS = frozenset({"bool", "bool | None"})


class Flags(NamedTuple):
    """The flags of a function.

    Attributes:
        places: by name, the number of arguments before each that can be given by position.
        keywords: the names, declared and others, by which they can be given.
    """

    places: dict[str, int]
    keywords: frozenset[str]


def flags_of(
    body: Callable[..., Any],
    positional: Sequence[str],
    rename: Mapping[str, str],
    takes_inplace: bool,
) -> tuple[Flags, int]:
    """Return the flags of a function, by its annotations, and the number of arguments before them.

    Args:
        body: the function.
        positional: its parameters that can be given by position.
        rename: the declared name of each alias that it takes.
        takes_inplace: it takes `inplace` and does not declare it.
    """
    annotations = body.__annotations__.items()
    names = {name for name, kind in annotations if name != "return" and kind in _ANNOTATIONS}
    if takes_inplace:
        names.add("inplace")
    places = {name: place for place, name in enumerate(positional) if name in names}
    aliases = {alias for alias, name in rename.items() if name in names}
    first = min(places.values(), default=len(positional))
    return Flags(places, frozenset(names | aliases)), first


def check_flags(name: str, flags: Flags, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check the flags that the function `name` is called with.

    Raises:
        TypeError: one is a text.
    """
    if str in map(type, args):  # most calls have none
        for flag, place in flags.places.items():
            if place < len(args) and isinstance(args[place], str):
                _raise_type_error(name, f"'{flag}' (position {place + 1})", args[place])
    if str in map(type, kwargs.values()):
        for keyword, value in kwargs.items():
            if keyword in flags.keywords and isinstance(value, str):
                _raise_type_error(name, f"'{keyword}'", value)


def as_flag(name: str, argument: str, value: Any) -> bool:
    """Return an argument of the function `name` as true or false.

    Raises:
        TypeError: it is a text.
    """
    if isinstance(value, str):
        _raise_type_error(name, f"'{argument}'", value)
    return bool(value)


def reject_strings(function: _Function) -> _Function:
    """Make a function or method refuse texts for its parameters that are annotated as bool.

    Functions that `oneflow.functional.registry.function` declares do so by themselves. The errors
    of a constructor name the class that is made.
    """
    positional = [name for name in parameters_of(function).positional if name != "self"]
    flags, first = flags_of(function, positional, {}, False)
    has_self = int(len(positional) < len(parameters_of(function).positional))

    before = first + has_self
    is_constructor = function.__name__ == "__init__"

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) > before:
            name = type(args[0]).__name__ if is_constructor else function.__name__
            check_flags(name, flags, args[has_self:], kwargs)
        return function(*args, **kwargs)

    set_extra_keywords(checked, ())
    return cast(_Function, checked)


def _raise_type_error(name: str, argument: str, text: str) -> None:
    raise TypeError(f"{name}(): argument {argument} must be bool, not str; got {text!r}")
