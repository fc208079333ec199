"""The source of symbolic graphs in Python."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.layout import Layout, MemoryFormat
from oneflow.mock_torch.pytorch.aten import OpOverload, OpOverloadPacket
from oneflow.mock_torch.pytorch.fx.node import Argument, Node, module_of, path_of
from oneflow.tensor.tensor import Tensor

_BINARY_OPERATORS = {
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
#: Types whose values are written as they print.
_WRITTEN = (bool, int, float, complex, str, bytes)
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


class _Writer:
    """Writes nodes, and keeps what their source needs.

    Args:
        root: the name of the module.
        taken: the names of nodes and arguments.
    """

    def __init__(self, root: str, taken: set[str]) -> None:
        self.root, self._taken = root, {root} | taken
        self.globals: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> str:
        """Return a name for a value, its own if nothing else has it."""
        stem, number = "".join(x if x.isalnum() else "_" for x in name), 0
        name = stem
        while name in self._taken or self.globals.get(name, value) is not value:
            number += 1
            name = f"{stem}_{number}"
        self.globals[name] = value
        return name

    def function(self, function: Any) -> str:
        """The name of a function or class."""
        if isinstance(function, OpOverload | OpOverloadPacket):
            return self._torch(f"ops.{function}")
        path = path_of(function)
        if path is None:
            name = getattr(function, "__name__", type(function).__name__)
            home = getattr(function, "__module__", None)
            return self.add(f"{home}_{name}" if home else name, function)
        home, _, name = path.rpartition(".")
        if home == "builtins":
            return name
        if home.partition(".")[0] != "torch":
            return self.add(path, function)
        return self._torch(path.removeprefix("torch."))

    def _torch(self, name: str) -> str:
        return f"{self.add('torch', module_of('torch'))}.{name}"

    def argument(self, value: Argument) -> str:
        """The source of an argument."""
        if isinstance(value, tuple):
            if fields := getattr(value, "_fields", ()):
                pairs = zip(fields, value, strict=True)
                return f"{self.function(type(value))}({self.arguments((), dict(pairs))})"
            return f"({self.arguments(value, {})}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{self.arguments(value, {})}]"
        if isinstance(value, dict):
            pairs = [f"{self.argument(key)}: {self.argument(x)}" for key, x in value.items()]
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            return f"slice({self.arguments((value.start, value.stop, value.step), {})})"
        if isinstance(value, Node):
            return value.name
        return self._constant(value)

    def _constant(self, value: Any) -> str:
        if type(value) is float and not math.isfinite(value):
            name = "nan" if math.isnan(value) else "inf"
            return ("-" if value < 0 else "") + self.add(name, getattr(math, name))
        if type(value) is complex and not cmath.isfinite(value):
            return self.add("_complex", value)
        if value is None or value is ... or type(value) in _WRITTEN:
            return repr(value)
        if isinstance(value, DType | MemoryFormat | Layout):
            return self._torch(str(value).rpartition(".")[2])
        if isinstance(value, Device):
            is_one = value.type in ("cpu", "meta") or value.index is None
            index = "" if is_one else f", index={value.index}"
            return f"{self.add('device', module_of('torch').device)}(type={value.type!r}{index})"
        if callable(value) and hasattr(value, "__name__"):
            return self.function(value)
        return self.add(f"_{type(value).__name__}", value)

    def annotation(self, kind: Any) -> str:
        """The source of an annotated type."""
        if isinstance(kind, str):
            return repr(kind)
        return self._torch("Tensor") if kind is Tensor else self.argument(kind)

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
            if name in _BINARY_OPERATORS and len(args) == 2:
                if name == "pow" and args[0].startswith("-"):  # which binds less than the power
                    args[0] = f"({args[0]})"
                return f"{args[0]} {_BINARY_OPERATORS[name]} {args[1]}"
            if name in _PREFIX:
                return f"{_PREFIX[name]}{args[0]}"
            if name == "getitem":
                return f"{args[0]}[{args[1]}]"
        if target is getattr and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{self.argument(node.args[0])}.{node.args[1]}"
        return f"{self.function(target)}({self.arguments(node.args, node.kwargs)})"


def last_uses(graph: Any) -> dict[Node, list[Node]]:
    """Return which values a node is the last to use."""
    nodes_by_last_user: dict[Node, list[Node]] = {}
    used: set[Node] = set()
    for node in reversed(graph.nodes):
        nodes_by_last_user[node] = [member for member in node.all_input_nodes if member not in used]
        used.update(nodes_by_last_user[node])
    return nodes_by_last_user


def _parameter(writer: _Writer, node: Node) -> str:
    kind = "" if node.type is None else f" : {writer.annotation(node.type)}"
    default = f" = {writer.argument(node.args[0])}" if node.args else ""
    return f"{node.target}{kind}{default}"


def _names(graph: Any) -> set[str]:
    """The names that nodes and arguments have."""
    arguments = graph.find_nodes(op="placeholder")
    return {x.name for x in graph.nodes} | {str(x.target).lstrip("*") for x in arguments}


def python_code(graph: Any, root: str) -> PythonCode:
    """Return a graph as the source of a function; values are let go after their last use."""
    writer = _Writer(root, _names(graph))
    last = last_uses(graph)
    parameters, lines, result = [root], [], ""
    for node in graph.nodes:
        if node.op == "placeholder":
            parameters.append(_parameter(writer, node))
            plain = str(node.target).lstrip("*")
            lines += [f"{node.name} = {plain}"] if plain != node.name else []
            continue
        if node.op == "output":
            lines.append(f"return {writer.argument(node.args[0])}")
            result = "" if node.type is None else f" -> {writer.annotation(node.type)}"
            continue
        unused = [member.name for member in (*last[node], *(() if node.users else (node,)))]
        release = f";  {' = '.join(unused)} = None" if unused else ""
        lines.append(f"{node.name} = {writer.expression(node)}{release}")
    body = "".join(f"    {line}\n" for line in lines or ["pass"])
    head = f"def forward({', '.join(parameters)}){result}:"
    return PythonCode(f"{head}\n{body}", writer.globals)
