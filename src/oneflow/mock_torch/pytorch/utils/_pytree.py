"""``torch.utils._pytree``: trees of containers, flattened into leaves and put together again.

Containers are lists, tuples, named tuples, dictionaries, deques and what libraries register. The
leaves of a dictionary come in the order of its keys.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import UnionType
from typing import Any

PyTree = Any
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]

# A tree with one of them has the structure of one with another if their keys are the same.
_DICT_TYPES = (dict, OrderedDict, defaultdict)


@dataclasses.dataclass(frozen=True)
class NodeDef:
    """The functions that flatten and make containers of one type.

    Attributes:
        type: the type.
        flatten_fn: gives a container's children, and what else is needed to make it (its context).
        unflatten_fn: makes a container of children and a context.
        flatten_with_keys_fn: gives pairs of keys and children, and the context.
    """

    type: type
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The position of a child in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The key of a child in a dictionary."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The attribute that holds a child."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree: the type of its root, its context, and the structures below.

    Attributes:
        type: the type of the container; None for a leaf.
        context: what is needed to make the container beside its children.
        children_specs: the structures of its children.
    """

    type: Any
    context: Context
    children_specs: list[TreeSpec]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return sum(child.num_leaves for child in self.children_specs)

    @property
    def num_children(self) -> int:
        """The number of children of the root."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Return whether this is a leaf."""
        return isinstance(self, LeafSpec)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Return the tree of this structure with `leaves`."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Return what a tree, which may go on below, has in the places of this one's leaves.

        Raises:
            ValueError: its containers are others than those of this structure.
        """
        if self.is_leaf():
            return [tree]
        return [
            part
            for spec, child in zip(self.children_specs, self._children_of(tree), strict=True)
            for part in spec.flatten_up_to(child)
        ]

    def _children_of(self, tree: PyTree) -> list[PyTree]:
        """The children of a tree whose root is like this one's, in this one's order."""
        if self.type in _DICT_TYPES and type(tree) in _DICT_TYPES:
            keys = self.context[1] if self.type is defaultdict else self.context
            if tree.keys() != set(keys):
                raise ValueError(f"`tree`: expected keys {keys}, got {list(tree)}")
            return [tree[key] for key in keys]
        kind = _node_type(tree)
        if kind is None or self.type not in (kind, type(tree)):
            raise ValueError(f"`tree`: expected {self.type}, got {type(tree)}")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children or (kind is not deque and context != self.context):
            raise ValueError(
                f"`tree`: expected {self.type} with {self.num_children} children and context "
                f"{self.context}, got {len(children)} and {context}"
            )
        return list(children)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])

    @property
    def num_leaves(self) -> int:
        """The number of leaves: 1."""
        return 1


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten(s: Iterable[Any]) -> tuple[list[Any], Context]:
    return list(s), None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _list_flatten_with_keys(s: Iterable[Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(index), item) for index, item in enumerate(s)], None


def _namedtuple_with_keys(s: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(GetAttrKey(name), getattr(s, name)) for name in s._fields], type(s)


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, _dict_unflatten(values, keys))


SUPPORTED_NODES: dict[Any, NodeDef] = {
    list: NodeDef(list, _list_flatten, _list_unflatten, _list_flatten_with_keys),
    tuple: NodeDef(tuple, _list_flatten, lambda values, _: tuple(values), _list_flatten_with_keys),
    dict: NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    OrderedDict: NodeDef(
        OrderedDict,
        _dict_flatten,
        lambda values, keys: OrderedDict(_dict_unflatten(values, keys)),
        _dict_flatten_with_keys,
    ),
    defaultdict: NodeDef(
        defaultdict,
        lambda d: (list(d.values()), (d.default_factory, list(d))),
        _defaultdict_unflatten,
        lambda d: (_dict_flatten_with_keys(d)[0], (d.default_factory, list(d))),
    ),
    deque: NodeDef(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda values, maxlen: deque(values, maxlen=maxlen),
        lambda d: (_list_flatten_with_keys(d)[0], d.maxlen),
    ),
    # Their types are many; the function that makes these stands for all.
    namedtuple: NodeDef(
        tuple,
        lambda s: (list(s), type(s)),
        lambda values, kind: kind(*values),
        _namedtuple_with_keys,
    ),
}


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None,
    **serialization: Any,
) -> None:
    """Register a type of containers.

    Args:
        cls: the type.
        flatten_fn: gives the children of a container, and a context.
        unflatten_fn: makes a container of children and a context.
        flatten_with_keys_fn: gives pairs of keys and children, and the context.
        serialization: names and functions for files, which are not used.

    Raises:
        ValueError: the type is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"`cls`: {cls.__name__} is registered as a container already")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _node_type(tree: Any) -> Any:
    kind: Any = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    return namedtuple if isinstance(tree, tuple) and hasattr(kind, "_fields") else None


