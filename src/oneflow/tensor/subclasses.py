"""Subclasses of tensors: their ``__torch_function__`` overrides functions and methods.

Functions, and the methods of tensors, call the overrides of their arguments once a class with one
exists (`FIRST_SUBCLASS`), which may be no tensor. A program without such a class pays nothing.
Before the classes they ask the modes that the thread has entered (`function_modes.py`).
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from oneflow.base.hook import Hook
from oneflow.base.shape import Size
from oneflow.base.traceback import hide_internal_frames
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call_view
from oneflow.tensor.methods import attach
from oneflow.tensor.override_state import ENTERED as ENTERED, OVERRIDES as OVERRIDES
from oneflow.tensor.tensor import Tensor

T = TypeVar("T", bound=Tensor)
# Methods of Python's own protocols, and of copies, which are made as of any tensor.
_NEVER_OVERRIDDEN = {"as_subclass"} | {
    f"__{name}__"
    for names in (
        "init new init_subclass torch_function dict class annotations hash repr format str dir",
        "sizeof copy deepcopy reduce reduce_ex setstate getstate getattribute setattr delattr",
        "array array_namespace dlpack dlpack_device subclasshook iter",
    )
    for name in names.split()
}
#: The properties that are views.
VIEW_PROPERTIES = ("T", "mT", "H", "mH", "real", "imag", "data")
#: The methods that overrides get for Python's operators; for others it is the operator's own.
_METHODS_OF_OPERATORS = {
    **{f"__{name}__": name for name in ("abs", "add", "ge", "gt", "le", "lt", "matmul", "mul")},
    **{f"__{name}__": name for name in ("ne", "neg", "sub")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "mul", "sub")},
    **{f"__r{name}__": name for name in ("add", "mul")},
    **{f"__r{name}__": f"bitwise_{name}" for name in ("and", "or", "xor")},
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__ifloordiv__": "floor_divide_",
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__pos__": "positive",
}
#: The names by which overrides know operators that have other ones.
_NAMES_OF_OPERATORS = {"__pow__": "pow", "__ipow__": "pow_", "__rtruediv__": "__rdiv__"}
#: The operators of two operands.
_OPERATORS = {
    *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    *(
        f"__{prefix}{name}__"
        for names in ("add sub mul truediv floordiv mod pow matmul", "and or xor lshift rshift")
        for name in names.split()
        for prefix in ("", "r", "i")
    ),
}
#: Classes of frequent arguments that override nothing.
_PLAIN: set[type] = {Tensor, int, float, bool, complex, str, slice, type(None)}


class FirstSubclass:
    """The state of overrides in the process: a class has one, or functions wait for the first.

    Attributes:
        exists: a class with an override exists.
        waiting: the functions, which call no override yet.
    """

    def __init__(self) -> None:
        self.exists = False
        self.waiting: list[FunctionType] = []


FIRST_SUBCLASS = FirstSubclass()
#: Makes functions ask classes that compute operators, from the first tensor of one on.
ENABLE_DISPATCH: Hook[Callable[[type], None]] = Hook(
    "operators of classes", "oneflow.tensor.python_dispatch"
)


class DisableTorchFunctionSubclass:
    """A context in which subclasses use the methods of `Tensor`.

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
        self._before, OVERRIDES.is_on = OVERRIDES.is_on, False

    def __exit__(self, *exception: object) -> None:
        OVERRIDES.is_on = self._before


def types_of(values: Iterable[Any]) -> tuple[type, ...]:
    """The classes with an override among arguments and the items of lists and tuples, each once."""
    flat = [
        item
        for value in values
        for item in (value if isinstance(value, list | tuple) else (value,))
    ]
    return tuple(dict.fromkeys(type(item) for item in flat if has_override(type(item))))


def has_override(kind: type) -> bool:
    """Return whether a class overrides functions of its objects by ``__torch_function__``."""
    if kind is Tensor:
        return False
    function: Any = getattr(kind, "__torch_function__", None)
    return function is not None and not hasattr(
        getattr(function, "__func__", function), "is_disabled"
    )


