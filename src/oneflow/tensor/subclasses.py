"""Subclasses of tensors, whose methods ask ``__torch_function__`` how they are computed.

Functions ask other objects that have the method, too, once there is a class that is asked.

A subclass of its own gets methods in the place of `Tensor`'s, which ask its class; tensors
themselves, and parameters, do not ask and pay nothing.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar

from oneflow.base.shape import Size
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call_view
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor

T = TypeVar("T", bound=Tensor)
# Python's own protocol of objects, and copies, which are made as of any tensor.
_NOT_ASKED = {"as_subclass"} | {
    f"__{name}__"
    for names in (
        "init new init_subclass torch_function dict class annotations hash repr format str dir",
        "sizeof copy deepcopy reduce reduce_ex setstate getstate getattribute setattr delattr",
        "array array_namespace dlpack dlpack_device subclasshook",
    )
    for name in names.split()
}
_VIEWS = ("T", "mT", "H", "mH", "real", "imag", "data")


class FirstSubclass:
    """The first class that is asked, if there is one, and the functions that wait for it.

    Attributes:
        exists: there is one.
        waiting: the functions.
    """

    def __init__(self) -> None:
        self.exists = False
        self.waiting: list[FunctionType] = []


FIRST_SUBCLASS = FirstSubclass()


class _Asking(threading.local):
    """The switch for methods of subclasses; off inside calls of `__torch_function__`."""

    is_on = True


_asking = _Asking()


class DisableTorchFunctionSubclass:
    """A context in which methods of subclasses are those of `Tensor`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.tensor.subclasses import DisableTorchFunctionSubclass
        >>> class Length(flow.Tensor):
        ...     pass
        >>> x = flow.ones(2).as_subclass(Length)
        >>> with DisableTorchFunctionSubclass():
        ...     inside = type(x + 1).__name__
        >>> type(x + 1).__name__, inside
        ('Length', 'Tensor')
    """

    def __enter__(self) -> None:
        self._before, _asking.is_on = _asking.is_on, False

    def __exit__(self, *exception: object) -> None:
        _asking.is_on = self._before


def _types_of(values: Iterable[Any]) -> tuple[type, ...]:
    """The classes of arguments that are asked, each once; of lists and tuples, of their items."""
    flat = [
        item
        for value in values
        for item in (value if isinstance(value, list | tuple) else (value,))
    ]
    return tuple(dict.fromkeys(type(item) for item in flat if asks(type(item))))


def asks(kind: type) -> bool:
    """Return whether functions, and methods if it is one of tensors, ask a class."""
    if kind is Tensor:
        return False
    function: Any = getattr(kind, "__torch_function__", None)
    return function is not None and not hasattr(
        getattr(function, "__func__", function), "asks_nothing"
    )


def begin_asking() -> None:
    """Let functions ask: there is a class that is asked."""
    FIRST_SUBCLASS.exists = True
    while FIRST_SUBCLASS.waiting:
        copy = FIRST_SUBCLASS.waiting.pop()
        _let_ask(copy, copy)


@functools.cache
def asking(function: FunctionType, asked_for: Any = None) -> FunctionType:
    """Return a copy of a function that asks the classes of its tensors, if they are to be asked.

    It is the same object with the same code until there is a class that is asked: those who keep
    it, or have it in a dictionary, find it again, and those who never make such a class do not
    pay for it.

    Args:
        function: the function.
        asked_for: what classes are told to compute, by default the function that is returned. A
            function that is given it asks at once: it is a method of a class that is asked.
    """
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    if asked_for is not None or FIRST_SUBCLASS.exists:
        _let_ask(copy, asked_for or copy)
    else:
        FIRST_SUBCLASS.waiting.append(copy)
    return copy


def _let_ask(copy: Any, asked_for: Callable[..., Any]) -> None:
    """Give a copy of a function the code of `_ask`, and what that needs as a default."""
    parts = (copy.__wrapped__, asked_for, _asking, _types_of, ask_classes)
    # First the default: another thread may call the function between the two lines.
    copy.__kwdefaults__ = {**(copy.__kwdefaults__ or {}), "_parts": parts}
    # The number of cells must stay what it was; the code does not look at them.
    copy.__code__ = _ask.__code__.replace(co_freevars=copy.__code__.co_freevars)


def _ask(*args: Any, _parts: tuple[Any, ...], **kwargs: Any) -> Any:
    """The code of functions that ask, whose global names are those of the functions they copy."""
    function, asked_for, switch, types_of, ask = _parts
    types = types_of((*args, *kwargs.values())) if switch.is_on else ()
    if not types:
        return function(*args, **kwargs)
    return ask(asked_for, types, args, kwargs)


def ask_classes(
    function: Callable[..., Any], types: tuple[type, ...], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Return what the first class that knows how says a function gives, the most special first.

    Raises:
        TypeError: none knows.
    """
    kinds: list[Any] = sorted(types, key=lambda kind: -len(kind.__mro__))
    for kind in kinds:
        result = kind.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = [kind.__name__ for kind in kinds]
    raise TypeError(f"no implementation of `{function.__name__}` for {names}: each was asked")


