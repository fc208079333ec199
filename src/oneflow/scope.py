"""Devices and names of what a job function makes."""

from oneflow.legacy.scope import (
    consistent_view as consistent_view,
    consistent_view_enabled as consistent_view_enabled,
    mirrored_view as mirrored_view,
    mirrored_view_enabled as mirrored_view_enabled,
    namespace as namespace,
    placement as placement,
)
