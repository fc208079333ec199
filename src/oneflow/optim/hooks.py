"""Hooks of optimizers: around each step, and around saving and loading their state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from oneflow.differentiation.hooks import HookHandle

# The hooks of all optimizers, by the place where they are called.
GLOBAL_HOOKS: defaultdict[str, list[Callable[..., Any]]] = defaultdict(list)


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimizer.

    It may return new arguments, and runs before the optimizer's own hooks.

    Returns:
        A handle whose `remove()` takes the hook away.

    Example:
        >>> import oneflow as flow
        >>> def show(optimizer, args, kwargs):
        ...     print(type(optimizer).__name__)
        >>> with flow.optim.hooks.register_optimizer_step_pre_hook(show):
        ...     flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=0.1).step()
        SGD
    """
    return HookHandle(GLOBAL_HOOKS["pre"], hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> HookHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer.

    It runs after the optimizer's own hooks.

    Returns:
        A handle whose `remove()` takes the hook away.
    """
    return HookHandle(GLOBAL_HOOKS["post"], hook)


class OptimizerHooks:
    """The part of `Optimizer` that keeps the functions that users register.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=0.1)
        >>> handle = optimizer.register_state_dict_post_hook(
        ...     lambda optimizer, state: {**state, "epoch": 3}
        ... )
        >>> optimizer.state_dict()["epoch"]
        3
    """

    def __init__(self) -> None:
        self._hooks: defaultdict[str, list[Callable[..., Any]]] = defaultdict(list)

    @property
    def has_step_hooks(self) -> bool:
        """True if any hook is called before or after a step."""
        kinds = (self._hooks, GLOBAL_HOOKS)
        return any(hooks[place] for hooks in kinds for place in ("pre", "post"))

    def _register(self, place: str, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        hooks = self._hooks[place]
        handle = HookHandle(hooks, hook)
        if prepend:
            hooks.insert(0, hooks.pop())
        return handle

    def _replaced_by_hooks(self, place: str, value: Any) -> Any:
        """The value after each ``hook(optimizer, value)``; None leaves it as it is."""
        for hook in list(self._hooks[place]):
            result = hook(self, value)
            value = value if result is None else result
        return value

    def _call_hooks(self, place: str) -> None:
        for hook in list(self._hooks[place]):
            hook(self)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ones.

        Returns:
            A handle whose `remove()` takes the hook away.
        """
        return self._register("pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step.

        Returns:
            A handle whose `remove()` takes the hook away.
        """
        return self._register("post", hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Call ``hook(optimizer)`` before each `state_dict`, with `prepend` before other hooks."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Call ``hook(optimizer, state_dict)`` on each `state_dict`; it may return another."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Call ``hook(optimizer, state_dict)`` before one is loaded; it may return another."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> HookHandle:
        """Call ``hook(optimizer)`` after each `load_state_dict`."""
        return self._register("load_state_dict_post", hook, prepend)
