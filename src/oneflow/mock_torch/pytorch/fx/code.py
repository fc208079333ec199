"""The source of symbolic graphs in Python."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from oneflow.mock_torch.pytorch.fx.node import Argument, Node, module_of, path_of

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "gt": ">",
    "le": "<=",
    "ge": ">=",
}
_PREFIX = {"neg": "-", "pos": "+", "invert": "~"}


@dataclass
class PythonCode:
    """The source of a function.

    Attributes:
        src: the source.
        globals: the names that it uses.
    """

    src: str
    globals: dict[str, Any] = field(default_factory=dict)


class _Name(str):
    """Text that stands in source as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Writer:
    """Writes nodes, and keeps what their source needs."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.globals: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> str:
        """Return a name for a value, its own if no other value has it."""
        stem, number = "".join(x if x.isalnum() else "_" for x in name), 0
        name = stem
        while name in self.globals and self.globals[name] is not value:
            number += 1
            name = f"{stem}_{number}"
        self.globals[name] = value
        return name

    def function(self, function: Any) -> str:
        """The name of a function."""
        path = path_of(function)
        if path is None:
            return self.add(getattr(function, "__name__", type(function).__name__), function)
        home, _, name = path.rpartition(".")
        if home == "builtins":
            return name
        package = home.partition(".")[0]
        self.globals[package] = module_of(package)
        return path

    def argument(self, value: Argument) -> str:
        """The source of an argument."""
        return repr(self._readable(value))

    def _readable(self, value: Any) -> Any:
        if isinstance(value, tuple | list | dict) and not hasattr(value, "_fields"):
            if isinstance(value, dict):
                return {key: self._readable(member) for key, member in value.items()}
            members = [self._readable(member) for member in value]
            return members if isinstance(value, list) else tuple(members)
        if isinstance(value, slice):
            return slice(*(self._readable(x) for x in (value.start, value.stop, value.step)))
        if isinstance(value, Node):
            return _Name(value.name)
        if value is ...:
            return _Name("...")
        if type(value) is float and not math.isfinite(value):
            return _Name(self.add(str(abs(value)), abs(value)).rjust(3 + (value < 0), "-"))
        if value is None or type(value) in (bool, int, str, bytes, float):
            return value
        return _Name(self.add(getattr(value, "__name__", f"_{type(value).__name__}"), value))

    def arguments(self, args: Any, kwargs: Any) -> str:
        """The source of arguments."""
        named = [f"{key} = {self.argument(member)}" for key, member in kwargs.items()]
        return ", ".join([*map(self.argument, args), *named])

    def path(self, target: str) -> str:
        """The source that reads an attribute of the module."""
        result = self.root
        for part in target.split("."):
            result = f"{result}.{part}" if part.isidentifier() else f'getattr({result}, "{part}")'
        return result

    def expression(self, node: Node) -> str:
        """The source of a node's value."""
        target: Any = node.target
        if node.op == "get_attr":
            return self.path(target)
        if node.op == "call_module":
            return f"{self.path(target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            rest = self.arguments(node.args[1:], node.kwargs)
            return f"{self.argument(node.args[0])}.{target}({rest})"
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == "_operator" and not node.kwargs:
            args = [self.argument(member) for member in node.args]
            if name in _INFIX and len(args) == 2:
                return f"{args[0]} {_INFIX[name]} {args[1]}"
            if name in _PREFIX:
                return f"{_PREFIX[name]}{args[0]}"
            if name == "getitem":
                return f"{args[0]}[{args[1]}]"
        if target is getattr and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{self.argument(node.args[0])}.{node.args[1]}"
        return f"{self.function(target)}({self.arguments(node.args, node.kwargs)})"


def last_uses(graph: Any) -> dict[Node, list[Node]]:
    """Return which values a node is the last to use."""
    found: dict[Node, list[Node]] = {}
    used: set[Node] = set()
    for node in reversed(graph.nodes):
        found[node] = [member for member in node.all_input_nodes if member not in used]
        used.update(found[node])
    return found


def _parameter(writer: _Writer, node: Node) -> str:
    default = f" = {writer.argument(node.args[0])}" if node.args else ""
    return f"{node.target}{default}"


def python_code(graph: Any, root: str) -> PythonCode:
    """Return a graph as the source of a function; values are let go after their last use."""
    writer = _Writer(root)
    last = last_uses(graph)
    parameters, lines = [root], []
    for node in graph.nodes:
        if node.op == "placeholder":
            parameters.append(_parameter(writer, node))
            plain = str(node.target).lstrip("*")
            lines += [f"{node.name} = {plain}"] if plain != node.name else []
            continue
        if node.op == "output":
            lines.append(f"return {writer.argument(node.args[0])}")
            continue
        unused = [member.name for member in last[node]]
        release = f";  {' = '.join(unused)} = None" if unused else ""
        name = f"{node.name} = " if node.users else ""
        lines.append(f"{name}{writer.expression(node)}{release}")
    body = "".join(f"    {line}\n" for line in lines or ["pass"])
    return PythonCode(f"def forward({', '.join(parameters)}):\n{body}", writer.globals)


__all__ = ["PythonCode", "last_uses", "python_code"]
