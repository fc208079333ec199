"""The end of the import: the garbage collector goes on."""

from __future__ import annotations

from oneflow.runtime import gc_during_import

gc_during_import.end()
