"""Hooks of optimizers: around each step, and around saving and loading their state."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from oneflow.differentiation.hooks import HookHandle
from oneflow.optim.build_check import check_not_in_build
from oneflow.optim.groups import copied_state, states_of_parameters
from oneflow.runtime.eager import flush_all, note_undo

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
        own = self._hooks
        return bool(own["pre"] or own["post"] or GLOBAL_HOOKS["pre"] or GLOBAL_HOOKS["post"])

    def _register(self, place: str, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        hooks = self._hooks[place]
        handle = HookHandle(hooks, hook)
        if prepend:
            hooks.insert(0, hooks.pop())
        return handle

    def _replaced_by_hooks(self, place: str, value: Any) -> Any:
        """The value after each ``hook(optimizer, value)``; a hook may return None to keep it."""
        for hook in list(self._hooks[place]):
            result = hook(self, value)
            value = value if result is None else result
        return value

    def _patch_step_function(self) -> None:
        """Do nothing: the steps of all classes have hooks. Wrappers that make no groups call it."""

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

    def _state_in_pytorch(self) -> dict[str, Any]:
        """Return all attributes; those that PyTorch reads are as it has them."""
        this: Any = self
        state = defaultdict(dict, {key: copied_state(values) for key, values in this.state.items()})
        groups = [dict(group) for group in this.param_groups]
        return {**vars(self), "defaults": {**this.defaults}, "state": state, "param_groups": groups}


def complete_step(step: Callable) -> Callable:
    """`step` with its hooks; at the end the recorded program starts."""

    @functools.wraps(step)
    def complete(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "_hooks" not in vars(self):  # it wraps an optimizer, which has them
            return step(self, *args, **kwargs)
        if self.step_counter is None:
            check_not_in_build(type(self).__name__, self.param_groups)
        for hook in (*GLOBAL_HOOKS["pre"], *self._hooks["pre"]):
            args, kwargs = hook(self, args, kwargs) or (args, kwargs)
        before = {id(state): self.counts_of(state) for state in states_of_parameters(self.state)}
        previous, self._counts_before = self._counts_before, before
        self.leave_schedule_of_graph()
        result = step(self, *args, **kwargs)
        note_undo(functools.partial(self._restore_counts, before, previous))
        flush_all("step")
        for hook in (*self._hooks["post"], *GLOBAL_HOOKS["post"]):
            hook(self, args, kwargs)
        return result

    return complete
