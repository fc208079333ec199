"""Decorators of ``torch.utils.data`` that compare pipes and samples with the types of pipes.

A pipe of a class ``Numbers(IterDataPipe[int])`` is of ``int``; one whose class does not say is of
anything.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Union

from oneflow.data.datapipes import IterDataPipe

_UNIONS = (Union, types.UnionType)
_state = {"validates": True}


def _alternatives(kind: Any) -> list[Any]:
    """The types that a type is one of; those of a variable without a bound are none."""
    if isinstance(kind, TypeVar):
        kinds = kind.__constraints__ or ((kind.__bound__,) if kind.__bound__ else ())
        return [part for other in kinds for part in _alternatives(other)]
    if typing.get_origin(kind) in _UNIONS:
        return [part for other in typing.get_args(kind) for part in _alternatives(other)]
    return [type(None) if kind is None else kind]


def is_subtype(left: Any, right: Any) -> bool:
    """Return whether all of one type are of another one.

    Example:
        >>> from oneflow.mock_torch.pytorch.utils.data.validation import is_subtype
        >>> is_subtype(tuple[int, bool], tuple[int, int] | None), is_subtype(str, int)
        (True, False)
    """
    if right is Any or left == right:
        return True
    targets = _alternatives(right)
    if not targets or Any in targets:
        return True
    sources = [] if left is Any else _alternatives(left)
    return bool(sources) and all(
        any(_is_one_subtype(source, target) for target in targets) for source in sources
    )


def _is_one_subtype(left: Any, right: Any) -> bool:
    left_class, right_class = (typing.get_origin(kind) or kind for kind in (left, right))
    if not (inspect.isclass(left_class) and inspect.isclass(right_class)):
        return bool(left_class == right_class)
    if not issubclass(left_class, right_class):
        return False
    left_items, right_items = typing.get_args(left), typing.get_args(right)
    if not right_items or all(isinstance(item, TypeVar) for item in right_items):
        return True
    return len(left_items) == len(right_items) and all(map(is_subtype, left_items, right_items))


def is_instance(data: Any, kind: Any) -> bool:
    """Return whether something, and what is in it, is of a type.

    Example:
        >>> from oneflow.mock_torch.pytorch.utils.data.validation import is_instance
        >>> is_instance((1, "a"), tuple[int, str]), is_instance([1, "a"], list[int])
        (True, False)
    """
    if kind is Any:
        return True
    kinds = _alternatives(kind)
    return not kinds or any(_is_one_instance(data, other) for other in kinds)


def _is_one_instance(data: Any, kind: Any) -> bool:
    origin, items = typing.get_origin(kind) or kind, typing.get_args(kind)
    if kind is Any or not inspect.isclass(origin):
        return True
    if not isinstance(data, origin):
        return False
    if not items or all(isinstance(item, TypeVar) for item in items):
        return True
    if isinstance(data, tuple):
        return len(data) == len(items) and all(map(is_instance, data, items))
    if isinstance(data, list | set):
        return all(is_instance(part, items[0]) for part in data)
    if isinstance(data, dict):
        return all(
            is_instance(key, items[0]) and is_instance(value, items[1])
            for key, value in data.items()
        )
    return True


def type_of_samples(pipe: Any) -> Any:
    """Return the type of the samples of a pipe, or of a class of pipes, or of an annotation."""
    items = typing.get_args(pipe)
    if items:
        return items[0]
    kind = pipe if inspect.isclass(pipe) else type(pipe)
    for base in kind.__mro__:
        for alias in vars(base).get("__orig_bases__", ()):
            origin = typing.get_origin(alias)
            if inspect.isclass(origin) and issubclass(origin, IterDataPipe):
                (item,) = typing.get_args(alias)
                return Any if isinstance(item, TypeVar) else item
    return Any


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function whose arguments that are annotated as pipes must be pipes of that type.

    Args:
        f: the function.

    Example:
        >>> from oneflow.data.datapipes import IterDataPipe
        >>> from oneflow.mock_torch.pytorch.utils.data.validation import argument_validation
        >>> class Numbers(IterDataPipe[int]): ...
        >>> @argument_validation
        ... def total(pipe: IterDataPipe[str]): ...
        >>> total(Numbers())
        Traceback (most recent call last):
        ...
        TypeError: `pipe` must be a pipe of <class 'str'>, got one of <class 'int'>
    """
    signature, hints = inspect.signature(f), typing.get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            origin = typing.get_origin(hint) or hint
            if not (inspect.isclass(origin) and issubclass(origin, IterDataPipe)):
                continue
            if not isinstance(value, IterDataPipe):
                raise TypeError(f"`{name}` must be an IterDataPipe, got {type(value)}")
            declared, actual = type_of_samples(hint), type_of_samples(value)
            if not is_subtype(actual, declared):
                raise TypeError(f"`{name}` must be a pipe of {declared}, got one of {actual}")
        return f(*args, **kwargs)

    return wrapper


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the ``__iter__`` of a pipe, whose samples must be of its type.

    Args:
        f: the method.

    Raises:
        TypeError: it is another method.
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        if not _state["validates"]:
            yield from f(self)
            return
        kind = type_of_samples(self)
        for sample in f(self):
            if not is_instance(sample, kind):
                raise RuntimeError(
                    f"Expected an instance as subtype of {kind}, but found {sample}({type(sample)})"
                )
            yield sample

    return wrapper


class runtime_validation_disabled:
    """A block, or from now on, in which samples are not compared with the types of their pipes."""

    def __init__(self) -> None:
        self.prev = _state["validates"]
        _state["validates"] = False

    def __enter__(self) -> None:
        """It began with the object."""

    def __exit__(self, *exception: object) -> None:
        _state["validates"] = self.prev
