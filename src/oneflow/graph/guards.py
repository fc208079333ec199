"""Guards of a recorded step: the Python values of modules, and hooks of tensors, it was made from.

They are part of the program. Who changes them between two calls gets a step that is recorded again.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from itertools import repeat
from typing import Any

from oneflow.base.change_count import CHANGES
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, type(None))
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_MISSING = object()


class Guards:
    """The numbers, texts and functions in attributes, and the hooks, of a step that is recorded.

    Args:
        modules: the graph's modules, by path.
        graph: the graph.
        graph_base: its base class, whose attributes are none of the user's.
    """

    def __init__(self, modules: Iterable[tuple[str, Module]], graph: Any, graph_base: type) -> None:
        self._seen = CHANGES.value
        self._names: list[str] = []
        self._owners: list[dict[str, Any]] = []
        self._keys: list[str] = []
        self._values: list[Any] = []
        self._add("", graph, graph_base)
        for root, top in modules:
            for path, module in top.named_modules(prefix=root):
                self._add(f"{path}.", module, Module)
        self._types = list(map(type, self._values))
        self._tensors: list[Tensor] = []
        self._hooks: list[Any] = []

    def _add(self, prefix: str, owner: Any, base: type) -> None:
        """Add an object's plain attributes, and class attributes that it may shadow later."""
        members = vars(owner)
        kinds = _PLAIN + _FUNCTIONS
        attributes: dict[str, Any] = {
            name: value for name, value in members.items() if isinstance(value, kinds)
        }
        for kind in type(owner).__mro__:
            plain = [name for name, value in vars(kind).items() if isinstance(value, _PLAIN)]
            attributes.update({name: _MISSING for name in plain if name not in members})
        if isinstance(owner, Module):
            attributes["forward"] = members.get("forward", _MISSING)
        for name, value in attributes.items():
            if name == "forward" or not (name == "training" or hasattr(base, name)):
                self._names.append(f"{prefix}{name}")
                self._owners.append(members)
                self._keys.append(name)
                self._values.append(value)

    def keep(self, tensors: Iterable[Tensor]) -> None:
        """Forget attributes that `build` has changed, and remember the hooks of these tensors.

        A module that counts its calls, or keeps a result, gives the program nothing with that.
        """
        same = set(range(len(self._keys))).difference(self._changed())
        attributes: list[Any]
        for attributes in (self._names, self._owners, self._keys, self._values, self._types):
            attributes[:] = [attribute for i, attribute in enumerate(attributes) if i in same]
        self._tensors = list(tensors)
        self._hooks = list(map(_hooks_of, self._tensors))

    def find_change(self) -> str | None:
        """Return the name of an attribute, or words for hooks, that changed; None if none did."""
        count = CHANGES.value
        if count == self._seen:
            return None
        changed = self._changed()
        if changed:
            return f"`{self._names[changed[0]]}`"
        if list(map(_hooks_of, self._tensors)) != self._hooks:
            return "the hooks of a tensor"
        self._seen = count
        return None

    def _changed(self) -> list[int]:
        """The indices of the attributes that are not as they were."""
        values = list(map(dict.get, self._owners, self._keys, repeat(_MISSING)))
        types = list(map(type, values))
        if types == self._types and values == self._values:
            return []
        pairs = zip(types, values, self._types, self._values, strict=True)
        return [
            index
            for index, (kind, value, old_kind, old) in enumerate(pairs)
            if kind is not old_kind or (value is not old and value != old)
        ]


def _hooks_of(tensor: Tensor) -> list[Any]:
    """The functions that see the gradient of a tensor."""
    node = tensor._value.node
    if node is None:
        return []
    hooks = list(node.post_hooks) if node.is_leaf_node else []
    if node.hooks is not None:
        hooks += node.hooks.outputs.get(tensor._value.output_index, ())
    return hooks
