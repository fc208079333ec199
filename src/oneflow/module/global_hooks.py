"""Hooks of all modules: `oneflow.nn.modules.module.register_module_forward_hook` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.module.hooks import (
    GLOBAL_HOOKS,
    REGISTRATION_HOOKS,
    HooksMixin,
    RemovableHandle,
    call_hook,
)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the `forward` of every module.

    A return value other than None replaces the arguments. It runs before the module's own hooks.
    """
    return _register("_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the `forward` of every module.

    A return value other than None replaces the output. It runs before the module's own hooks.

    Args:
        hook: with `with_kwargs` it is called as ``hook(module, args, kwargs, output)``.
        with_kwargs: pass keyword arguments too.
        always_call: call it also when `forward` raised.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.modules.module import register_module_forward_hook
        >>> def show(module, args, output):
        ...     print(type(module).__name__, list(output.shape))
        >>> with register_module_forward_hook(show):
        ...     _ = flow.nn.Sequential(flow.nn.Linear(2, 3), flow.nn.ReLU())(flow.ones(1, 2))
        Linear [1, 3]
        ReLU [1, 3]
        Sequential [1, 3]
    """
    return _register("_forward_hooks", call_hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when gradients of a module's outputs are known.

    A return value other than None replaces them.
    """
    return _register("_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are known.

    A return value other than None replaces `grad_input`.
    """
    return _register("_backward_hooks", hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when a module gets a parameter.

    A return value other than None takes its place.
    """
    return REGISTRATION_HOOKS["_parameters"].register(hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a module gets a buffer.

    A return value other than None takes its place.
    """
    return REGISTRATION_HOOKS["_buffers"].register(hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, child)`` when a module gets a child.

    A return value other than None takes its place.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.modules.module import register_module_module_registration_hook
        >>> with register_module_module_registration_hook(lambda *given: print(given[1])):
        ...     _ = flow.nn.Sequential(flow.nn.ReLU(), flow.nn.Tanh())
        0
        1
    """
    return REGISTRATION_HOOKS["_modules"].register(hook)


def _register(kind: str, hook: Callable) -> RemovableHandle:
    # From now on all modules look for hooks.
    HooksMixin._has_call_hooks = True
    return GLOBAL_HOOKS[kind].register(hook)