@functools.cache
def has_dispatch(kind: type) -> bool:
    """Return whether a class computes the operators of its tensors by ``__torch_dispatch__``."""
    function: Any = getattr(kind, "__torch_dispatch__", None)
    is_own = function is not None and issubclass(kind, Tensor)
    return is_own and not hasattr(getattr(function, "__func__", function), "is_disabled")


def enable_dispatch_for(kind: type) -> None:
    """Make functions ask a class with an override, of which there is a tensor: in layers, too."""
    if has_dispatch(kind) or has_override(kind):
        ENABLE_DISPATCH.value(kind)


def _no_types(values: Iterable[Any]) -> tuple[type, ...]:
    """Ask no class: the function takes objects of any."""
    return ()


def enable_overrides() -> None:
    """Make functions and methods call overrides from now on, since a class with one exists."""
    if FIRST_SUBCLASS.exists:
        return
    FIRST_SUBCLASS.exists = True
    while FIRST_SUBCLASS.waiting:
        copy = FIRST_SUBCLASS.waiting.pop()
        _enable_override(copy, copy)
    methods = {
        name: copy_of_function(member)
        for name, member in overridden_members()
        if inspect.isfunction(member)
    }
    for name, method in methods.items():
        _enable_method(name, method, methods)
        method.__module__, method.__qualname__ = Tensor.__module__, f"Tensor.{name}"
        setattr(Tensor, name, method)
        original: Any = vars(method)["__wrapped__"]
        if original.__qualname__ == f"Tensor.{name}" and hasattr(sys.modules["oneflow"], name):
            original.__module__, original.__qualname__ = "oneflow", name  # for pickle


def overridden_members() -> list[tuple[str, Any]]:
    """The members of `Tensor` that subclasses can override with `__torch_function__`."""
    return [
        (name, member)
        for name, member in vars(Tensor).items()
        if name not in _NEVER_OVERRIDDEN and (name.startswith("__") or not name.startswith("_"))
    ]


def _enable_method(name: str, method: Any, methods: dict[str, Any]) -> None:
    """Make a method call overrides, with the arguments that PyTorch gives for operators."""
    method.__name__ = _NAMES_OF_OPERATORS.get(name, name)
    if name.startswith("__"):
        public_api = methods[_METHODS_OF_OPERATORS.get(name, name)]
        # Python asks the other operand where nobody has a result.
        call = _first_result if name in _OPERATORS else call_torch_function
        _enable_override(method, public_api, call)
    else:
        _enable_override(method, method)


#: The functions that call overrides, or will.
OVERRIDABLE: set[FunctionType] = set()
# Names of one function lead to one copy, also where two threads import modules at once.
_COPY_LOCK = threading.RLock()


def overridable(
    function: FunctionType,
    public_api: Any = None,
    *,
    checks_classes: bool = True,
    name: str | None = None,
    arrange: Callable[[Any, Any], tuple[Any, Any]] | None = None,
) -> FunctionType:
    """Return a copy of a function that calls the overrides of its arguments' classes.

    The copy has the code of the function until a class with an override exists, and stays the same
    object then: whoever keeps it in a dictionary finds it there, and a program without such a class
    does not pay for overrides.

    Args:
        function: the function.
        public_api: the function that overrides get, by default the copy. With it the copy calls
            overrides at once: it is a method of a class with an override.
        checks_classes: False for a function that asks modes alone.
        name: what the copy is called, if not as the function.
        arrange: brings arguments, and those by name, into the form in which overrides get them.
    """
    with _COPY_LOCK:
        return _overridable(function, public_api, checks_classes, name, arrange)


