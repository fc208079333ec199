"""The folders in which tools keep what they fetch."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder of a tool among the caches of the user."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / name
