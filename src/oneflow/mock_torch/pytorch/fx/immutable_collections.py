"""Lists and dictionaries that cannot be changed: ``torch.fx.immutable_collections``."""

from __future__ import annotations

from typing import Any, NoReturn


def _unsupported(kind: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"'{type(self).__name__}' object does not support mutation. If you are attempting to "
            "modify the kwargs or args of a torch.fx.Node object,\ninstead create a new copy of it "
            f"and assign the copy to the node:\n    new_args = ... # copy and mutate the {kind}\n"
            "    node.args = new_args"
        )

    return refuse


class immutable_list(list):
    """A list that cannot be changed."""

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(tuple(self))


class immutable_dict(dict):
    """A dictionary that cannot be changed."""

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))


_CHANGES: tuple[tuple[type, str, str], ...] = (
    (
        immutable_list,
        "list",
        "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse "
        "sort",
    ),
    (
        immutable_dict,
        "dict",
        "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update",
    ),
)
for _kind, _name, _methods in _CHANGES:
    for _method in _methods.split():
        setattr(_kind, _method, _unsupported(_name))
