"""Training with unequal numbers of batches per process."""

from oneflow.distributed.joining import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
