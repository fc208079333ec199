"""Names of ``torch._dynamo.utils``."""

from __future__ import annotations

import collections
import sys
import warnings

from oneflow.mock_torch.pytorch.compiler_settings import Changes

#: What PyTorch's compiler has counted; nothing here counts.
counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(
    collections.Counter
)
_MESSAGES: set[str] = set()


def is_compile_supported(device_type: str) -> bool:
    """Return False: functions are not compiled one by one for a type of device."""
    return False


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn the first time that a process has this message.

    Args:
        msg: the message.
        stacklevel: the number of callers between this function and the line that is shown.
    """
    if msg not in _MESSAGES:
        _MESSAGES.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)


def disable_cache_limit() -> Changes:
    """Return a context in which functions may be compiled any number of times."""
    limits = {"recompile_limit": sys.maxsize, "accumulated_recompile_limit": sys.maxsize}
    return Changes("torch._dynamo.config", limits)


__all__ = ["counters", "disable_cache_limit", "is_compile_supported", "warn_once"]
