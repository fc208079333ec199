"""Utilities around training."""

from oneflow.utils import checkpoint as checkpoint
