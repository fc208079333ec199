"""Names of ``torch.nn.attention`` for kernels of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing

#: Nothing warns where attention is not one kernel.
WARN_FOR_UNFUSED_KERNELS = False
_REASON = "kernels of attention are those of cuDNN and of JAX, chosen when XLA compiles a program"


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> NoReturn:
    """Refuse a kernel of another library."""
    raise_missing("torch.nn.attention.register_flash_attention_impl", _REASON)


def activate_flash_attention_impl(impl: str) -> NoReturn:
    """Refuse a kernel of another library."""
    raise_missing("torch.nn.attention.activate_flash_attention_impl", _REASON)


def list_flash_attention_impls() -> list[str]:
    """Return the names of the kernels of other libraries: none."""
    return []


def current_flash_attention_impl() -> str | None:
    """Return None: no kernel of another library is in use."""
    return None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Change nothing: no kernel of another library is in use."""


__all__ = [
    "WARN_FOR_UNFUSED_KERNELS",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
]
