"""Symbolic graphs: ``torch.fx.graph``."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.mock_torch.pytorch.fx.code import PythonCode, python_code
from oneflow.mock_torch.pytorch.fx.node import (
    Argument,
    Node,
    Target,
    map_aggregate,
    map_arg,
    module_of,
    path_of,
)

#: Names that the source of a graph may use, as in PyTorch.
_RESERVED = frozenset(["inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"])


class _Nodes:
    """The nodes of a graph, in order; nodes may come and go while they are walked."""

    def __init__(self, graph: Graph, step: str = "_next") -> None:
        self._graph, self._step = graph, step

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        member: Node = getattr(root, self._step)
        while member is not root:
            if not member._erased:
                yield member
            member = getattr(member, self._step)

    def __reversed__(self) -> Iterator[Node]:
        return iter(_Nodes(self._graph, "_prev" if self._step == "_next" else "_next"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _InsertPoint:
    """The place where a graph adds nodes; the end of a ``with`` statement takes it back."""

    def __init__(self, graph: Graph, n: Node, insert: Callable[[Node], None]) -> None:
        if n.graph is not graph:
            raise AssertionError(f"`{n}` is no node of the graph to which nodes are to be added")
        self._graph, self._before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._graph._insert = self._before


class Graph:
    """A symbolic graph: what a function computes, as nodes that a program may read and change.

    Args:
        owning_module: the module whose `forward` it is.
        tracer_cls: the class of what traced it.
        tracer_extras: further arguments of that class.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(torch.add, (x, 1)))
        >>> torch.fx.GraphModule({}, graph)(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: Mapping[str, Any] | None = None,
    ) -> None:
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, dict(tracer_extras or {})
        self._names: set[str] = set()
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend

    @property
    def nodes(self) -> _Nodes:
        """The nodes, in order."""
        return _Nodes(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of an operation, and of a target if one is given."""
        if op == "call_function" and target is None:
            raise ValueError("`target` must be given for op='call_function'")
        return [x for x in self.nodes if x.op == op and (target is None or x.target == target)]

    def _new_name(self, candidate: str) -> str:
        base = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        base = f"_{base}" if base[0].isdigit() else base
        name, number = base, 0
        if match := re.fullmatch(r"(.*?)_(\d+)", base):
            base, number = match[1], int(match[2])
        while name in self._names or _is_taken(name):
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        return name

    def create_node(
        self,
        op: str,
        target: Target,
        args: Sequence[Argument] | None = None,
        kwargs: Mapping[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the place of insertion, by default the end."""
        candidate = name or self._name_of(target)
        node = Node(
            self, self._new_name(candidate), op, target, args or (), kwargs or {}, type_expr
        )
        self._insert(node)
        return node

    @staticmethod
    def _name_of(target: Target) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", "function")
        if match := re.fullmatch("__(.+)__", name):
            name = match[1]
        return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an argument of the function."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, {}, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a node that reads an attribute of the module."""
        return self.create_node("get_attr", qualified_name, (), {}, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Sequence[Argument] | None = None,
        kwargs: Mapping[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self,
        method_name: str,
        args: Sequence[Argument] | None = None,
        kwargs: Mapping[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: Sequence[Argument] | None = None,
        kwargs: Mapping[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a module within the module."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add what the function returns."""
        return self.create_node("output", "output", (result,), {}, type_expr=type_expr)

    def output_node(self) -> Node:
        """Return the node of what the function returns."""
        return next(iter(reversed(self.nodes)))

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Add nodes before one, in a ``with`` statement or from then on; None: at the beginning."""
        return self.inserting_after(self._root) if n is None else _InsertPoint(self, n, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Add nodes right behind one, so the last one comes first; None: at the end.

        It holds in a ``with`` statement, or from then on.
        """
        return self.inserting_before(self._root) if n is None else _InsertPoint(self, n, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node that nothing uses out of the graph.

        Raises:
            RuntimeError: a node uses it.
        """
        if to_erase.users:
            raise RuntimeError(
                f"`{to_erase}` cannot be erased: {list(to_erase.users)} use it; "
                "call `replace_all_uses_with` first"
            )
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._set_arguments((), {})
        to_erase._erased = True

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """Add a copy of a node of another graph; `arg_transform` gives this graph's arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add copies of all nodes of another graph; returns what its output holds.

        Args:
            g: the other graph.
            val_map: nodes that have copies here; the new ones are added.
            return_output_node: return the output's node, too.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        values: dict[Node, Node] = {}
        for node in self.nodes:
            values[node] = copied.node_copy(node, values.__getitem__)
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> Any:
        def reference_to(member: Node) -> _NodeReference:
            return _NodeReference(member.name)

        rows = [
            (
                *(x.op, path_of(x.target) if x.op == "call_function" else None),
                x.target if x.op != "call_function" or path_of(x.target) is None else None,
                *(map_arg(x.args, reference_to), map_arg(x.kwargs, reference_to)),
                *(x.name, x.type, dict(x.meta)),
            )
            for x in self.nodes
        ]
        return _rebuild_graph, (rows, self._tracer_cls, self._tracer_extras)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase nodes whose values nothing uses; returns whether there were any."""
        is_kept = is_impure_node or Node.is_impure
        has_changed = False
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not is_kept(node):
                self.erase_node(node)
                has_changed = True
        return has_changed

    def lint(self) -> None:
        """Check that nodes have names of their own, and come before those that use them.

        Raises:
            RuntimeError: they do not.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"`{node}` belongs to another graph")
            if node.name in names:
                raise RuntimeError(f"`{node.name}` names two nodes")
            for member in node.all_input_nodes:
                if member not in seen:
                    raise RuntimeError(f"`{node}` uses `{member}`, which is not defined before it")
            seen.add(node)
            names.add(node.name)
            self._check_target(node)

    def _check_target(self, node: Node) -> None:
        if self.owning_module is None or node.op not in ("get_attr", "call_module"):
            return
        value = self.owning_module
        for part in str(node.target).split("."):
            if not hasattr(value, part):
                raise RuntimeError(f"`{node}` names `{node.target}`, which the module has not")
            value = getattr(value, part)

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """Return the graph as the source of a function, and the names that it uses."""
        return python_code(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [head] + [
            tuple(map(str, (x.op, x.name, x.target, x.args, x.kwargs))) for x in self.nodes
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        rows.insert(1, tuple("-" * width for width in widths))
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        sys.stdout.write("\n".join(lines) + "\n")

    def __str__(self) -> str:
        return "\n".join(["graph():", *(f"    {member.format_node()}" for member in self.nodes)])


def _is_taken(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(builtins, name) or name in _RESERVED


@dataclass(frozen=True)
class _NodeReference:
    """A node in an argument of a graph in a file."""

    name: str


def _rebuild_graph(rows: list[tuple[Any, ...]], tracer_cls: Any, tracer_extras: Any) -> Graph:
    """The graph of a file."""
    graph = Graph(None, tracer_cls, tracer_extras)
    nodes: dict[str, Node] = {}

    def found(member: Argument) -> Argument:
        return nodes[member.name] if isinstance(member, _NodeReference) else member

    for op, path, target, args, kwargs, name, kind, meta in rows:
        function = target if path is None else _at(path)
        values = map_aggregate(args, found), map_aggregate(kwargs, found)
        nodes[name] = graph.create_node(op, function, *values, name, kind)
        nodes[name].meta = meta
    return graph


def _at(path: str) -> Any:
    home, _, name = path.rpartition(".")
    return getattr(module_of(home), name)


__all__ = ["Graph", "PythonCode"]
