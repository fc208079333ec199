"""Utilities around training."""

from oneflow.utils import checkpoint as checkpoint, data as data, vision as vision
