"""Devices and names of what a job function makes."""

from oneflow.legacy.scope import (
    consistent_view as consistent_view,
    mirrored_view as mirrored_view,
    namespace as namespace,
    placement as placement,
)
