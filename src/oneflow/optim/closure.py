"""The closures that optimizers take: functions that compute the loss again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.differentiation.grad_mode import enable_grad


def evaluate_closure(closure: Callable[..., Any] | None) -> Any:
    """Return the loss that `closure` computes, with gradients; None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()
