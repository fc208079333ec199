"""Automatic mixed precision."""

from oneflow.amp.autocast import autocast as autocast, autocast_decorator as autocast_decorator
from oneflow.amp.grad_scaler import (
    GradScaler as GradScaler,
    StaticGradScaler as StaticGradScaler,
)

__all__ = ["GradScaler", "StaticGradScaler", "autocast", "autocast_decorator"]
