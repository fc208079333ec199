"""Saving and loading the variables of job functions."""

from oneflow.legacy.checkpoint import CheckPoint as CheckPoint

__all__ = ["CheckPoint"]
