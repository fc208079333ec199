"""`function` turns one definition into everything users call.

Users call public functions, Tensor methods, in-place forms and keyword aliases.
`tools/make_facades.py` writes the façades, such as `oneflow/__init__.py` and `oneflow/linalg.py`,
from this registry.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from oneflow.base.composed_operand import (
    NestedOperandError,
    SparseOperandError,
)
from oneflow.base.dtype import DType
from oneflow.base.flags import check_flags, flags_of
from oneflow.base.hook import Hook
from oneflow.base.keyword_aliases import rename_keywords, rename_reduction
from oneflow.base.keywords import keyword_hint
from oneflow.base.layout import Layout
from oneflow.base.parameters import Parameters, parameters_of
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.base.traceback import hide_internal_frames
from oneflow.functional.earlier_calls import earlier_meaning
from oneflow.functional.factors_first import factors_by_name
from oneflow.functional.operator_names import job_bodies, note_place_of_name
from oneflow.functional.out_dtypes import casts_results, check_dtype_argument, check_out_dtype
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.argument_errors import argument_error
from oneflow.tensor.call import wrap
from oneflow.tensor.methods import (
    attach,
    attach_defined,
    attach_inplace,
    cast_value,
    write_result,
)
from oneflow.tensor.resizing import replace_memory, resize_to_result
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import write
from oneflow.tuning.host_memory import host_memory_error

F = TypeVar("F", bound=Callable[..., Any])

# Public functions by their path below `oneflow`: "relu", "nn.functional.relu", "linalg.det".
FUNCTIONS: dict[str, Callable[..., Any]] = {}
# Functions of tensors made of others, by the error that found one among the arguments of a function
# whose name each gets.
COMPOSED_CALLS: dict[type[Exception], Hook[Callable[[str, tuple, dict[str, Any]], Any]]] = {
    SparseOperandError: Hook("functions of sparse tensors", "oneflow.sparse.dispatch"),
    NestedOperandError: Hook("functions of nested tensors", "oneflow.nested.dispatch"),
}
# The result of a function that makes tensors, for another `layout=` than `strided`.
CREATE_IN_LAYOUT: Hook[Callable[[Callable[..., Any], Layout, tuple, dict[str, Any]], Any]] = Hook(
    "tensors in layouts of sparse ones", "oneflow.sparse.layouts"
)
# Spellings of one argument in PyTorch, OneFlow and NumPy. A function accepts all aliases of the
# names it declares.
_KEYWORD_ALIASES: tuple[tuple[str, ...], ...] = (
    ("input", "x", "self", "a", "x1"),
    ("other", "y", "b", "x2"),
    ("dim", "axis"),
    ("keepdim", "keepdims"),
    ("tensors", "inputs"),
    ("shape", "size"),
    ("min", "a_min"),
    ("max", "a_max"),
)
# Keywords that functions do not declare, with their defaults and annotations.
_ADDED_KEYWORDS = {
    "out": (None, "Tensor | None"),
    "inplace": (False, "bool"),
    "layout": (None, "Any"),
    "pin_memory": (False, "bool"),
}
# PyTorch's of functions that make tensors.
_CREATION_OPTIONS = ("layout", "pin_memory")
# The aliases of an argument by each of them.
_ALIASES_OF = {name: aliases for aliases in _KEYWORD_ALIASES for name in aliases}


def function(
    *,
    method: bool | str = True,
    inplace: bool = False,
    namespace: str | None = "",
    aliases: Sequence[str] = (),
    also: Sequence[str] = (),
    keyword_aliases: Mapping[str, str] | None = None,
    fills_out: bool = False,
) -> Callable[[F], F]:
    """Decorator that publishes a function.

    Type checkers see the function as it is defined; at run time it also takes the other aliases
    of its arguments' names, `out=` and `inplace=`.

    Args:
        method: also make it a `Tensor` method (under that name if a name is given).
        inplace: also make the in-place method ``name_``.
        namespace: the module below `oneflow` that users import it from (``"nn.functional"``,
            ``"linalg"``); empty for `oneflow` itself, None for what is a method only.
        aliases: further names of the function in its namespace, of the method and of its in-place
            form, such as ``absolute`` for ``abs``.
        also: further paths of the function below `oneflow`, such as ``"special.expit"`` for
            ``sigmoid``; a path that ends in the name of an in-place method (``"sin_"``) publishes
            that.
        keyword_aliases: further argument names of this function alone, each with the declared name
            that it stands for.
        fills_out: the result is a sequence of numbers, which fills any `out=` of as many elements.

    Raises:
        ValueError: a name is taken.
    """

    def register(body: F) -> F:
        name = body.__name__.removesuffix("_")
        public: Any = _accept_keyword_aliases(body, keyword_aliases or {}, inplace, fills_out)
        if namespace is not None:
            # `help(flow.sum)` says so, where the module calls it `sum_` to keep Python's.
            public.__name__ = name
        elif isinstance(method, str):
            public.__name__ = method
        inplace_methods: dict[str, Any] = {}
        if method:
            for method_name in (method if isinstance(method, str) else name, *aliases):
                attach(method_name, public)
                if inplace:
                    inplace_methods[f"{method_name}_"] = attach_inplace(f"{method_name}_", public)
        if namespace is not None:
            for public_name in (name, *aliases):
                register_public(f"{namespace}.{public_name}" if namespace else public_name, public)
        for path in also:
            register_public(path, inplace_methods.get(path.rpartition(".")[2], public))
        return public

    return register


def register_public(path: str, public: Callable[..., Any]) -> None:
    """Make `path` below `oneflow` a public name of the function `public`, which has others.

    Raises:
        ValueError: the path is taken.
    """
    if path in FUNCTIONS:
        raise ValueError(f"function `{path}` is already defined")
    FUNCTIONS[path] = public
    note_place_of_name(path, public)


def attach_current(*functions: Callable[..., Any]) -> None:
    """Make functions methods that mean what they do today in the bodies of jobs, too.

    Raises:
        ValueError: Tensor has a method of such a name.
    """
    for public in functions:
        attach_defined(public.__name__, _calling(public))


def _calling(public: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this package that calls `public`, and so means what it means today."""

    @functools.wraps(public)
    def method(*args: Any, **kwargs: Any) -> Any:
        return public(*args, **kwargs)

    return method


