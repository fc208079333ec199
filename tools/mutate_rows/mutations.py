"""The ways to break a feature: a function that computes something else, a value that is another.

A Python function is broken in place, by other code in the same object, so that whoever holds it
calls the broken one. What a mutation says is in `tests/seeds/mutations.tsv`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutation(NamedTuple):
    """A line of the table.

    Attributes:
        row: the feature's id, such as ``001-13``.
        kind: a key of `KINDS`, or `UNREACHABLE`.
        target: what is broken: a dotted path, or a key of a table of `oneflow_onnx`.
        detail: what else the kind needs; the reason where there is no mutation.
    """

    row: str
    kind: str
    target: str
    detail: str = ""


# The kind of a row whose feature the tests cannot break here; its detail says why.
UNREACHABLE = "unreachable"


class BadMutation(Exception):
    """A line of the table means nothing; the message says why."""


# --- finding what is broken


def find(path: str) -> tuple[Any, str]:
    """The owner of a dotted path, and the name of the last part."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            owner = importlib.import_module(".".join(parts[:length]))
            break
    else:
        raise BadMutation(f"there is no module in `{path}`")
    for name in parts[length:-1]:
        owner = getattr(owner, name)
    if not hasattr(owner, parts[-1]):
        raise BadMutation(f"`{path}` does not exist")
    return owner, parts[-1]


def find_function(path: str) -> FunctionType:
    """The Python function at a dotted path: of a method, a property or a cached function, too."""
    found: Any = inspect.getattr_static(*find(path))
    if isinstance(found, property):
        found = found.fget
    found = getattr(found, "__func__", found)
    while not isinstance(found, FunctionType) and hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    if not isinstance(found, FunctionType):
        raise BadMutation(f"`{path}` must be a Python function, got {type(found).__name__}")
    return found


def find_lowering(name: str) -> FunctionType:
    """The function that writes a primitive in ONNX."""
    importlib.import_module("oneflow_onnx.oneflow2onnx.flow2onnx")
    return importlib.import_module("oneflow_onnx.oneflow2onnx.lowering").LOWERINGS[name]


def find_importer(name: str) -> FunctionType:
    """The function that computes an operator of ONNX, in operator set 13 or that of ``name 17``."""
    importlib.import_module("oneflow_onnx.x2oneflow.onnx2flow")
    registry = importlib.import_module("oneflow_onnx.x2oneflow.registry")
    operator, _, opset = name.partition(" ")
    found = registry.find_operator("", operator, int(opset or 13))
    if found is None:
        raise BadMutation(f"there is no operator `{name}`")
    return found.function


# --- breaking it


def replace(function: FunctionType, broken: Callable[..., Any]) -> None:
    """Let a function do ``broken(original, *args, **kwargs)``."""
    original = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    inside = threading.local()

    def call(*args: Any, **kwargs: Any) -> Any:
        if getattr(inside, "busy", False):  # what `broken` itself computes
            return original(*args, **kwargs)
        inside.busy = True
        try:
            return broken(original, *args, **kwargs)
        finally:
            inside.busy = False

    if not hasattr(function, "__wrapped__"):
        function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    function.__code__ = _code_that_calls(call, function.__code__.co_freevars)


def _code_that_calls(call: Callable[..., Any], free: tuple[str, ...]) -> CodeType:
    """Code that passes all arguments on, with as many free variables as a closure has."""
    names = [f"free_{place}" for place in range(len(free))]
    source = (
        f"def outer({', '.join(names)}):\n"
        " def inner(*args, **kwargs):\n"
        "  call = 'the function'\n"
        f"  if False: return ({', '.join([*names, ''])})\n"
        "  return call(*args, **kwargs)\n"
    )
    outer = next(c for c in compile(source, "mutation", "exec").co_consts if _is_code(c))
    inner = next(constant for constant in outer.co_consts if _is_code(constant))
    constants = tuple(
        call if co_const == "the function" else co_const for co_const in inner.co_consts
    )
    return inner.replace(co_consts=constants)


def _is_code(value: Any) -> bool:
    return isinstance(value, CodeType)


