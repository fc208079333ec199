"""Modules around others whose results are computed again in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from oneflow import nn
from oneflow.autograd.graph import save_on_cpu
from oneflow.mock_torch.pytorch.distributed.fsdp.wrap import (
    lambda_auto_wrap_policy,
    wrap_children,
)
from oneflow.mock_torch.pytorch.distributed.wrapper_names import (
    CHECKPOINT_PREFIX as _CHECKPOINT_PREFIX,
)
from oneflow.utils.checkpoint import checkpoint


class CheckpointImpl(Enum):
    """The two ways in which PyTorch computes again; here they are one."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(nn.Module):
    """The base of modules around another, whose names in state dicts stay as they were.

    Args:
        mod: the module within.
    """

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module: Any = mod
        self._register_state_dict_hook(_without_prefix)
        self._register_load_state_dict_pre_hook(_with_prefix)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """Give the parameters by the names that they have in the module within."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


class CheckpointWrapper(ActivationWrapper):
    """A module that keeps nothing for the backward pass, which runs it again.

    Args:
        mod: the module within.
        checkpoint_impl: one of PyTorch's two ways.
        checkpoint_fn: runs the module in place of `utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: keyword arguments of that function.
    """

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        is_reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        options = {"use_reentrant": is_reentrant} if checkpoint_fn is None else {}
        run = checkpoint if checkpoint_fn is None else checkpoint_fn
        self.checkpoint_fn = functools.partial(run, **options, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module within."""
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


class OffloadWrapper(ActivationWrapper):
    """A module that keeps the tensors for its backward pass in the host's memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module within."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


def offload_wrapper(module: nn.Module) -> nn.Module:
    """Return a module around another that keeps what it saves in the host's memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: nn.Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> nn.Module:
    """Return a module around another that keeps nothing for the backward pass.

    Args:
        module: the module.
        checkpoint_impl: one of PyTorch's two ways.
        checkpoint_fn: runs the module in place of `utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: keyword arguments of that function.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     import torch.distributed.algorithms._checkpoint.checkpoint_wrapper as wrappers
        >>> layer = wrappers.checkpoint_wrapper(torch.nn.Linear(2, 1))
        >>> list(layer.state_dict())
        ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[[nn.Module], nn.Module] = checkpoint_wrapper,
    check_fn: Callable[[nn.Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Put a wrapper around modules within a model, those within others first.

    Args:
        model: the model, which itself stays as it is.
        checkpoint_wrapper_fn: wraps a module.
        check_fn: says which modules are wrapped.
        auto_wrap_policy: says so in the place of `check_fn`, as policies of FSDP do.
    """
    policy = auto_wrap_policy
    if policy is None:
        policy = functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_children(model, policy, checkpoint_wrapper_fn, set(), {})


def _without_prefix(module: nn.Module, state_dict: dict[str, Any], prefix: str, _: Any) -> None:
    """Give the entries of the module within the names that they have without a wrapper."""
    for key in [name for name in state_dict if name.startswith(prefix + _CHECKPOINT_PREFIX)]:
        entry = state_dict.pop(key)
        state_dict[prefix + key.removeprefix(prefix + _CHECKPOINT_PREFIX)] = entry


def _with_prefix(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Give entries the names that they have behind a wrapper."""
    for key in [name for name in state_dict if name.startswith(prefix)]:
        rest = key.removeprefix(prefix)
        if not rest.startswith(_CHECKPOINT_PREFIX):
            state_dict[prefix + _CHECKPOINT_PREFIX + rest] = state_dict.pop(key)


__all__ = [
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "OffloadWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]