def inplace_form(public: Callable[..., Any], *paths: str) -> Callable[..., Any]:
    """Publish the in-place form of a function that takes `inplace`, and return it.

    Raises:
        ValueError: a path is taken.
    """

    @functools.wraps(public)
    def inplace(*args: Any, **kwargs: Any) -> Any:
        return public(*args, inplace=True, **kwargs)

    inplace.__name__ = inplace.__qualname__ = f"{public.__name__}_"
    inplace.__doc__ = f"In-place version of `{public.__name__}`."
    signature = inspect.signature(public)
    parameters = [
        parameter for name, parameter in signature.parameters.items() if name != "inplace"
    ]
    setattr(inplace, "__signature__", signature.replace(parameters=parameters))  # noqa: B010
    for path in paths:
        register_public(path, inplace)
    return inplace


def attach_inplace_form(public: Callable[..., Any], *paths: str) -> None:
    """Make the in-place form of a function that takes `inplace` a method, and publish it.

    Raises:
        ValueError: Tensor has a method of its name, or a path is taken.
    """
    attach_defined(f"{public.__name__}_", inplace_form(public, *paths))


def _rename_map(parameter_names: Sequence[str], extra: Mapping[str, str]) -> dict[str, str]:
    """The declared name of each other spelling that a function takes."""
    name_of: dict[tuple[str, ...], str | None] = {}
    for name in parameter_names:
        if aliases := _ALIASES_OF.get(name):
            # Two aliases of one argument are two arguments of this function.
            name_of[aliases] = None if aliases in name_of else name
    rename = dict(extra)
    for aliases, name in name_of.items():
        if name is not None:
            rename |= dict.fromkeys(aliases, name)
    for name in parameter_names:
        rename.pop(name, None)
    return rename


