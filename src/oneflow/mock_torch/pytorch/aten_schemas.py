"""The parameters of ATen's operators: which overload a call is, and its arguments as PyTorch's.

Types: ``T`` a tensor, ``N`` a number, ``O`` one of both, ``I`` an integer, ``L`` several integers,
``V`` those that a call may give one by one, ``M`` several tensors; ``?`` behind one takes None.
Without a type a parameter takes everything. The first overload that takes the arguments is called.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.mock_torch.pytorch.aten_schema_table import SCHEMAS
from oneflow.tensor.tensor import Tensor

_REQUIRED: Any = object()
#: The names of types in PyTorch's schemas.
_TYPE_NAMES = {
    "T": "Tensor",
    "N": "Scalar",
    "O": "Tensor",
    "I": "SymInt",
    "L": "SymInt[]",
    "V": "SymInt[]",
    "M": "Tensor[]",
    "": "Any",
}


@dataclass(frozen=True)
class Argument:
    """A parameter of an operator.

    Attributes:
        name: its name.
        kind: the letter of its type, empty for any.
        is_optional: it may be None.
        kwarg_only: it is given by name alone.
        default_value: its default; None if there is none.
        is_required: it has no default.
        is_write: the operator writes to it.
    """

    name: str
    kind: str
    is_optional: bool
    kwarg_only: bool
    default_value: Any
    is_required: bool
    is_write: bool = False

    @property
    def type(self) -> str:
        """The type, as schemas write it."""
        return _TYPE_NAMES[self.kind] + ("?" if self.is_optional else "")

    def has_default_value(self) -> bool:
        """Return whether it may be left out."""
        return not self.is_required

    def takes(self, value: Any) -> bool:
        """Return whether a value is of the type."""
        return (value is None and self.is_optional) or _TESTS[self.kind](value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex)


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, Tensor)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and all(map(_is_integer, value))


_TESTS: dict[str, Callable[[Any], bool]] = {
    "T": lambda value: isinstance(value, Tensor),
    "N": _is_number,
    "O": lambda value: isinstance(value, Tensor) or _is_number(value),
    "I": _is_integer,
    "L": lambda value: _is_list(value) or _is_integer(value),
    "V": lambda value: _is_list(value) or _is_integer(value),
    "M": lambda value: isinstance(value, list | tuple),
    "": lambda value: True,
}


@dataclass(frozen=True)
class Schema:
    """The parameters of one overload.

    Attributes:
        name: the operator with its namespace, such as ``"aten::add"``.
        overload_name: the overload; empty for the one of no name.
        arguments: its parameters.
    """

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]

    @property
    def is_mutable(self) -> bool:
        """True if the operator writes to an argument."""
        return any(argument.is_write for argument in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the values of all parameters by name; None if the overload does not take them."""
        names = dict(kwargs)
        if "self" not in names and "input" in names:
            names["self"] = names.pop("input")
        values: dict[str, Any] = {}
        rest = list(args)
        for argument in self.arguments:
            if rest and not argument.kwarg_only:
                is_several = argument.kind == "V" and _is_integer(rest[0])
                values[argument.name] = tuple(rest) if is_several else rest[0]
                rest = [] if is_several else rest[1:]
            elif argument.name in names:
                values[argument.name] = names.pop(argument.name)
            elif argument.is_required:
                return None
            else:
                values[argument.name] = argument.default_value
                continue
            if not argument.takes(values[argument.name]):
                return None
        names = {name: value for name, value in names.items() if value is not None}
        return None if rest or names else values

    def normalized(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments as PyTorch gives them: without defaults at the end, lists as lists."""
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        while positional and _is_default(positional[-1], values[positional[-1].name]):
            positional.pop()
        args = tuple(_normal(argument, values[argument.name]) for argument in positional)
        kwargs = {
            argument.name: values[argument.name]
            for argument in self.arguments
            if argument.kwarg_only and not _is_default(argument, values[argument.name])
        }
        return args, kwargs

    def __str__(self) -> str:
        words, has_star = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not has_star:
                words.append("*")
                has_star = True
            default = "" if argument.is_required else f"={argument.default_value}"
            kind = argument.type.replace("Tensor", "Tensor(a!)") if argument.is_write else ""
            words.append(f"{kind or argument.type} {argument.name}{default}")
        overload = f".{self.overload_name}" if self.overload_name else ""
        result = "Tensor(a!)" if self.is_mutable else "Tensor"
        return f"{self.name}{overload}({', '.join(words)}) -> {result}"


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default_value
    if argument.is_required or isinstance(value, Tensor):
        return False
    return value is default or (type(value) is type(default) and bool(value == default))


def _normal(argument: Argument, value: Any) -> Any:
    if argument.kind in ("L", "V") and value is not None:
        return [int(size) for size in value] if isinstance(value, Sequence) else [int(value)]
    if argument.kind == "I" and value is not None:
        return int(value)
    return list(value) if argument.kind == "M" and isinstance(value, tuple) else value


def _argument(text: str, kwarg_only: bool) -> Argument:
    declaration, has_default, default = text.partition("=")
    kind, _, name = declaration.strip().rpartition(" ")
    value = ast.literal_eval(default) if has_default else None
    char = kind.removesuffix("?")
    is_optional = kind.endswith("?") or (value is None and bool(has_default))
    return Argument(name, char, is_optional, kwarg_only, value, not has_default)


def _schema(row: str) -> Schema:
    head, _, parameters = row.removesuffix(")").partition("(")
    name, _, overload = head.partition(".")
    arguments, kwarg_only = [], False
    for text in filter(None, parameters.split(", ")):
        if text == "*":
            kwarg_only = True
        else:
            arguments.append(_argument(text, kwarg_only))
    return Schema(f"aten::{name}", "" if overload == "default" else overload, tuple(arguments))


@functools.cache
def schemas() -> dict[str, list[Schema]]:
    """Return the overloads by name of their operator, in the order in which they are asked."""
    table: dict[str, list[Schema]] = {}
    for row in filter(None, SCHEMAS.splitlines()):
        schema = _schema(row)
        table.setdefault(schema.name.removeprefix("aten::"), []).append(schema)
    return table


@functools.cache
def schemas_of(name: str) -> tuple[Schema, ...]:
    """Return the overloads of an operator; those that write to `self` have the others'."""
    rows = schemas().get(name)
    if rows is not None:
        return tuple(_written(row) if name.endswith("_") else row for row in rows)
    if not name.endswith("_") or name.startswith("__"):
        return ()
    return tuple(
        _written(Schema(f"{row.name}_", row.overload_name, row.arguments))
        for row in schemas().get(name.removesuffix("_"), ())
    )


def _written(schema: Schema) -> Schema:
    first, *rest = schema.arguments
    own = Argument(first.name, first.kind, first.is_optional, False, None, True, is_write=True)
    return Schema(schema.name, schema.overload_name, (own, *rest))


@functools.cache
def schema_of(name: str, overload: str) -> Schema | None:
    """Return the parameters of one overload; None where the table has none."""
    own_name = "" if overload == "default" else overload
    return next((row for row in schemas_of(name) if row.overload_name == own_name), None)
