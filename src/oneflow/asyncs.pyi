"""Worker threads of OneFlow."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.runtime.streams import Thread as Thread, thread as thread

__all__ = ["Thread", "thread"]
