"""``torch.parse_schema``: the parameters of an operator, read from its schema."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from oneflow.mock_torch.pytorch import script_types as types

_TYPES: dict[str, types.Type] = {
    "Tensor": types.TensorType(),
    "int": types.IntType(),
    "SymInt": types.IntType(),
    "float": types.FloatType(),
    "bool": types.BoolType(),
    "SymBool": types.BoolType(),
    "complex": types.ComplexType(),
    "str": types.StringType(),
    "Scalar": types.NumberType(),
    "number": types.NumberType(),
    "Any": types.AnyType(),
    "Device": types.DeviceType(),
    "Stream": types.StreamObjType(),
    **dict.fromkeys(("Layout", "MemoryFormat", "ScalarType"), types.IntType()),
}
_HEAD = re.compile(r"\s*([\w:]+)(?:\.(\w+))?\s*\(")
#: A name, what it may share memory with, and lists and None of it.
_TYPE = re.compile(r"(\w+)(\([^)]*\))?((?:\[\d*\]|\?)*)$")
_SUFFIX = re.compile(r"\[(\d*)\]|\?")
_CONSTANTS = {"None": None, "True": True, "False": False, "strided": 0, "Mean": 1, "long": 4}


@dataclass(frozen=True)
class Argument:
    """A parameter or a result of an operator.

    Attributes:
        name: its name, empty for results without one.
        type: its type.
        declaration: the type, as the schema writes it.
        N: the length of a list for which one number may stand, if any.
        default_value: its default.
        kwarg_only: it is given by name alone.
        is_write: the operator writes to it.
        is_out: it is a tensor for the result.
    """

    name: str
    type: types.Type
    declaration: str
    N: int | None = None
    default_value: Any = None
    is_required: bool = True
    kwarg_only: bool = False
    is_write: bool = False

    @property
    def is_out(self) -> bool:
        """The parameter is a tensor for the result."""
        return self.kwarg_only and self.is_write

    @property
    def real_type(self) -> types.Type:
        """The type."""
        return self.type

    def has_default_value(self) -> bool:
        """Return whether it may be left out."""
        return not self.is_required

    def __str__(self) -> str:
        words = f"{self.declaration} {self.name}".rstrip()
        return words if self.is_required else f"{words}={_text(self.default_value, self.N)}"


def _text(value: Any, count: int | None) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list) and count is not None and count > 1 and len(set(value)) == 1:
        return str(value[0])
    return str(value)


@dataclass(frozen=True)
class FunctionSchema:
    """The name, parameters and results of an operator.

    Attributes:
        name: its name with its namespace.
        overload_name: the name of the overload, empty for the one without.
        arguments: its parameters.
        returns: its results.
    """

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]
    is_tuple: bool

    @property
    def is_mutable(self) -> bool:
        """The operator writes to an argument."""
        return any(argument.is_write for argument in self.arguments)

    def is_backward_compatible_with(self, old_schema: FunctionSchema) -> bool:
        """Return whether calls of an older schema are calls of this one."""
        if (self.name, self.overload_name) != (old_schema.name, old_schema.overload_name):
            return False
        old, new = old_schema.arguments, self.arguments
        if len(new) < len(old) or len(self.returns) != len(old_schema.returns):
            return False
        takes = all(
            mine.name == its.name
            and its.type.isSubtypeOf(mine.type)
            and (mine.has_default_value() or not its.has_default_value())
            for mine, its in zip(new, old, strict=False)
        )
        return takes and all(argument.has_default_value() for argument in new[len(old) :])

    def __str__(self) -> str:
        words: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in words:
                words.append("*")
            words.append(str(argument))
        overload = f".{self.overload_name}" if self.overload_name else ""
        results = ", ".join(map(str, self.returns))
        result = f"({results})" if self.is_tuple else results
        return f"{self.name}{overload}({', '.join(words)}) -> {result}"

    __repr__ = __str__


def parse_schema(schema: str, /) -> FunctionSchema:
    """Return the parameters and results of an operator, from its schema.

    Raises:
        RuntimeError: it is none.

    Example:
        >>> schema = parse_schema("library::blur(Tensor x, int[2] size=3) -> Tensor")
        >>> [(argument.name, argument.default_value) for argument in schema.arguments]
        [('x', None), ('size', [3, 3])]
    """
    head = _HEAD.match(schema)
    body, arrow, result = schema.rpartition("->")
    if head is None or not arrow or not body.rstrip().endswith(")"):
        raise RuntimeError(f"`schema` must be 'name(parameters) -> results', got {schema!r}")
    arguments: list[Argument] = []
    is_keyword = False
    for part in _parts(body.rstrip()[head.end() : -1]):
        if part == "*":
            is_keyword = True
        else:
            arguments.append(_argument(part, is_keyword, schema))
    result = result.strip()
    is_tuple = result.startswith("(") and result.endswith(")")
    parts = _parts(result[1:-1]) if is_tuple else [result]
    returns = [_argument(part, False, schema) for part in parts]
    return FunctionSchema(head.group(1), head.group(2) or "", arguments, returns, is_tuple)


def _parts(text: str) -> list[str]:
    """The parts of a list between commas that are in no brackets and in no quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        depth += 0 if quote else (character in "([") - (character in ")]")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str, kwarg_only: bool, schema: str) -> Argument:
    left, has_default, default = text.partition("=")
    declaration, _, name = left.strip().partition(" ")
    match = _TYPE.match(declaration)
    if match is None or match.group(1) not in _TYPES:
        raise RuntimeError(f"{declaration!r} in {schema!r} is no type of schemas")
    kind, count = _TYPES[match.group(1)], None
    for suffix in _SUFFIX.finditer(match.group(3)):
        if suffix.group(0) == "?":
            kind = types.OptionalType(kind)
        else:
            kind = types.ListType(kind)
            count = int(suffix.group(1)) if suffix.group(1) else None
    value = _value(default.strip(), schema) if has_default else None
    if count is not None and isinstance(value, int | float):
        value = [value] * count
    writes = "!" in (match.group(2) or "")
    return Argument(
        name.strip(), kind, declaration, count, value, not has_default, kwarg_only, writes
    )


def _value(text: str, schema: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        raise RuntimeError(f"{text!r} in {schema!r} is no default of schemas") from None
