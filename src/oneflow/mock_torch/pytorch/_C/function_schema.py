"""Schemas of operators as objects: what ``torch._C.parse_schema`` gives."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from oneflow.mock_torch.pytorch.operator_schema import split_arguments

_HEAD = re.compile(r"\s*(?P<name>[\w:]+)(?:\.(?P<overload>\w+))?\s*\(")
_ALIAS = re.compile(r"\((?P<before>[\w|*]+)(?P<write>!)?(?:\s*->\s*(?P<after>[\w|* ]+))?\)")
_SIZE = re.compile(r"\[(\d+)\]")
# Types that are integers to those who call an operator.
_INTEGERS = ("SymInt", "ScalarType", "Layout", "MemoryFormat")
_NUMBERS = ("int", "float", "complex")


@dataclass(frozen=True)
class SchemaType:
    """A type in a schema, by its text."""

    text: str

    def str(self) -> str:
        """Return the text."""
        return self.text

    def __str__(self) -> str:
        return self.text

    def is_subtype_of(self, other: SchemaType) -> bool:
        """Return whether every object of this type is one of another."""
        own, general = self.text, other.text
        if own == general or (general.endswith("?") and own in (general[:-1], "NoneType")):
            return True
        scalar, optional = general.removesuffix("?"), own.removesuffix("?")
        return (
            scalar == "Scalar"
            and optional in _NUMBERS
            and (general.endswith("?") or not own.endswith("?"))
        )


@dataclass(frozen=True)
class AliasInfo:
    """The memory that an argument or a result shares, by the letters that schemas give it.

    Attributes:
        is_write: the operator writes to it.
        before_set: the letters before the call.
        after_set: the letters after it.
    """

    is_write: bool
    before_set: frozenset[str]
    after_set: frozenset[str]


@dataclass(frozen=True)
class SchemaArgument:
    """An argument of an operator, or a result.

    Attributes:
        name: empty for a result without one.
        real_type: as the schema has it, without memory and sizes.
        type: what those who call the operator give.
        N: how many items a list of a fixed size has.
        kwarg_only: it is given by its name alone.
        default_value: None if it has none, or that.
        alias_info: the memory that it shares; None for none.
    """

    name: str
    real_type: SchemaType
    N: int | None
    kwarg_only: bool
    alias_info: AliasInfo | None
    default_text: str | None
    text: str = field(compare=False)

    @property
    def type(self) -> SchemaType:
        """The type with integers in place of names for them."""
        return SchemaType(re.sub(rf"\b({'|'.join(_INTEGERS)})\b", "int", self.real_type.text))

    @property
    def default_value(self) -> Any:
        """The value where none is given; one item for a list is all of them."""
        value = _value_of(self.default_text)
        is_list = self.real_type.text.rstrip("?").endswith("]")
        return [value] * self.N if is_list and self.N and isinstance(value, int | float) else value

    @property
    def is_out(self) -> bool:
        """True if results are written to it."""
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Return whether it need not be given."""
        return self.default_text is not None

    def is_backward_compatible_with(self, old: SchemaArgument) -> bool:
        """Return whether what fits an older form of the argument fits this one."""
        return self._has_place_of(old) and old.type.is_subtype_of(self.type)

    def is_forward_compatible_with(self, old: SchemaArgument) -> bool:
        """Return whether what fits the argument fits an older form of it."""
        is_new_default = self.has_default_value() and not old.has_default_value()
        return self._has_place_of(old) and self.type.is_subtype_of(old.type) and not is_new_default

    def _has_place_of(self, old: SchemaArgument) -> bool:
        is_same = (self.name, self.N, self.alias_info) == (old.name, old.N, old.alias_info)
        has_default = not old.has_default_value() or self.default_value == old.default_value
        is_reachable = old.kwarg_only or not self.kwarg_only
        return is_same and has_default and is_reachable

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class FunctionSchema:
    """The schema of an operator.

    Attributes:
        name: with its namespace.
        overload_name: empty for the one without a name.
        arguments: in order.
        returns: the results.
        is_vararg: it takes any further arguments.
        is_varret: it gives any further results.

    Example:
        >>> from oneflow.mock_torch.pytorch._C import parse_schema
        >>> schema = parse_schema("blur.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        >>> schema.overload_name, [argument.is_out for argument in schema.arguments]
        ('out', [False, True])
    """

    name: str
    overload_name: str
    arguments: tuple[SchemaArgument, ...]
    returns: tuple[SchemaArgument, ...]
    is_vararg: bool
    is_varret: bool

    @property
    def is_mutable(self) -> bool:
        """True if the operator writes to an argument."""
        return any(x.alias_info is not None and x.alias_info.is_write for x in self.arguments)

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Return whether calls that fit an older schema fit this one, and their results.

        Args:
            old: the older schema.
        """
        if not self._is_form_of(old) or len(self.arguments) < len(old.arguments):
            return False
        if not all(
            before.is_backward_compatible_with(now)
            for before, now in zip(old.returns, self.returns, strict=True)
        ):
            return False
        old_count, count = _count_before_out(old), _count_before_out(self)
        pairs = [
            *zip(self.arguments[:count], old.arguments[:old_count], strict=False),
            *zip(self.arguments[count:], old.arguments[old_count:], strict=False),
        ]
        return (
            count >= old_count
            and len(self.arguments) - count >= len(old.arguments) - old_count
            and all(now.is_backward_compatible_with(before) for now, before in pairs)
            and all(x.has_default_value() for x in self.arguments[old_count:count])
        )

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Return whether calls that fit this schema fit an older one, and else the reason.

        Args:
            old: the older schema.
        """
        reason = self._reason_against(old) if self._is_form_of(old) else ""
        return reason is None, reason or ""

    def _reason_against(self, old: FunctionSchema) -> str | None:
        """The reason for which calls that fit this schema do not fit an older one; None: none."""
        old_count, count = _count_before_out(old), _count_before_out(self)
        outs, old_outs = self.arguments[count:], old.arguments[old_count:]
        if len(outs) != len(old_outs):
            return "Function schema should have the same number of out arguments"
        pairs = [
            *zip(self.arguments[:count], old.arguments[:old_count], strict=False),
            *zip(outs, old_outs, strict=True),
        ]
        for now, before in pairs:
            if not now.is_forward_compatible_with(before):
                return (
                    f"'{now.name}' is not forward compatible with the older version of the schema"
                )
        for argument in self.arguments[old_count:count]:
            prefix = (
                "Function schema is not forward compatible since the new argument "
                f"'{argument.name}' of type {argument.type}"
            )
            if not argument.has_default_value():
                return f"{prefix} did not provide a default value."
            if isinstance(argument.default_value, list):
                return f"{prefix} has a container type as its default value."
        return None

    def _is_form_of(self, old: FunctionSchema) -> bool:
        """Return whether both are of one operator, with as many results."""
        names = (self.name, self.overload_name, self.is_vararg, self.is_varret)
        is_named_so = names == (old.name, old.overload_name, old.is_vararg, old.is_varret)
        return is_named_so and len(self.returns) == len(old.returns)

    def __str__(self) -> str:
        words, has_star = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not has_star:
                words.append("*")
                has_star = True
            words.append(str(argument))
        words += ["..."] * self.is_vararg
        results = [*map(str, self.returns), *["..."] * self.is_varret]
        is_alone = len(results) == 1 and not self.is_varret and not self.returns[0].name
        result = results[0] if is_alone else f"({', '.join(results)})"
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}({', '.join(words)}) -> {result}"

    __repr__ = __str__


