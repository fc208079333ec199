"""Several tensors as one, under the path of upstream."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.functional.shape.dense import (
    flatten_dense_tensors as _flatten_dense_tensors,
    unflatten_dense_tensors as _unflatten_dense_tensors,
)

__all__ = ["_flatten_dense_tensors", "_unflatten_dense_tensors"]
