"""Small helpers of programs with job functions."""

from oneflow.legacy.unique import unique_str as unique_str

__all__ = ["unique_str"]
