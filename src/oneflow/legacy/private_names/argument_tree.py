"""Trees of arguments: `oneflow.framework.args_tree`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

_NO_VALUE = object()


class NamedArg:
    """A node of an `ArgsTree`: a value, or a container whose elements are nodes.

    Args:
        prefix: the indices on the way to the node, joined by dots.
        name: its name; default: `global_index`.
        global_index: its number in the tree, counted from the root downwards.

    Example:
        >>> from oneflow.framework.args_tree import NamedArg
        >>> node = NamedArg("0", "x", 1)
        >>> node.set_value(3)
        >>> node
        NamedArg(name='x', index=1, value=3)
    """

    def __init__(self, prefix: str = "", name: Any = None, global_index: int = 0) -> None:
        self._prefix, self._index = prefix, global_index
        self._name = str(global_index if name is None else name)
        self._value: Any = _NO_VALUE

    def prefix(self) -> str:
        """The indices on the way to the node."""
        return self._prefix

    def name(self) -> str:
        """The name of the node."""
        return self._name

    def global_index(self) -> int:
        """The number of the node in its tree."""
        return self._index

    def set_value(self, value: Any) -> None:
        """Give the node its value."""
        self._value = value

    def value(self) -> Any:
        """The value of the node.

        Raises:
            ValueError: it has none yet.
        """
        if self._value is _NO_VALUE:
            raise ValueError(f"argument `{self._name}` has no value yet; call `set_value` first")
        return self._value

    def is_leaf(self) -> bool:
        """True if the value is no container."""
        return _children(self.value()) is None

    def __repr__(self) -> str:
        return f"NamedArg(name={self._name!r}, index={self._index}, value={self.value()!r})"


class ArgsTree:
    """Arguments or results as a tree of lists, tuples, dicts and data classes.

    Args:
        io_args: the container at the root.
        gen_name: make every node a `NamedArg`.
        root_prefix: prefix of the root.
        root_name: name of the root.
        tensor_type: the class of tensors, which are leaves in any case.

    Example:
        >>> from oneflow.framework.args_tree import ArgsTree
        >>> ArgsTree(([1, 2], {"x": 3})).map_leaf(lambda leaf: leaf * 10)
        ([10, 20], {'x': 30})
        >>> tree = ArgsTree([1, {"x": 3}], gen_name=True, root_name="in")
        >>> [path for path, node in tree.iter_named_nodes() if node.is_leaf()]
        ['0_1', '1.0_x']
    """

    def __init__(
        self,
        io_args: Any,
        gen_name: bool = False,
        root_prefix: str = "",
        root_name: str | None = None,
        tensor_type: type | None = None,
    ) -> None:
        self._named, self._count = gen_name, 0
        self._root: Any = self._name(io_args, root_prefix, root_name) if gen_name else io_args

    def gen_name(self) -> bool:
        """True if the nodes are `NamedArg`s."""
        return self._named

    def iter_nodes(self) -> Iterator[Any]:
        """The nodes, each before those in it."""
        return _nodes(self._root)

    def iter_named_nodes(self) -> Iterator[tuple[str, NamedArg]]:
        """Pairs of ``prefix_name`` and node.

        Raises:
            ValueError: the tree was made without `gen_name`.
        """
        if not self._named:
            raise ValueError("nodes have names in a tree that was made with `gen_name=True`")
        return ((f"{node.prefix()}_{node.name()}", node) for node in self.iter_nodes())

    def iter_tuple_nodes(self) -> Iterator[Any]:
        """The elements of the lists and tuples in the tree, except lists and tuples."""
        return (node for node in self.iter_nodes() if type(node) not in (list, tuple))

    def map_tuple_leaf(self, map_function: Callable[[Any], Any]) -> Any:
        """The list or tuple at the root, of what `map_function` makes of its elements."""
        return type(self._root)(map(map_function, self._root))

    def map_leaf(self, map_function: Callable[[Any], Any]) -> Any:
        """The tree with `map_function` of each leaf in its place."""
        return _map(self._root, map_function)

    def _name(self, value: Any, prefix: str, name: Any) -> NamedArg:
        node = NamedArg(prefix, name, self._count)
        self._count += 1
        children = _children(value)
        if children is None:
            node.set_value(value)
            return node
        start = f"{prefix}." if prefix else ""
        keys = value if isinstance(value, dict) else [None] * len(children)
        named = [
            self._name(child, f"{start}{number}", key)
            for number, (key, child) in enumerate(zip(keys, children, strict=True))
        ]
        node.set_value(_like(value, named))
        return node


def _children(value: Any) -> list[Any] | None:
    """The elements of a container; None for a leaf."""
    if isinstance(value, dict):
        return list(value.values())
    if type(value) in (list, tuple) or hasattr(value, "_fields"):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return None


def _like(container: Any, children: list[Any]) -> Any:
    """A container such as `container` with other children."""
    kind: Any = type(container)
    if dataclasses.is_dataclass(container) and not isinstance(container, type):
        names = [field.name for field in dataclasses.fields(container)]
        return kind(**dict(zip(names, children, strict=True)))
    if isinstance(container, dict):
        return kind(zip(container, children, strict=True))
    return kind(*children) if hasattr(container, "_fields") else kind(children)


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node.value() if isinstance(node, NamedArg) else node) or ():
        yield from _nodes(child)


def _map(node: Any, function: Callable[[Any], Any]) -> Any:
    value = node.value() if isinstance(node, NamedArg) else node
    children = _children(value)
    if children is None:
        return function(node)
    return _like(value, [_map(child, function) for child in children])
