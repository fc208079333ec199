"""Blobs, the tensors of job functions."""

from oneflow.tensor.tensor import Tensor as BlobDef

__all__ = ["BlobDef"]
