"""Automatic mixed precision."""

from typing import TYPE_CHECKING

from oneflow.amp.autocast import (
    autocast as autocast,
    autocast_decorator as autocast_decorator,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
    is_autocast_available as is_autocast_available,
)
from oneflow.amp.grad_scaler import (
    GradScaler as GradScaler,
    StaticGradScaler as StaticGradScaler,
)
from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)

__all__ = [
    "GradScaler",
    "StaticGradScaler",
    "autocast",
    "autocast_decorator",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]