def is_structseq_instance(obj: object) -> bool:
    """Return whether something is of a type of the operating system's records, as `os.stat` gives.

    Args:
        obj: anything.
    """
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return type(obj).__bases__ == (tuple,) and all(
        isinstance(getattr(type(obj), count, None), int) for count in counts
    )


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """Return whether a tree is a leaf: of no registered type, or one that `is_leaf` says is one."""
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) is None


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the leaves of a tree, each with the keys that lead to it, and its structure."""
    if tree_is_leaf(tree, is_leaf):
        return [((), tree)], LeafSpec()
    kind = _node_type(tree)
    node = SUPPORTED_NODES[kind]
    if node.flatten_with_keys_fn is not None:
        children, context = node.flatten_with_keys_fn(tree)
    else:
        values, context = node.flatten_fn(tree)
        children = [(SequenceKey(index), value) for index, value in enumerate(values)]
    leaves: list[tuple[KeyPath, Any]] = []
    specs = []
    for key, child in children:
        paths, spec = tree_flatten_with_path(child, is_leaf)
        leaves += [((key, *path), leaf) for path, leaf in paths]
        specs.append(spec)
    return leaves, TreeSpec(kind, context, specs)


def tree_flatten(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure.

    Example:
        >>> from oneflow.mock_torch.pytorch.utils import _pytree
        >>> leaves, spec = _pytree.tree_flatten({"a": [1, 2], "b": (3,)})
        >>> leaves, _pytree.tree_unflatten([x * 10 for x in leaves], spec)
        ([1, 2, 3], {'a': [10, 20], 'b': (30,)})
    """
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    return [leaf for _, leaf in leaves], spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree of a structure with `leaves`.

    Raises:
        ValueError: there are more or fewer leaves than the structure has.
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"`leaves`: the structure has {treespec.num_leaves} leaves, got {len(leaves)}"
        )
    if treespec.is_leaf():
        return leaves[0]
    children = []
    start = 0
    for spec in treespec.children_specs:
        stop = start + spec.num_leaves
        children.append(tree_unflatten(leaves[start:stop], spec))
        start = stop
    node = SUPPORTED_NODES[treespec.type]
    return node.unflatten_fn(children, treespec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    """Return the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any],
    tree: PyTree,
    *trees: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """Return the tree of what `func` gives for the leaves of `tree`.

    Args:
        func: takes a leaf, and what the other trees have in its place.
        tree: the tree.
        trees: others of its structure, which may go on below.
        is_leaf: says which containers are leaves, too.

    Raises:
        ValueError: another tree has other containers.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(other) for other in trees]
    return tree_unflatten([func(*operands) for operands in zip(leaves, *others, strict=True)], spec)


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: Callable[[PyTree], bool] | None = None
) -> list[Any] | None:
    """Return what a tree that may end early has for each leaf of a structure; None if it has not.

    Args:
        tree: the tree: each of its leaves is for all leaves in its place.
        treespec: the structure.
        is_leaf: says which containers are leaves, too.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    places = tree_unflatten(range(treespec.num_leaves), treespec)
    try:
        children = spec.flatten_up_to(places)
    except ValueError:
        return None
    rows = zip(leaves, children, strict=True)
    return [leaf for leaf, child in rows for _ in tree_leaves(child)]


def tree_map_(func: Callable[..., Any], tree: PyTree, *trees: PyTree, **options: Any) -> PyTree:
    """Call `func` for the leaves of trees of one structure, and return the first tree."""
    tree_map(func, tree, *trees, **options)
    return tree


def tree_map_with_path(
    func: Callable[..., Any],
    tree: PyTree,
    *trees: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """Return the tree of what `func` gives for each leaf's keys and the leaves."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(other, is_leaf) for other in trees]
    return tree_unflatten(
        [func(path, leaf, *rest) for (path, leaf), *rest in zip(leaves, *others, strict=True)], spec
    )


def tree_map_only(
    type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, **options: Any
) -> PyTree:
    """Return a tree with what `func` gives for leaves of some types, or for which a test holds."""
    return tree_map(
        lambda leaf: func(leaf) if _matches(type_or_types_or_pred, leaf) else leaf, tree, **options
    )


def tree_map_only_(
    type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, **options: Any
) -> PyTree:
    """Call a function for leaves of some types, and return the tree."""
    tree_map_only(type_or_types_or_pred, func, tree, **options)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Any]:
    """Decorator of a function of leaves of some types; others it returns as they are."""
    return lambda func: lambda leaf: func(leaf) if _matches(type_or_types_or_pred, leaf) else leaf


def _matches(types_or_test: Any, leaf: Any) -> bool:
    if isinstance(types_or_test, type | tuple | UnionType):
        return isinstance(leaf, types_or_test)
    return bool(types_or_test(leaf))


def tree_all(pred: Callable[[Any], bool], tree: PyTree, **options: Any) -> bool:
    """Return whether `pred` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, **options)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, **options: Any) -> bool:
    """Return whether `pred` holds for a leaf."""
    return any(map(pred, tree_leaves(tree, **options)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, **options: Any
) -> bool:
    """Return whether `pred` holds for all leaves of some types."""
    return all(pred(x) for x in tree_leaves(tree, **options) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, **options: Any
) -> bool:
    """Return whether `pred` holds for a leaf of some types."""
    return any(pred(x) for x in tree_leaves(tree, **options) if isinstance(x, type_or_types))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of a function's arguments."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_leaves(tree)]


def tree_leaves_with_path(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each with the keys that lead to it."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return what keys lead to in a tree."""
    for key in kp:
        obj = getattr(obj, key.name) if isinstance(key, GetAttrKey) else obj[_index_of(key)]
    return obj


def _index_of(key: KeyEntry) -> Any:
    return key.idx if isinstance(key, SequenceKey) else key.key


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether something is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Return whether a class is one of named tuples."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def keystr(kp: Sequence[KeyEntry]) -> str:
    """Return the keys that lead to a leaf as one text."""
    return "".join(map(str, kp))
