"""Utilities around training."""

from oneflow.utils import checkpoint as checkpoint
from oneflow.utils import data as data
