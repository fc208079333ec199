"""The paths of upstream's package for tensors and blobs."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.framework import remote_blob as remote_blob, tensor as tensor

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)

__all__ = ["remote_blob", "tensor"]