@functools.cache
def _overridable(
    function: FunctionType,
    public_api: Any,
    checks_classes: bool,
    name: str | None,
    arrange: Callable[[Any, Any], tuple[Any, Any]] | None,
) -> FunctionType:
    copy = copy_of_function(function)
    copy.__name__ = name or function.__name__
    OVERRIDABLE.add(copy)
    if arrange is not None:
        vars(copy)["_arrange"] = arrange
    if not checks_classes:
        vars(copy)["_checks_classes"] = False
    if public_api is not None or FIRST_SUBCLASS.exists:
        _enable_override(copy, public_api or copy)
    else:
        FIRST_SUBCLASS.waiting.append(copy)
    return copy


def copy_of_function(function: FunctionType) -> FunctionType:
    """Return another function with the code, defaults and cells of one, which it wraps."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    return copy


def _enable_override(
    copy: Any, public_api: Callable[..., Any], call: Callable[..., Any] | None = None
) -> None:
    """Give a copy of a function the code of `_CALL_OVERRIDE`, and the objects it needs."""
    call = call or call_of(copy)
    asked = types_of if getattr(copy, "_checks_classes", True) else _no_types
    state = (_PLAIN, ENTERED, OVERRIDES)
    parts = (copy.__wrapped__, public_api, *state, asked, call, hide_internal_frames)
    # First the default: another thread may call the function between the two lines.
    copy.__kwdefaults__ = {**(copy.__kwdefaults__ or {}), "_parts": parts}
    cells = len(copy.__code__.co_freevars)
    # The file is this one, so that its frames are skipped where the line of the user is looked for.
    copy.__code__ = code_with_cells(_CALL_OVERRIDE, cells, __file__)


def call_of(copy: Any) -> Callable[..., Any]:
    """Return what calls overrides, with arguments in the form in which they get them."""
    arrange = getattr(copy, "_arrange", None)
    if arrange is None:
        return call_torch_function
    return lambda function, types, args, kwargs: call_torch_function(
        function, types, *arrange(args, kwargs)
    )


#: The code of overridable functions; its global names are those of the copied function. It does not
#: look at the cells of that, of which there must be as many: whoever shows the variables of a frame
#: looks at them.
_CALL_OVERRIDE = """
def of_cells({cells}):
    def call_override(*args, _parts, **kwargs):
        function, public_api, plain, entered, overrides, types_of, call, hide = _parts
        try:
            if not kwargs and not entered and plain.issuperset(map(type, args)):
                return function(*args)
            types = types_of((*args, *kwargs.values())) if overrides.is_on else ()
            if not types and not (entered and overrides.are_asked_by(2)):
                return function(*args, **kwargs)
            return call(public_api, types, args, kwargs)
        except Exception as error:
            hide(error)
            raise
        ({cells})
    return call_override
"""


@functools.cache
def code_with_cells(source: str, count: int, file: str) -> CodeType:
    """Return the code of the function in a function `of_cells`, with so many cells.

    Args:
        source: the text of `of_cells`, with ``{cells}`` where their names stand.
        count: their number.
        file: the file that the code tells as its own.
    """
    names = "".join(f"cell_{number}, " for number in range(count))
    namespace: dict[str, Any] = {}
    exec(compile(source.format(cells=names), file, "exec"), namespace)
    return namespace["of_cells"](*range(count)).__code__


def _first_result(
    function: Callable[..., Any], types: tuple[type, ...], args: Any, kwargs: dict[str, Any]
) -> Any:
    """The result of the innermost mode, or of the first override that has one; `NotImplemented`."""
    modes = OVERRIDES.asked_modes
    if modes:
        OVERRIDES.modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(function, types, args, kwargs)
        finally:
            OVERRIDES.modes = modes
        if result is not NotImplemented:
            return result
    for kind in classes_in_order(types):
        result = kind.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def classes_in_order(types: Iterable[Any]) -> list[Any]:
    """Classes in the order of the arguments, but each before those that it is a subclass of."""
    kinds: list[Any] = []
    for kind in types:
        bases = (place for place, other in enumerate(kinds) if issubclass(kind, other))
        kinds.insert(next(bases, len(kinds)), kind)
    return kinds


def call_torch_function(
    function: Callable[..., Any], types: tuple[type, ...], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Return the result of a mode, or of the first class that has one, subclasses before bases.

    Raises:
        TypeError: each returned `NotImplemented`.
    """
    result = _first_result(function, types, args, kwargs)
    if result is not NotImplemented:
        return result
    names = [type(mode).__name__ for mode in OVERRIDES.asked_modes[-1:]]
    names += [kind.__name__ for kind in types]
    raise TypeError(f"no implementation of `{function.__name__}` for {names}: each was asked")


