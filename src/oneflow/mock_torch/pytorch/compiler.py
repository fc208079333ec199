"""``torch.compiler``: Python is what runs, so that nothing has to be kept out of a compiler."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from oneflow import nn
from oneflow.mock_torch.pytorch import compiler_config as config  # noqa: F401 - a module in it
from oneflow.mock_torch.pytorch.compiled_module import OptimizedModule
from oneflow.mock_torch.pytorch.compiler_choices import (
    get_default_backend as get_default_backend,
    load_cache_artifacts as load_cache_artifacts,
    load_compiled_function as load_compiled_function,
    save_cache_artifacts as save_cache_artifacts,
    set_default_backend as set_default_backend,
    set_enable_guard_collectives as set_enable_guard_collectives,
    wrap_numpy as wrap_numpy,
)
from oneflow.mock_torch.pytorch.compiler_guards import (
    keep_portable_guards_unsafe as keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe as keep_tensor_guards_unsafe,
    skip_all_guards_unsafe as skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe as skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe as skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe as skip_guard_on_inbuilt_nn_modules_unsafe,
)

Decorated = TypeVar("Decorated")
_STANCES = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)


def compile(model: Any = None, *, disable: bool = False, **options: Any) -> Any:
    """Return a function as it is, and a module in a module that calls it.

    Code that runs often is compiled anyway.

    Args:
        model: the function or module; without one, a decorator is returned.
        disable: return a module as it is, too.
        options: `fullgraph`, `dynamic`, `backend`, `mode` and `options` change nothing.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch import compiler
        >>> list(compiler.compile(flow.nn.Linear(2, 3), mode="max-autotune").state_dict())
        ['_orig_mod.weight', '_orig_mod.bias']
    """
    if model is None:
        return partial(compile, disable=disable, **options)
    if disable or not isinstance(model, nn.Module):
        return model
    return OptimizedModule(model._orig_mod if isinstance(model, OptimizedModule) else model)


def is_compiling() -> bool:
    """Return False: functions run as Python."""
    return False


def is_dynamo_compiling() -> bool:
    """Return False: functions run as Python."""
    return False


def is_exporting() -> bool:
    """Return False: exported programs were recorded, and do not run Python again."""
    return False


def disable(
    fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any
) -> Callable[..., Any]:
    """Return `fn` as it is, or without one a decorator that does; the options change nothing."""
    return allow_in_graph if fn is None else fn


def allow_in_graph(fn: Decorated) -> Decorated:
    """Return a function as it is."""
    return fn


def assume_constant_result(fn: Decorated) -> Decorated:
    """Return a function as it is: it is called each time."""
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Decorated], Decorated]:
    """Return a decorator that changes nothing: the original is called."""
    return allow_in_graph


class set_stance(contextlib.ContextDecorator):
    """Choose what compiled functions do from now on, or inside of a context: without effect.

    Args:
        stance: one of PyTorch's, such as ``"force_eager"``.
        skip_guard_eval_unsafe: without effect.
        force_backend: without effect.

    Raises:
        RuntimeError: there is no such stance.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"`stance` must be one of {_STANCES}, got {stance!r}")

    def __enter__(self) -> None:
        """The functions of the block are called as Python."""

    def __exit__(self, *exception: object) -> None:
        """The functions behind the block are, too."""


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """Return a function as it is: it is recorded with those around it."""
    return allow_in_graph if fn is None else fn


def cudagraph_mark_step_begin() -> None:
    """Mark nothing: steps are told apart by what they record."""


def reset() -> None:
    """Forget nothing: programs that are no longer used are dropped by themselves."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return the names of the compilers; there is one.

    Example:
        >>> from oneflow.mock_torch.pytorch import compiler
        >>> compiler.list_backends()
        ['xla']
    """
    return ["xla"]