def _torch_function(
    cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Call a function, and give tensors that it makes this class.

    A subclass overrides it, a class method, to compute functions in other ways.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        return _of_class(func(*args, **(kwargs or {})), cls, args)


def _of_class(result: Any, kind: type[Tensor], operands: Any) -> Any:
    """A result with tensors of a class."""
    if type(result) is Tensor:
        if any(result is operand for operand in operands):
            return as_subclass(result, kind)
        object.__setattr__(result, "__class__", kind)
        return result
    if isinstance(result, tuple | list) and not isinstance(result, Size):
        parts = [_of_class(item, kind, operands) for item in result]
        cls: Any = type(result)
        return cls(*parts) if hasattr(result, "_fields") else cls(parts)
    return result


def call_as_it_is(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a function: the `__torch_function__` of classes whose methods do not ask."""
    return func(*args, **(kwargs or {}))


vars(call_as_it_is)["asks_nothing"] = True


def as_subclass(self: Tensor, cls: type[T]) -> T:
    """Return the tensor as one of a subclass, on the same memory and with the same history.

    Example:
        >>> import oneflow as flow
        >>> class Length(flow.Tensor):
        ...     pass
        >>> x = flow.ones(2).as_subclass(Length)
        >>> type(x).__name__, type(x.sum() * 2).__name__
        ('Length', 'Length')
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"`cls` must be a subclass of Tensor, got {cls!r}")
    result: Any = call_view(reshape, self, shape=self._value.spec.shape)
    object.__setattr__(result, "__class__", cls)
    return result


def make_subclass(cls: type[T], data: Tensor, require_grad: bool = False) -> T:
    """Return a leaf of a subclass on the memory of a tensor."""
    result: Any = Tensor.detach(data)
    object.__setattr__(result, "__class__", cls)
    return result.requires_grad_(require_grad)


class _WithAttributes:
    """A first base of subclasses whose other bases have dictionaries of their own."""

    __dict__ = vars(Tensor)["__dict__"]


def _store_state_separately(cls: Any) -> None:
    """Let `__dict__` of a subclass hold what users set, even if `Tensor` is not its first base."""
    dicts = (vars(kind) for kind in cls.__mro__ if "__dict__" in vars(kind))
    if next(dicts)["__dict__"] is not vars(Tensor)["__dict__"]:
        cls.__bases__ = (_WithAttributes, *cls.__bases__)


def prepare(cls: Any, **options: Any) -> None:
    """Give a new subclass methods that ask it, unless it says that it is not asked."""
    super(Tensor, cls).__init_subclass__(**options)
    _store_state_separately(cls)
    if not asks(cls):
        return
    if cls.__module__.partition(".")[0] != "oneflow":
        begin_asking()  # for classes of this package their first tensor does
    for name, member in list(vars(Tensor).items()):
        is_private = name.startswith("_") and not name.startswith("__")
        if is_private or name in _NOT_ASKED or getattr(cls, name, None) is not member:
            continue
        if inspect.isfunction(member):
            setattr(cls, name, asking(member, member))
        elif name in _VIEWS and isinstance(member, property):
            getter: Any = member.fget
            setattr(cls, name, property(asking(getter, getter), member.fset))


setattr(Tensor, "__torch_function__", classmethod(_torch_function))  # noqa: B010
setattr(Tensor, "__init_subclass__", classmethod(prepare))  # noqa: B010
attach("as_subclass", as_subclass)
attach("_make_subclass", staticmethod(make_subclass))
