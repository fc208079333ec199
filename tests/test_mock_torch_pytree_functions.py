"""Functions of ``torch.utils._pytree`` on leaves of some types, beside PyTorch's."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch.utils._pytree

from tests.in_place import in_place_of

_Point = collections.namedtuple("_Point", ("x", "y"))
_TREE = {"a": [1, 2.5], "b": (_Point(3, "c"), None)}
PROGRAMS: dict[str, Any] = {
    "map_only": lambda p: p.tree_map(p.map_only(int)(lambda x: -x), _TREE),
    "tree_map_only of a union": lambda p: p.tree_map_only(int | float, lambda x: x + 1, _TREE),
    "tree_map_only of a test": lambda p: p.tree_map_only(
        lambda x: isinstance(x, int), lambda x: x + 1, _TREE
    ),
    "tree_map_only_": lambda p: p.tree_map_only_(int, lambda x: x + 1, _TREE) is _TREE,
    "tree_all_only": lambda p: p.tree_all_only(int, lambda x: x > 0, _TREE),
    "tree_any_only": lambda p: p.tree_any_only((float, str), lambda x: x == "c", _TREE),
    "arg_tree_leaves": lambda p: p.arg_tree_leaves([1, (2,)], 3, four=[4]),
    "key_get": lambda p: [p.key_get(_TREE, path) for path, _ in p.tree_leaves_with_path(_TREE)],
    "paths": lambda p: [p.keystr(path) for path, _ in p.tree_leaves_with_path(_TREE)],
    "named tuples": lambda p: [
        p.is_namedtuple_instance(_Point(1, 2)),
        p.is_namedtuple_class(_Point),
        p.is_namedtuple_instance((1, 2)),
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_are_those_of_pytorch(name: str) -> None:
    ours = in_place_of("torch.utils._pytree")
    assert PROGRAMS[name](ours) == PROGRAMS[name](torch.utils._pytree)