def _torch_function(
    cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Call a function, and make its results tensors of this class.

    It is the override that subclasses inherit; one defines its own to compute functions otherwise.
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


def disabled_torch_function(
    func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Call a function: the `__torch_function__` of classes that override nothing."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


vars(disabled_torch_function)["is_disabled"] = True


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
    enable_dispatch_for(cls)
    result: Any = call_view(reshape, self, shape=self._value.spec.shape)
    object.__setattr__(result, "__class__", cls)
    return result


def make_subclass(
    cls: type[T],
    data: Tensor,
    require_grad: bool = False,
    *,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    device_for_backend_keys: Any = None,
) -> T:
    """Return a leaf of a subclass on the memory of a tensor.

    Args:
        cls: the class.
        data: the tensor.
        require_grad: whether it asks for gradients.
        dispatch_sizes_strides_policy: the class is asked for sizes, which is refused.
        dispatch_device: changes nothing: properties of the class come first.
        dispatch_layout: likewise.
        device_for_backend_keys: changes nothing.

    Raises:
        NotImplementedError: the class asks for sizes.
    """
    if dispatch_sizes_strides_policy is not None:
        raise NotImplementedError(
            "`dispatch_sizes_strides_policy`: properties of the class can tell other sizes"
        )
    enable_dispatch_for(cls)
    result: Any = Tensor.detach(data)
    object.__setattr__(result, "__class__", cls)
    return result.requires_grad_(require_grad)


class _WithAttributes:
    """A first base of subclasses whose other bases have dictionaries of their own."""

    __dict__ = vars(Tensor)["__dict__"]


def _separate_state(cls: Any) -> None:
    """Keep users' attributes in a subclass's `__dict__`, even if `Tensor` is no first base."""
    dicts = (vars(kind) for kind in cls.__mro__ if "__dict__" in vars(kind))
    if next(dicts)["__dict__"] is not vars(Tensor)["__dict__"]:
        cls.__bases__ = (_WithAttributes, *cls.__bases__)


def prepare(cls: Any, **options: Any) -> None:
    """Give a new subclass methods that call its override, if it has one."""
    super(Tensor, cls).__init_subclass__(**options)
    _separate_state(cls)
    own: Any = getattr(cls, "__torch_function__", None)
    if has_dispatch(cls) and getattr(own, "__func__", None) is _torch_function:
        # A class that computes operators has what they give, and no class is put on it.
        setattr(cls, "__torch_function__", staticmethod(disabled_torch_function))  # noqa: B010
    if not has_override(cls):
        _PLAIN.add(cls)
        return
    if cls.__module__.partition(".")[0] != "oneflow":
        enable_overrides()  # classes of this package do so with their first tensor
    for name, member in overridden_members():
        if getattr(cls, name, None) is not member:
            continue
        if name in VIEW_PROPERTIES and isinstance(member, property):
            getter: Any = member.fget
            setattr(cls, name, property(overridable(getter, getter), member.fset))


setattr(Tensor, "__torch_function__", classmethod(_torch_function))  # noqa: B010
setattr(Tensor, "__init_subclass__", classmethod(prepare))  # noqa: B010
attach("as_subclass", as_subclass)
attach("_make_subclass", staticmethod(make_subclass))
