"""Saving and loading the variables of job functions."""

from oneflow.legacy.checkpoint import (
    CheckPoint as CheckPoint,
    SimpleCheckPointManager as SimpleCheckPointManager,
)

__all__ = ["CheckPoint", "SimpleCheckPointManager"]
