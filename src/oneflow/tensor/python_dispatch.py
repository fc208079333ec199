"""Tensors and modes that compute operators themselves: the state of ``__torch_dispatch__``.

Functions and methods are operators to a class with a ``__torch_dispatch__``, and to a mode with
one. Both are asked from the first such mode, or tensor of such a class, on: functions get code that
asks then, so that a program without any pays nothing. A higher room defines operators, and who is
asked in which order (`DISPATCH_CALL`).
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar
from weakref import ref

from oneflow.base.device import Device, get_default_device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.hook import Hook
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.base.traceback import hide_internal_frames
from oneflow.differentiation.hooks import SUMS
from oneflow.dispatch.call import BIND_OF_CLASS
from oneflow.primitives.operators.elementwise import add
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value, ValueOfClass
from oneflow.tensor.attributes import OF_CLASS, stored_in
from oneflow.tensor.call import wrap
from oneflow.tensor.dispatch_functions import (
    DISPATCH_CLASSES,
    DISPATCH_CODE,
    DISPATCH_MODES,
    LOCK,
    DispatchFunctions,
    note_idle_call,
    note_mode,
)
from oneflow.tensor.methods import attach
from oneflow.tensor.subclasses import (
    ENABLE_DISPATCH,
    ENTERED as FUNCTION_MODES,
    VIEW_PROPERTIES,
    code_with_cells,
    copy_of_function,
    enable_overrides,
    has_dispatch,
    overridden_members,
)
from oneflow.tensor.tensor import Tensor, value_of
from oneflow.tensor.views import with_history_of

T = TypeVar("T", bound=Tensor)
#: Called with a function, a copy of it that asks nobody, and the arguments: the result.
DISPATCH_CALL: Hook[Callable[[FunctionType, FunctionType, tuple, dict[str, Any]], Any]] = Hook(
    "operators of tensors that compute them themselves", "oneflow.mock_torch.python_dispatch.rules"
)
#: Called with an overload of an operator, or with an operator, and the arguments: the result.
CALL_OVERLOAD: Hook[Callable[[Any, tuple, dict[str, Any]], Any]] = Hook(
    "overloads of operators", "oneflow.mock_torch.python_dispatch.rules"
)
CALL_PACKET: Hook[Callable[[Any, tuple, dict[str, Any]], Any]] = Hook(
    "operators", "oneflow.mock_torch.python_dispatch.rules"
)
#: The functions of modules, which ask beside the methods of tensors, when the first asks.
PUBLIC_FUNCTIONS: Hook[Callable[[], Iterable[Any]]] = Hook(
    "the functions that are operators", "oneflow.mock_torch.python_dispatch.rules"
)


class DispatchState(threading.local):
    """The state of ``__torch_dispatch__`` in this thread.

    Attributes:
        is_on: functions ask; not within the computation of an operator.
        modes: the modes that have been entered, the innermost last.
        depth: the number of operators whose ``__torch_dispatch__`` is running: their results have
            no history, which they get when the outermost returns.
    """

    is_on = True
    modes: tuple[Any, ...] = ()
    depth = 0


DISPATCH = DispatchState()
#: Classes of arguments for which nobody is asked.
_PLAIN: set[type] = {Tensor, int, float, bool, complex, str, slice, type(None)}
#: The functions that ask.
DISPATCH_FUNCTIONS = DispatchFunctions()


@dataclass
class WrapperLayout:
    """The memory that a wrapper tells of.

    Attributes:
        strides: its strides; None for those of a contiguous tensor.
        offset: its `storage_offset`.
        shares_history: it is a view of another wrapper, or has views, and a history.
    """

    strides: tuple[int, ...] | None = None
    offset: int = 0
    shares_history: bool = False


class WrapperValue(ValueOfClass):
    """The value of a tensor that has none: its class computes operators by ``__torch_dispatch__``.

    A tensor's own value refers to it weakly. If a value goes on alone (a gradient on its way, an
    operand saved for the backward pass), an alias keeps the tensor.

    Attributes:
        tensor: refers to the tensor.
        keeps: the tensor, of an alias.
        layout: what the tensor tells of its memory.
    """

    __slots__ = ("keeps", "layout", "tensor")
    keeps: Any

    def __init__(self, spec: TensorSpec, tensor: Any, layout: WrapperLayout) -> None:
        super().__init__(spec, recorder=_NO_PROGRAM)
        self.tensor: Callable[[], Any] = ref(tensor)
        self.keeps = None
        self.layout = layout

    def alias(self) -> WrapperValue:
        """Return another handle on the same tensor, without autograd history."""
        tensor = self.tensor()
        other = WrapperValue(self.spec, tensor, self.layout)
        other.keeps = tensor
        return other

    def alias_of_copy(self) -> WrapperValue:
        """Return an alias that keeps a copy of the tensor, which has no history."""
        copy: Any = self._copy()
        return copy._value.alias()

    def kept(self) -> WrapperValue:
        """Return an alias with the same history, which keeps the tensor."""
        alias = self.alias()
        with_history_of(alias, self)
        return alias

    def read(self) -> Any:
        """Refuse to give numbers.

        Raises:
            NotImplementedError: always.
        """
        return _NO_PROGRAM.flush("read")

    def handle(self) -> Any:
        """Return a tensor of the class with this place in the graph: the tensor, or a copy."""
        tensor = self.tensor()
        own = tensor._value
        if own.node is self.node and own.output_index == self.output_index:
            return tensor
        copy = self._copy()
        with_history_of(copy._value, self)
        return copy

    def replaced(self) -> WrapperValue:
        """Give the tensor a new value after a write in place, and return it; this is stale."""
        tensor = self.tensor()
        tensor._value = WrapperValue(self.spec, tensor, self.layout)
        tensor._writes += 1
        self.stale = True
        return tensor._value

    def _copy(self) -> Any:
        """A tensor with the same attributes, and a value of its own without history."""
        tensor = self.tensor()
        copy = Tensor.__new__(type(tensor))
        state = stored_in(copy)
        state.update(stored_in(tensor))
        for name in ("_grad", "_retains_grad", "_former_node"):
            state.pop(name, None)
        state["_value"] = own = WrapperValue(self.spec, copy, self.layout)
        own.stale = self.stale
        return copy


class _NoProgram:
    """The stand-in for the program that would compute the values of a wrapper."""

    symbolic = False

    def flush(self, reason: str) -> Any:
        """Refuse to give numbers.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "a tensor made by `_make_wrapper_subclass` has no values of its own, and this function"
            " asked for them: it is no operator that `__torch_dispatch__` of its class could"
            " compute. Call it with the tensors inside"
        )

    def add_alias(self, value: Value) -> None:
        """Do nothing: there is nothing to come."""

    def note_replacement(self, *arguments: Any) -> None:
        """Do nothing: what a wrapper holds is written by its class."""

    def note_gradient(self, restore: Callable[[], None]) -> None:
        """Do nothing: no check can fail."""