def parse_schema(schema: str) -> FunctionSchema:
    """Return the schema that a text describes.

    Args:
        schema: in the language of PyTorch's operators.

    Raises:
        RuntimeError: it is no schema, or takes any further arguments and has defaults.
    """
    head = _HEAD.match(schema)
    arguments, separator, results = schema[head.end() :].rpartition("->") if head else ("", "", "")
    if head is None or not separator or not arguments.rstrip().endswith(")"):
        if head is not None and "..." in schema and "=" in schema:
            raise RuntimeError("schemas with vararg (...) can't have default value args")
        raise RuntimeError(f"`schema` must be like `blur(Tensor x, int k=1) -> Tensor`: {schema}")
    parsed, is_vararg = _parse_arguments(arguments.rstrip().removesuffix(")"))
    results = results.strip()
    is_list = results.startswith("(")
    returns, is_varret = _parse_arguments(results[1:-1] if is_list else results)
    if is_vararg and any(argument.has_default_value() for argument in parsed):
        raise RuntimeError("schemas with vararg (...) can't have default value args")
    return FunctionSchema(
        head["name"], head["overload"] or "", parsed, returns, is_vararg, is_varret
    )


def _parse_arguments(text: str) -> tuple[tuple[SchemaArgument, ...], bool]:
    """The arguments in a list, and whether any others may follow."""
    arguments, kwarg_only, is_open = [], False, False
    for part in split_arguments(text):
        if part == "*":
            kwarg_only = True
        elif part == "...":
            is_open = True
        else:
            arguments.append(_parse_argument(part, kwarg_only))
    return tuple(arguments), is_open


def _parse_argument(text: str, kwarg_only: bool) -> SchemaArgument:
    declaration, has_default, default = text.partition("=")
    alias = _ALIAS.search(declaration)
    info = None
    if alias is not None:
        before = frozenset(alias["before"].split("|"))
        after = frozenset((alias["after"] or alias["before"]).replace(" ", "").split("|"))
        info = AliasInfo(alias["write"] is not None, before, after)
        plain = declaration[: alias.start()] + declaration[alias.end() :]
    else:
        plain = declaration
    kind, _, name = plain.strip().rpartition(" ")
    if not kind:
        kind, name = name, ""
    size = _SIZE.search(kind)
    return SchemaArgument(
        name,
        SchemaType(_SIZE.sub("[]", kind.strip())),
        int(size[1]) if size else None,
        kwarg_only,
        info,
        default.strip() if has_default else None,
        " ".join(declaration.split()) + (f"={default.strip()}" if has_default else ""),
    )


def _value_of(text: str | None) -> Any:
    """A default; names of enumerations stay text."""
    if text is None:
        return None
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _count_before_out(schema: FunctionSchema) -> int:
    """The number of arguments before the first to which results are written."""
    places = (place for place, argument in enumerate(schema.arguments) if argument.is_out)
    return next(places, len(schema.arguments))
