"""Apple's Metal, for which there is no backend."""

from oneflow.cuda.backends import is_absent as is_available, is_absent as is_built

__all__ = ["is_available", "is_built"]