_NO_PROGRAM: Any = _NoProgram()


def is_wrapper(tensor: Any) -> bool:
    """Return whether a tensor was made by `_make_wrapper_subclass`."""
    return isinstance(tensor, Tensor) and type(tensor._value) is WrapperValue


def leaves_of(value: Any) -> Iterator[Any]:
    """The values in arguments, with those in lists, tuples and dictionaries."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves_of(item)
    elif isinstance(value, dict):
        yield from leaves_of(list(value.values()))
    else:
        yield value


def dispatch_types(args: Any, kwargs: Any) -> tuple[type, ...]:
    """Return the classes among arguments that compute operators themselves, each once."""
    kinds = (type(leaf) for leaf in leaves_of((args, kwargs)))
    return tuple(dict.fromkeys(kind for kind in kinds if has_dispatch(kind)))


def is_asked(args: Any, kwargs: Any) -> bool:
    """Return whether a mode, or the class of an argument, computes an operator."""
    return DISPATCH.is_on and bool(DISPATCH.modes or dispatch_types(args, kwargs))


class DisableTorchDispatch:
    """A context in which neither classes nor modes are asked for operators."""

    def __enter__(self) -> None:
        self._before, DISPATCH.is_on = DISPATCH.is_on, False

    def __exit__(self, *exception: object) -> None:
        DISPATCH.is_on = self._before


def _disabled_torch_dispatch(
    cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Compute an operator: the `__torch_dispatch__` of classes that have none of their own."""
    with DisableTorchDispatch():
        return func(*args, **(kwargs or {}))


