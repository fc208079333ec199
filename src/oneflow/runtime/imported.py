"""The end of the import: the garbage collector looks through all objects again."""

from __future__ import annotations

from oneflow.runtime.garbage_collection import take_objects_back

take_objects_back()
