"""Signal processing."""

from oneflow.signal import windows as windows

__all__ = ["windows"]