def _accept_keyword_aliases(
    body: Callable, extra: Mapping[str, str], inplace: bool, fills_out: bool
) -> Callable:
    """`body` that also takes aliases of its arguments, and arguments that it does not declare.

    OneFlow 0.x let programs name each operator; `name=` is accepted and changes nothing, in the
    body of a job also as a text behind the other arguments. Free when called without keywords, or
    with declared ones only.
    """
    parameters = parameters_of(body)
    variadic, parameter_names = parameters.variadic, parameters.names
    keywords = frozenset(parameter_names) - {variadic, "layout"}
    rename = _rename_map(parameter_names, extra)
    takes_out = "out" in parameter_names
    writes_back = inplace and "inplace" not in parameter_names
    first = parameter_names[0]
    defaults = body.__defaults__ or ()
    dtype_place = _place_of_dtype(body.__name__.removesuffix("_"), parameters, defaults)
    takes_reduction = "reduction" in parameter_names and "size_average" not in parameter_names
    options = _options_of_creation(parameter_names)
    ignored = _ignored_keywords(parameter_names, options)
    put = functools.partial(put_out, fills=fills_out, is_creation=_is_creation(parameter_names))
    flags, first_flag = flags_of(body, parameters.positional, rename, writes_back)
    has_flags = bool(flags.keywords)

    @functools.wraps(body)
    def public(*args: Any, **kwargs: Any) -> Any:
        out = layout = None
        if job_bodies and (earlier := earlier_meaning(public, args, kwargs)):
            return earlier(*args, **kwargs)
        if has_flags and (kwargs or len(args) > first_flag):
            check_flags(public.__name__, flags, args, kwargs)
        try:
            if keywords.issuperset(kwargs):
                return body(*args, **kwargs)
            layout = _take_layout(kwargs, ignored, bool(options))
            if layout not in (None, Layout.strided):
                return CREATE_IN_LAYOUT.value(public, layout, args, kwargs)
            out = None if takes_out else kwargs.pop("out", None)
            _rename_arguments(kwargs, rename, public.__name__, takes_reduction)
            if isinstance(out, Tensor) and len(args) <= dtype_place:
                kwargs["dtype"] = _dtype_of_out(out, args, kwargs, first, public.__name__)
            if writes_back and kwargs.pop("inplace", False):
                out = args[0] if args else kwargs[first]
            args = _by_position(public.__name__, parameters, defaults, args, kwargs)
            result = body(*args, **kwargs)
            return result if out is None else put(out, result, public.__name__)
        except Exception as error:
            result = _result_after_error(error, public, args, kwargs, out=out, layout=layout)
            if result is not NotImplemented:
                return result
            _make_clear(error, public, body, args, kwargs)
            raise

    return _with_signature(public, body, ["out", "inplace"] if inplace else options)


def _take_layout(
    kwargs: dict[str, Any], ignored: Iterable[str], is_creation: bool
) -> Layout | None:
    """Take keywords that change nothing out of a call; return its layout, None if it says none.

    A function that makes a tensor does so in the layout of a sparse `out`.
    """
    layout = {key: kwargs.pop(key, None) for key in ignored}.get("layout")
    if layout is None and is_creation and isinstance(out := kwargs.get("out"), Tensor):
        layout = None if out.layout is Layout.strided else out.layout
    return layout


def _is_creation(parameter_names: Sequence[str]) -> bool:
    """True for functions that make tensors on a device."""
    return {"device", "requires_grad"}.issubset(parameter_names)


def _options_of_creation(parameter_names: Sequence[str]) -> list[str]:
    """PyTorch's options of functions that make tensors, without those that are parameters."""
    if not _is_creation(parameter_names):
        return []
    return [name for name in _CREATION_OPTIONS if name not in parameter_names]


def _rename_arguments(
    kwargs: dict[str, Any], rename: Mapping[str, str], name: str, takes_reduction: bool
) -> None:
    """Give keyword arguments of the function `name` their declared names, in place."""
    if takes_reduction:
        rename_reduction(kwargs)
    rename_keywords(kwargs, rename, name)


def _ignored_keywords(parameter_names: Sequence[str], options: Sequence[str]) -> list[str]:
    """The keywords that a function takes and that its body does not get."""
    names = [*options, "layout"] if "layout" in parameter_names else [*options]
    return names if "name" in parameter_names else [*names, "name"]


def _result_after_error(
    error: Exception, public: Callable, args: tuple, kwargs: dict, **taken: Any
) -> Any:
    """The result of a call that a function itself does not take; NotImplemented if nothing does."""
    kwargs = kwargs | {key: value for key, value in taken.items() if value is not None}
    name = public.__name__
    if type(error) in COMPOSED_CALLS:
        return COMPOSED_CALLS[type(error)].value(name, args, kwargs)
    if (moved := factors_by_name(error, name, args)) is not None:
        tensors, factors = moved
        return public(*tensors, **factors, **kwargs)
    return NotImplemented


def _with_signature(public: Callable, body: Callable, added: Sequence[str]) -> Callable:
    """`public` with the signature of `body` and further keywords."""
    if added:
        setattr(public, "__signature__", _public_signature(body, added))  # noqa: B010
    return public


def _make_clear(
    error: Exception, public: Callable, body: Callable, args: tuple, kwargs: dict[str, Any]
) -> None:
    """Hide our frames in an error of a function; one that says little is raised anew.

    An error of Python about the arguments then names the public function and a similar argument.
    """
    if isinstance(error, MemoryError):
        raise host_memory_error(public.__name__, error) from None
    clear = argument_error(error, public.__name__, body, args, kwargs)
    if clear is not None:
        raise clear from None
    text = str(error)
    if isinstance(error, TypeError) and text.startswith(f"{body.__qualname__}() "):
        text = public.__name__ + text.removeprefix(body.__qualname__)
        error.args = (f"{text}{keyword_hint(text, inspect.signature(public).parameters)}",)
    hide_internal_frames(error)


