"""Small helpers of programs with job functions."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.unique import unique_str as unique_str

__all__ = ["unique_str"]
