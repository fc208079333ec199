"""Apple's Metal, for which there is no backend."""

from oneflow.cuda.backends import is_unavailable as is_available, is_unavailable as is_built

__all__ = ["is_available", "is_built"]
