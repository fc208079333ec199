"""Saving and loading the variables of job functions."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.checkpoint import (
    CheckPoint as CheckPoint,
    SimpleCheckPointManager as SimpleCheckPointManager,
)

__all__ = ["CheckPoint", "SimpleCheckPointManager"]
