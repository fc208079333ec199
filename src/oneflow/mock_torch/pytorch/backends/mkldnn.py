"""Intel's library of kernels, for which XLA has its own."""

from oneflow.cuda.backends import is_unavailable as is_available

enabled = False

__all__ = ["enabled", "is_available"]
