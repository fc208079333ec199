"""Settings that worker processes inherit from the process that starts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Setting = TypeVar("_Setting")
_SETTINGS: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []


def inherit(get: Callable[[], _Setting], take_over: Callable[[_Setting], None]) -> None:
    """Let worker processes take over a setting.

    Args:
        get: returns the setting, which can be pickled.
        take_over: makes it the setting of another process; a function of a module.
    """
    _SETTINGS.append((get, take_over))


def current_settings() -> list[tuple[Callable[[Any], None], Any]]:
    """Return all settings, each with the function that takes it over."""
    return [(take_over, get()) for get, take_over in _SETTINGS]