vars(_disabled_torch_dispatch)["is_disabled"] = True


@ENABLE_DISPATCH.fill
def enable_dispatch_of(cls: type) -> None:
    """Make functions and methods ask a class, of which there is a tensor, from now on."""
    with LOCK:
        enable_dispatch()
        if cls not in DISPATCH_CLASSES:
            DISPATCH_CLASSES.append(cls)


def enable_dispatch() -> None:
    """Make functions and methods ask classes and modes, until a while after the last mode."""
    with LOCK:
        if DISPATCH_FUNCTIONS:
            DISPATCH_FUNCTIONS.enable()
            return
        enable_overrides()  # functions in PyTorch's place are those of this package from then on
        methods = [member for _, member in overridden_members()]
        properties = [vars(Tensor)[name].fget for name in VIEW_PROPERTIES]
        for function in (*PUBLIC_FUNCTIONS.value(), *methods, *properties):
            if isinstance(function, FunctionType):
                _add_dispatch(original_of(function))


def disable_dispatch() -> None:
    """Give functions the code of before again, and forget the classes that they asked."""
    with LOCK:
        DISPATCH_FUNCTIONS.clear()
        DISPATCH_CLASSES.clear()


def original_of(function: FunctionType) -> FunctionType:
    """Return the function behind copies that call overrides, which call it."""
    while function not in DISPATCH_FUNCTIONS:
        parts = (function.__kwdefaults__ or {}).get("_parts")
        if not parts:
            break
        function = parts[0]
    return function


def _add_dispatch(function: FunctionType) -> None:
    if function in DISPATCH_FUNCTIONS:
        return
    copy: Any = copy_of_function(function)
    before = vars(function).get("__wrapped__")
    if before is None:
        del copy.__wrapped__
        vars(function)["__wrapped__"] = copy  # has its signature
    else:
        copy.__wrapped__ = before
    asked = (DISPATCH_MODES, FUNCTION_MODES, DISPATCH_CLASSES)
    call = DISPATCH_CALL.value
    parts = (copy, function, _PLAIN, asked, DISPATCH, call, note_idle_call, hide_internal_frames)
    code = code_with_cells(DISPATCH_CODE, len(function.__code__.co_freevars), __file__)
    DISPATCH_FUNCTIONS.add(function, code, parts)


@BIND_OF_CLASS.fill
def _bind_of_class(primitive: Primitive, operands: tuple, attributes: dict[str, Any]) -> Any:
    """Compute a primitive that a backward pass calls for itself: the sum of two gradients.

    Raises:
        NotImplementedError: it is another one.
    """
    if primitive is add:
        first, second = map(wrap, operands)
        return value_of(first.add(second))
    raise NotImplementedError(
        f"`{primitive.name}` of a tensor made by `_make_wrapper_subclass`, which has no values of"
        " its own: this function is no operator that `__torch_dispatch__` of its class could"
        " compute. Call it with the tensors inside"
    )


def _add_gradients(first: Value, second: Value) -> Value:
    """Add gradients as operators, of which modes are told."""
    depth, DISPATCH.depth = DISPATCH.depth, 0
    try:
        return value_of(wrap(first).add(wrap(second)))
    finally:
        DISPATCH.depth = depth


def _note_modes() -> None:
    SUMS.is_asked = bool(DISPATCH.modes)
    SUMS.add = _add_gradients if DISPATCH.modes else add


def push_mode(mode: Any) -> None:
    """Enter a mode, which computes the operators of this thread."""
    with LOCK:
        enable_dispatch()
        note_mode(DISPATCH_MODES)
    DISPATCH.modes = (*DISPATCH.modes, mode)
    _note_modes()


