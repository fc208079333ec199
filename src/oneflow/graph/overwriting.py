"""Tensors that `build` writes to although they are no part of the step: found, and put back."""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any
from weakref import ref

from oneflow.base.location import user_line
from oneflow.graph.recorder import CapturingRecorder
from oneflow.program.value import Value
from oneflow.tensor.views import WATCHERS, Handle, Storage, with_history_of


class Overwritten:
    """Context manager: tensors with values of their own are watched while a step is recorded.

    What is written to them exists in the program only. That is no harm if they were made in
    `build`, and are gone with it.
    """

    def __init__(self, recorder: CapturingRecorder) -> None:
        self._recorder = recorder
        self._tensors: list[tuple[ref[Any], Value, str]] = []
        self._storages: list[tuple[Storage, Value, str]] = []

    def __enter__(self) -> Overwritten:
        WATCHERS.append(self._see)
        return self

    def __exit__(self, *exception: object) -> None:
        WATCHERS.remove(self._see)

    def _see(self, tensor: Handle, new: Value) -> None:
        """A write calls this before it happens."""
        family = tensor._family
        old = tensor._value if family is None else family.storage.value
        if new.trace is not self._recorder or old.is_symbolic:
            return
        if family is None:
            self._tensors.append((ref(tensor), old, user_line()))
        else:
            self._storages.append((family.storage, old, user_line()))

    def put_back(self) -> str | None:
        """Give tensors that are still there their values; the line of the first write to one."""
        if not self._tensors and not self._storages:
            return None
        gc.collect()
        lines = []
        for reference, old, line in self._tensors:
            tensor = reference()
            if tensor is not None:
                tensor._value = with_history_of(old.alias(), old)
                lines.append(line)
        while self._storages:
            storage, old, line = self._storages.pop()
            if getrefcount(storage) > _UNHELD:
                storage.replace(old.alias(), silent=True)
                lines.insert(0, line)
        return lines[0] if lines else None


def _references_to_storage() -> int:
    """What `put_back` counts for a storage that no tensor has."""
    storages = [(object(), None, "")]
    storage, _, _ = storages.pop()
    return getrefcount(storage)


_UNHELD = _references_to_storage()
