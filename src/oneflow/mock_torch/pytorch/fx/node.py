"""Nodes of symbolic graphs: ``torch.fx.node``."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.tensor.tensor import Tensor

Target = Callable[..., Any] | str
Argument = Any

_OPERATIONS = (
    "placeholder",
    "call_method",
    "call_module",
    "call_function",
    "get_attr",
    "output",
    "root",
)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Return an argument with a function applied to all that lists, tuples, dicts and slices hold.

    Example:
        >>> from oneflow.mock_torch.pytorch.fx import node
        >>> node.map_aggregate([1, (2, {"x": 3})], lambda each: each + 1)
        [2, (3, {'x': 4})]
    """
    if isinstance(a, tuple):
        members = [map_aggregate(member, fn) for member in a]
        kind: Any = type(a)
        return kind(*members) if hasattr(a, "_fields") else tuple(members)
    if isinstance(a, list):
        return [map_aggregate(member, fn) for member in a]
    if isinstance(a, dict):
        return {key: map_aggregate(member, fn) for key, member in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(member, fn) for member in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Return an argument with a function applied to the nodes that it holds."""
    return map_aggregate(a, lambda member: fn(member) if isinstance(member, Node) else member)


#: The modules in which functions are looked up by their names.
_NAMESPACES = (
    *("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft"),
    "torch.fx._symbolic_trace",
)

_BUILTIN_NAMESPACES = ("operator", "math", "builtins")


def path_of(function: Any) -> str | None:
    """Return the public path of a function; None if it has none."""
    name = getattr(function, "__name__", "")
    for home in _NAMESPACES:
        if vars(MODULE_IN_PLACE.value(home)).get(name) is function:
            return f"{home}.{name}"
    home = (getattr(function, "__module__", None) or "").lstrip("_")
    is_public = home in _BUILTIN_NAMESPACES and getattr(module_of(home), name, None) is function
    return f"{home}.{name}" if is_public else None


def module_of(path: str) -> ModuleType:
    """Return the module of a path that `path_of` has given."""
    is_torch = path.partition(".")[0] == "torch"
    return MODULE_IN_PLACE.value(path) if is_torch else importlib.import_module(path)


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of a function even where nothing uses what they return."""
    IMPURE.add(fn)
    return fn


#: Functions that are called for what they do.
IMPURE: set[Callable[..., Any]] = {builtins.print, builtins.setattr}


def _format(value: Argument) -> str:
    """An argument as text, with a mark before the names of nodes."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_format(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_format, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_format, value)) + ("," if len(value) == 1 else "") + ")"
    return str(value)


def _format_type(kind: Any) -> str:
    """An annotated type as text."""
    if kind is Tensor:
        return "torch.Tensor"
    if not isinstance(kind, type):
        return str(kind)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return home + kind.__qualname__


class Node:
    """An operation of a symbolic graph.

    Args:
        graph: the graph.
        name: the name of its value, once in the graph.
        op: `placeholder`, `get_attr`, `call_function`, `call_method`, `call_module` or `output`.
        target: the function, or the name of the method, module or argument.
        args: positional arguments, nodes among them.
        kwargs: arguments by name.
        return_type: the annotated type of the value.

    Attributes:
        users: the nodes that use the value; a dict, in order.
        meta: what passes write down about the value.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> graph.call_function(torch.relu, (x,)).all_input_nodes
        [x]
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: Sequence[Argument],
        kwargs: Mapping[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in _OPERATIONS:
            raise ValueError(f"`op` must be one of {_OPERATIONS}, got {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"`target` of a call of a function must be callable, got {target!r}")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._next = self._prev = self
        self._erased = False
        self._set_arguments(tuple(args), dict(kwargs))

    @property
    def next(self) -> Node:
        """The node behind it."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, value: Sequence[Argument]) -> None:
        self._set_arguments(tuple(value), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: Mapping[str, Argument]) -> None:
        self._set_arguments(self._args, dict(value))

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that it uses, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """The place where it was recorded, if that was written down."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, value: str | None) -> None:
        self.meta["stack_trace"] = value

    def _set_arguments(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for member in self._input_nodes:
            member.users.pop(self, None)
        self._input_nodes = {}
        map_arg((args, kwargs), lambda member: self._input_nodes.setdefault(member))
        for member in self._input_nodes:
            member.users.setdefault(self)
        self._args, self._kwargs = args, kwargs

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the graph to before this one."""
        if x.graph is not self.graph:
            raise AssertionError("`x` must be a node of the same graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a node of the graph to behind this one."""
        self._next.prepend(x)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace a positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = args

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set an argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node in the place of one."""

        def replaced(member: Node) -> Node:
            return new_input if member is old_input else member

        self._set_arguments(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Replace this node by another one in all its users, which are returned.

        Args:
            replace_with: the other node.
            delete_user_cb: whether a node that uses it shall be changed.
            propagate_meta: give the other node this one's `meta`.
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self) -> bool:
        """Return whether it must stay even if nothing uses its value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return self.target in IMPURE or (name.endswith("_") and not name.startswith("_"))
        if self.op == "call_method":
            return str(self.target).endswith("_") and not str(self.target).endswith("__")
        if self.op == "call_module" and (owner := self.graph.owning_module) is not None:
            return getattr(owner.get_submodule(str(self.target)), "_is_impure", False)
        return self.op == "call_module"

    def format_node(self) -> str:
        """Return a line that describes it."""
        if self.op == "output":
            return f"return {self.args[0]}"
        kind = "" if self.type is None else f"{_format_type(self.type)} "
        name = self.target
        if callable(name):
            name = path_of(name) or getattr(name, "__qualname__", type(name).__name__)
        line = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={name}]"
        if self.op == "placeholder":
            return f"{line}(default={_format(self.args[0])})" if self.args else line
        if self.op == "get_attr":
            return line
        return f"{line}(args = {_format(self.args)}, kwargs = {_format(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        order = {member: number for number, member in enumerate(self.graph.nodes)}
        return order[self] < order[other]


__all__ = [
    "Argument",
    "Node",
    "Target",
    "has_side_effect",
    "map_aggregate",
    "map_arg",
    "module_of",
    "path_of",
]
