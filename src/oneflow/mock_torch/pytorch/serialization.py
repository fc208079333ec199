"""Names of ``torch.serialization``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any

DEFAULT_PROTOCOL = 2
FileLike = str | os.PathLike[str] | IO[bytes]
FILE_LIKE = FileLike
MapLocation = Callable[[Any, str], Any] | dict[str, str] | Any
MAP_LOCATION = MapLocation

__all__ = ["DEFAULT_PROTOCOL", "FILE_LIKE", "MAP_LOCATION", "FileLike", "MapLocation"]
