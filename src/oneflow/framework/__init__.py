"""The path of upstream's package for tensors."""

from oneflow.framework import tensor as tensor

__all__ = ["tensor"]