def pop_mode() -> Any:
    """Leave the innermost mode of this thread, and return it.

    Raises:
        RuntimeError: there is none.
    """
    if not DISPATCH.modes:
        raise RuntimeError("this thread has entered no `TorchDispatchMode`")
    mode, DISPATCH.modes = DISPATCH.modes[-1], DISPATCH.modes[:-1]
    DISPATCH_MODES.pop()
    _note_modes()
    return mode


_MISSING: Any = object()


class _OwnName:
    """A name that is state of tensors, and that a class of wrappers may use for its own.

    Code of this package means the state.

    Args:
        name: the name.
        own_default: what the class has under the name; `_MISSING` for nothing.
    """

    def __init__(self, name: str, own_default: Any) -> None:
        self._name = name
        self._default = getattr(Tensor, name, None)
        self._own_default = own_default

    def _key(self) -> str:
        caller = sys._getframe(2).f_globals.get("__name__", "")
        return self._name if caller.startswith("oneflow.") else self._name + OF_CLASS

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self._default
        key, state = self._key(), stored_in(instance)
        if key == self._name:
            return state.get(key, self._default)
        own = state.get(key, self._own_default)
        if own is not _MISSING:
            return own
        raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self._name!r}")

    def __set__(self, instance: Any, value: Any) -> None:
        stored_in(instance)[self._key()] = value

    def __delete__(self, instance: Any) -> None:
        del stored_in(instance)[self._key()]


def _separate_names(cls: type) -> None:
    """Let a class use the names of tensors' state for attributes of its own."""
    if isinstance(inspect.getattr_static(cls, "_value", None), _OwnName):
        return
    for name in ("_value", "_family", "_chain", "_seen", "_writes", "_former_node"):
        own = inspect.getattr_static(cls, name, _MISSING)
        is_state = own is vars(Tensor).get(name, _MISSING)
        setattr(cls, name, _OwnName(name, _MISSING if is_state else own))


def make_wrapper_subclass(
    cls: type[T],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **options: Any,
) -> T:
    """Return a tensor of a subclass that has a shape and a dtype, and no values.

    The class sets attributes on it, from which its ``__torch_dispatch__`` computes operators.

    Args:
        cls: the class, which has a ``__torch_dispatch__``.
        size: the sizes of its dimensions.
        strides: what `stride()` tells; those of a contiguous tensor by default.
        storage_offset: what `storage_offset()` tells.
        memory_format: changes nothing.
        dtype: its dtype.
        layout: changes nothing.
        device: the device that it tells.
        pin_memory: changes nothing.
        requires_grad: whether it is a leaf that asks for gradients.
        dispatch_sizes_strides_policy: the class is asked for sizes, which is refused.
        dispatch_device: a property `device` of the class takes the place of that of tensors.
        dispatch_layout: a property `layout` of the class likewise.
        options: further ones, of which none means anything here.

    Raises:
        TypeError: the class has no ``__torch_dispatch__``.
        NotImplementedError: the class asks for sizes.
    """
    if not has_dispatch(cls):
        raise TypeError(
            f"{cls.__name__} must define `__torch_dispatch__`: a wrapper has no values, and "
            "operators of it are computed there"
        )
    if dispatch_sizes_strides_policy is not None:
        raise NotImplementedError(
            "`dispatch_sizes_strides_policy`: sizes are those that a wrapper was made with; define "
            "properties of the class for others"
        )
    enable_dispatch_of(cls)
    _separate_names(cls)
    tensor: Any = Tensor.__new__(cls)
    place = get_default_device() if device is None else Device(device)
    spec = spec_of(tuple(int(count) for count in size), dtype or get_default_dtype(), place)
    own = None if strides is None else tuple(int(stride) for stride in strides)
    stored_in(tensor)["_value"] = WrapperValue(
        spec, tensor, WrapperLayout(own, int(storage_offset or 0))
    )
    if requires_grad:
        Tensor.requires_grad_(tensor)
    return tensor


attach("_make_wrapper_subclass", staticmethod(make_wrapper_subclass))
setattr(Tensor, "__torch_dispatch__", classmethod(_disabled_torch_dispatch))  # noqa: B010
