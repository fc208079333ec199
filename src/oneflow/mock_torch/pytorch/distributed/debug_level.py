"""Levels by which PyTorch's programs ask for checks of what processes send.

Operations that differ between processes are found at every level here.
"""

from __future__ import annotations

import enum
import os


class DebugLevel(enum.Enum):
    """A level of checks."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_VARIABLE = "TORCH_DISTRIBUTED_DEBUG"


class _DebugSetting:
    """The level that the program has set."""

    level: DebugLevel | None = None


def _level_of_environment() -> DebugLevel:
    """Return the level that the environment names.

    Raises:
        RuntimeError: there is no such level.
    """
    name = os.environ.get(_VARIABLE, "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"{_VARIABLE} must be one of {', '.join(DebugLevel.__members__)}, got {name}"
        )
    return DebugLevel[name]


def get_debug_level() -> DebugLevel:
    """Return the level that the program or ``TORCH_DISTRIBUTED_DEBUG`` sets."""
    return _level_of_environment() if _DebugSetting.level is None else _DebugSetting.level


def set_debug_level(level: DebugLevel) -> None:
    """Set the level.

    Raises:
        TypeError: it is no `DebugLevel`.
    """
    if not isinstance(level, DebugLevel):
        raise TypeError(f"`level` must be a DebugLevel, got {type(level).__name__}")
    _DebugSetting.level = level


def set_debug_level_from_env() -> None:
    """Set the level that ``TORCH_DISTRIBUTED_DEBUG`` names."""
    _DebugSetting.level = _level_of_environment()


__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]