def _place_of_dtype(name: str, parameters: Parameters, defaults: tuple) -> float:
    """The number of arguments before `dtype`, which `out=` says if it is left out.

    It is infinite for a keyword, and -1 if the function chooses no dtype by itself, or if `out=`
    must have the dtype that it chooses.
    """
    if not casts_results(name):
        return -1
    if "dtype" in parameters.keyword_only:
        return math.inf if parameters.keyword_only["dtype"] is None else -1
    if "dtype" not in parameters.positional:
        return -1
    place = parameters.positional.index("dtype")
    from_end = place - len(parameters.positional)
    return place if len(defaults) >= -from_end and defaults[from_end] is None else -1


def _dtype_of_out(
    out: Tensor, args: tuple, kwargs: dict[str, Any], first: str, name: str
) -> DType | None:
    """The dtype that `out=` says; the given one if it is real and the operand complex.

    Raises:
        RuntimeError: another one is given.
    """
    x, dtype = args[0] if args else kwargs.get(first), kwargs.get("dtype")
    if dtype is not None:
        check_dtype_argument(out.dtype, dtype, name)
    is_complex = isinstance(x, Tensor) and x.dtype.is_complex
    return dtype if is_complex and not out.dtype.is_complex else out.dtype


def _by_position(
    function_name: str, parameters: Parameters, defaults: tuple, args: tuple, kwargs: dict[str, Any]
) -> tuple:
    """The arguments by position, where the variadic one is a keyword: `size=(2, 3)` for `*size`.

    Raises:
        TypeError: one without a default is missing.
    """
    if parameters.variadic not in kwargs:
        return args
    names, values = parameters.positional, kwargs.pop(parameters.variadic)
    for name in names[len(args) :]:
        index = names.index(name) - len(names)
        if name not in kwargs and -index > len(defaults):
            raise TypeError(f"{function_name}() missing argument '{name}'")
        args = (*args, kwargs.pop(name) if name in kwargs else defaults[index])
    return (*args, values)


def _public_signature(body: Callable, names: Sequence[str]) -> inspect.Signature:
    """The signature of `body`, with keywords that `_accept_keyword_aliases` adds."""
    signature = inspect.signature(body)
    parameters = [*signature.parameters.values()]
    added = []
    for name in names:
        default, annotation = _ADDED_KEYWORDS[name]
        if name not in signature.parameters:
            keyword = inspect.Parameter.KEYWORD_ONLY
            added.append(inspect.Parameter(name, keyword, default=default, annotation=annotation))
    last = len(parameters) - (parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    return signature.replace(parameters=[*parameters[:last], *added, *parameters[last:]])


def _warn_of_resize(out: Tensor, result: Tensor) -> None:
    """Warn a program of PyTorch whose ``out=`` has elements, and not the result's shape."""
    if out.numel():
        warn_in_place_of_pytorch(
            "An output with one or more elements was resized since it had shape "
            f"{list(out.shape)}, which does not match the required output shape "
            f"{list(result.shape)}. This behavior is deprecated: give an `out` of that shape, or "
            "resize it to zero elements with resize_(0)."
        )


def put_out(
    out: Any,
    result: Any,
    name: str,
    fills: bool = False,
    is_creation: bool = False,
    is_one_of_many: bool = False,
) -> Any:
    """Write results into the tensors given as `out=`.

    One of another shape gets that of the result, in the memory that it has, which PyTorch warns of
    unless the function `is_creation`; but a result that `fills` any shape of as many elements
    leaves it as it is. Several are returned as the function returns its results, by name.
    """
    if isinstance(out, tuple | list):
        for target, value in zip(out, result, strict=True):
            put_out(target, value, name, is_creation=is_creation, is_one_of_many=True)
        if not hasattr(result, "_fields"):
            return out
        return getattr(type(result), "type_of_written", type(result))(*out)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if not isinstance(result, Tensor):
        raise RuntimeError(
            f"{name}(): `out` takes one tensor, but this gives {len(result)}; leave it out"
        )
    check_out_dtype(out.dtype, result.dtype, name, is_one_of_many)
    if out.shape == result.shape:
        return write_result(out, result, name)
    value = cast_value(result, out.dtype, name)
    if fills and out.numel() == result.numel():
        return write(out, reshape(value, shape=tuple(out.shape)))
    if not is_creation:
        _warn_of_resize(out, result)
    if out._family is not None:
        return resize_to_result(out, value)
    return replace_memory(out, wrap(value))
