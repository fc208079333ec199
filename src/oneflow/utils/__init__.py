"""Utilities around training."""

from oneflow.utils import (
    checkpoint as checkpoint,
    data as data,
    global_view as global_view,
    vision as vision,
)
