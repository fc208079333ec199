"""Worker threads of OneFlow."""

from oneflow.runtime.streams import Thread as Thread, thread as thread

__all__ = ["Thread", "thread"]
