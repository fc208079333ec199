"""Arguments with more than one name, as in OneFlow, PyTorch and NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from oneflow.base.keywords import set_extra_keywords, suggest_keyword

_Function = TypeVar("_Function", bound=Callable)


def rename_keywords(keywords: dict[str, Any], names: Mapping[str, str], function: str) -> None:
    """Give keyword arguments their declared names, in place.

    Args:
        keywords: arguments by the name a caller used.
        names: declared name by other name.
        function: what was called, for the message.

    Raises:
        TypeError: two names of one argument are used at once.
    """
    for name in [name for name in keywords if name in names]:
        target = names[name]
        if target in keywords:
            raise TypeError(f"{function}() got both `{name}` and `{target}`, which mean the same")
        keywords[target] = keywords.pop(name)


def legacy_reduction(
    size_average: bool | None, reduce: bool | None, reduction: str = "mean"
) -> str:
    """PyTorch's deprecated arguments as a `reduction`, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def rename_reduction(keywords: dict[str, Any]) -> None:
    """Replace PyTorch's deprecated `size_average` and `reduce` of losses by `reduction`."""
    size_average, reduce = keywords.pop("size_average", None), keywords.pop("reduce", None)
    if size_average is not None or reduce is not None:
        keywords["reduction"] = legacy_reduction(size_average, reduce)


def keyword_aliases(**names: str) -> Callable[[_Function], _Function]:
    """Decorator: the function takes arguments by further names, each with the declared one.

    Example:
        >>> from oneflow.base.keyword_aliases import keyword_aliases
        >>> @keyword_aliases(axis="dim")
        ... def size_of(shape, dim):
        ...     return shape[dim]
        >>> size_of((2, 3), axis=1)
        3
    """

    def accept(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            if keywords:
                rename_keywords(keywords, names, function.__name__)
            try:
                return function(*args, **keywords)
            except TypeError as error:
                suggest_keyword(error, function)
                raise

        set_extra_keywords(wrapper, names)
        return wrapper

    return accept


# For methods that are functions, too: PyTorch's and OneFlow's names of the tensor.
self_by_name = keyword_aliases(input="self", x="self", in_="self")
