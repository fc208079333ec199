"""The attributes of modules as PyTorch's files have them: its hooks are several dicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from oneflow.base.change_count import MemberDict
from oneflow.module.hooks import CALL_KINDS, KINDS, Hooks, KeywordHook, hooks_in_place_of

# The dicts in which a module registers its members.
STORES = ("_parameters", "_buffers", "_modules")
# The dicts of options that PyTorch has beside one of hooks, by the option here.
_OPTIONS = {
    "_forward_hooks": {
        "with_kwargs": "_forward_hooks_with_kwargs",
        "always": "_forward_hooks_always_called",
    },
    "_forward_pre_hooks": {"with_kwargs": "_forward_pre_hooks_with_kwargs"},
}
_IS_FULL = "_is_full_backward_hook"


def state_for_pytorch(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's attributes under PyTorch's names.

    The hooks are those of the module, which `functions_of_hooks` writes: their handles hold them.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.module.pytorch_state import state_for_pytorch
        >>> state = state_for_pytorch(vars(flow.nn.ReLU()))
        >>> state["_forward_hooks_with_kwargs"], state["_forward_pre_hooks_with_kwargs"]
        (OrderedDict(), OrderedDict())
    """
    result = {name: value for name, value in state.items() if name != "_has_call_hooks"}
    for kind in KINDS:
        hooks = result.setdefault(kind, Hooks())
        for option, name in _OPTIONS.get(kind, {}).items():
            result[name] = OrderedDict(
                (key, True) for key, hook in hooks.items() if getattr(hook, option, False)
            )
    result[_IS_FULL] = True if state.get("_backward_hooks") else None
    return result


def functions_of_hooks(hooks: Hooks) -> Iterator[tuple[int, Any]]:
    """Return the identifiers and functions of hooks, without their options."""
    return (
        (key, hook.function if isinstance(hook, KeywordHook) else hook)
        for key, hook in hooks.items()
    )


def state_from_pytorch(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a module's attributes as they are here.

    Args:
        state: attributes under PyTorch's names, or under those of this package.
    """
    names = {name for options in _OPTIONS.values() for name in options.values()}
    result = {name: value for name, value in state.items() if name not in names | {_IS_FULL}}
    result.update((store, MemberDict(state[store])) for store in STORES if store in state)
    for kind in KINDS:
        hooks = state.get(kind, {})
        if isinstance(hooks, Hooks):
            continue
        result[kind] = hooks_in_place_of(hooks)
        options = {o: state.get(name, {}) for o, name in _OPTIONS.get(kind, {}).items()}
        for key, hook in hooks.items():
            flags = {option: True for option, keys in options.items() if key in keys}
            result[kind][key] = _with_options(hook, **flags) if flags else hook
    if any(result[kind] for kind in CALL_KINDS):
        result["_has_call_hooks"] = True
    return result


class PyTorchStateMixin:
    """The part of a module that pickles, and PyTorch's files, give its attributes to."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state_from_pytorch(state))

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        """Return the attributes of PyTorch's class that this one lacks or holds in another form."""
        return {}


def _with_options(hook: Any, with_kwargs: bool = False, always: bool = False) -> KeywordHook:
    return KeywordHook(hook, with_kwargs, always)