def _zeros(value: Any) -> Any:
    """The same structure with zeros for numbers."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_zeros, value))
    if isinstance(value, list | tuple):
        return type(value)(map(_zeros, value))
    if isinstance(value, dict):
        return {name: _zeros(part) for name, part in value.items()}
    numbers = importlib.import_module("numpy")
    if isinstance(value, numbers.ndarray | numbers.generic):
        return numbers.zeros_like(value)
    if isinstance(value, bool | int | float | complex):
        return type(value)(0)
    flow = importlib.import_module("oneflow")
    return flow.zeros_like(value) if isinstance(value, flow.Tensor) else value


def _give_zeros(detail: str) -> Callable[..., Any]:
    return lambda original, *args, **kwargs: _zeros(original(*args, **kwargs))


def _give_input(detail: str) -> Callable[..., Any]:
    place = int(detail or 0)
    return lambda original, *args, **kwargs: [*args, *kwargs.values()][place]


def _write_copy(detail: str) -> Callable[..., Any]:
    return lambda original, first, *args, **kwargs: original(first.clone(), *args, **kwargs)


def _do_nothing(detail: str) -> Callable[..., Any]:
    return lambda original, *args, **kwargs: None


def _evaluate(detail: str) -> Callable[..., Any]:
    """The detail is an expression with `original`, `args`, `kwargs`, `flow` and `np`."""
    code = compile(detail, "mutation", "eval")

    def broken(original: FunctionType, *args: Any, **kwargs: Any) -> Any:
        flow, numbers = (importlib.import_module(name) for name in ("oneflow", "numpy"))
        names = {"original": original, "args": args, "kwargs": kwargs, "flow": flow, "np": numbers}
        return eval(code, names)

    return broken


def _ignore(detail: str) -> Callable[..., Any]:
    """The detail is an argument's name, or ``name=value``, the value that it has always."""
    name, _, value = detail.partition("=")
    fixed = {name: eval(value)} if value else {}

    def broken(original: FunctionType, *args: Any, **kwargs: Any) -> Any:
        found = inspect.signature(original).bind(*args, **kwargs).arguments
        keywords: dict[str, Any] = {}
        positional: list[Any] = []
        for parameter in inspect.signature(original).parameters.values():
            if parameter.name == name or parameter.name not in found:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(found[parameter.name])
            elif parameter.kind is parameter.VAR_KEYWORD:
                rest = found[parameter.name].items()
                keywords.update((key, argument) for key, argument in rest if key != name)
            elif parameter.kind is parameter.POSITIONAL_ONLY or (not positional and not keywords):
                positional.append(found[parameter.name])
            else:
                keywords[parameter.name] = found[parameter.name]
        return original(*positional, **keywords, **fixed)

    return broken


def _write_negated(detail: str) -> Callable[..., Any]:
    """The value that a lowering writes, and then an operator that makes something else of it."""

    def broken(original: FunctionType, builder: Any, call: Any) -> Any:
        written = original(builder, call)
        values = [written] if not isinstance(written, list | tuple) else list(written)
        kind = call.results[0].spec.dtype.name
        values[0] = builder.add("Not" if kind == "bool" else "Neg", values[0])
        return values[0] if not isinstance(written, list | tuple) else type(written)(values)

    return broken


FUNCTIONS: dict[str, tuple[Callable[[str], FunctionType], Callable[[str], Callable[..., Any]]]] = {
    "zeros": (find_function, _give_zeros),
    "input": (find_function, _give_input),
    "copy": (find_function, _write_copy),
    "nothing": (find_function, _do_nothing),
    "gives": (find_function, _evaluate),
    "ignores": (find_function, _ignore),
    "lowering": (find_lowering, _write_negated),
    "importer": (find_importer, _give_zeros),
    "importer gives": (find_importer, _evaluate),
}


def _set(target: str, detail: str) -> None:
    owner, name = find(target)
    flow = importlib.import_module("oneflow")
    value = eval(detail, {"flow": flow, "old": getattr(owner, name)})
    if owner.__class__ is dict:
        owner[name] = value
    else:
        setattr(owner, name, value)


def _remove(target: str, detail: str) -> None:
    delattr(*find(target))


# Another value, or none: nobody notices when it is read.
VALUES: dict[str, Callable[[str, str], None]] = {"constant": _set, "missing": _remove}
# A file of the project reads as if some of its text were another: the detail is ``old => new``.
TEXT = "text"
KINDS = {*FUNCTIONS, *VALUES, TEXT}


def _changed_text(mutation: Mutation) -> str:
    """The text of the file after it."""
    old, _, new = mutation.detail.partition(" => ")
    text = (ROOT / mutation.target).read_text(encoding="utf8")
    if old not in text:
        raise BadMutation(f"`{mutation.target}` does not say {old!r}")
    return text.replace(old, new)


def _change_text(mutation: Mutation, reached: Path) -> None:
    changed, path = _changed_text(mutation), ROOT / mutation.target
    read_text = Path.read_text

    def read_changed(self: Path, *args: Any, **kwargs: Any) -> str:
        if self.resolve() != path:
            return read_text(self, *args, **kwargs)
        reached.touch()
        return changed

    Path.read_text = read_changed  # type: ignore[method-assign]


def check(mutation: Mutation) -> None:
    """Raise unless a mutation can be applied: its kind and its target exist."""
    if mutation.kind in FUNCTIONS:
        search, breaking = FUNCTIONS[mutation.kind]
        search(mutation.target)
        breaking(mutation.detail)
    elif mutation.kind in VALUES:
        find(mutation.target)
    elif mutation.kind == TEXT:
        _changed_text(mutation)
    elif mutation.kind != UNREACHABLE:
        raise BadMutation(f"`{mutation.kind}` must be one of {sorted(KINDS)}")
    elif not mutation.detail:
        raise BadMutation("a reason is missing")


def apply(mutation: Mutation, reached: Path) -> None:
    """Break a feature in this process; the first call of what is broken makes a file `reached`."""
    if mutation.kind in VALUES:
        VALUES[mutation.kind](mutation.target, mutation.detail)
        reached.touch()
        return
    if mutation.kind == TEXT:
        _change_text(mutation, reached)
        return
    search, breaking = FUNCTIONS[mutation.kind]
    broken = breaking(mutation.detail)
    touch = functools.cache(reached.touch)

    def noticed(original: FunctionType, *args: Any, **kwargs: Any) -> Any:
        touch()
        return broken(original, *args, **kwargs)

    replace(search(mutation.target), noticed)
