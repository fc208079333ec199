"""Devices and names of what a job function makes."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.scope import (
    config as config,
    consistent_view as consistent_view,
    consistent_view_enabled as consistent_view_enabled,
    mirrored_view as mirrored_view,
    mirrored_view_enabled as mirrored_view_enabled,
    namespace as namespace,
    placement as placement,
)

# fmt: off
__all__ = [
    "config", "consistent_view", "consistent_view_enabled", "mirrored_view",
    "mirrored_view_enabled", "namespace", "placement",
]
# fmt: on
