"""Automatic mixed precision."""

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

__all__ = [
    "GradScaler",
    "StaticGradScaler",
    "autocast",
    "autocast_decorator",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]
