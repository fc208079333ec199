"""The end of the import: the garbage collector goes on."""

from __future__ import annotations

from oneflow.runtime import collection_pause

collection_pause.end()
