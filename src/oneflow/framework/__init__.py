"""The paths of upstream's package for tensors and blobs."""

from oneflow.framework import remote_blob as remote_blob, tensor as tensor

__all__ = ["remote_blob", "tensor"]
