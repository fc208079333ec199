"""A library of convolutions, for which XLA has its own."""

from oneflow.cuda.backends import is_unavailable as is_available

__all__ = ["is_available"]
