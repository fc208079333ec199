"""Annotations of job functions: placeholders of arguments, and kinds of results."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.annotations import (
    Bundle as Bundle,
    Callback as Callback,
    ListListNumpy as ListListNumpy,
    ListNumpy as ListNumpy,
    Numpy as Numpy,
)

__all__ = ["Bundle", "Callback", "ListListNumpy", "ListNumpy", "Numpy"]
