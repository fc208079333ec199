"""Writes of `build` to tensors that are no part of the step: found, and undone."""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any
from weakref import ref

from oneflow.base.location import user_line
from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.program.value import Value
from oneflow.tensor.views import WRITE_HOOKS, Handle, Storage, with_history_of


class ExternalWrites:
    """Context manager: notes writes to tensors with values of their own while a step is captured.

    Their new values exist in the program only. That does no harm to tensors that were made in
    `build` and are gone with it.
    """

    def __init__(self, recorder: CapturingRecorder) -> None:
        self._recorder = recorder
        self._tensors: list[tuple[ref[Any], Value, str]] = []
        self._storages: list[tuple[Storage, Value, str]] = []

    def __enter__(self) -> ExternalWrites:
        WRITE_HOOKS.append(self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        WRITE_HOOKS.remove(self._note)

    def _note(self, tensor: Handle, new: Value) -> None:
        """A write calls this before it happens."""
        family = tensor._family
        old = tensor._value if family is None else family.storage.value
        if new.trace is not self._recorder or old.is_symbolic:
            return
        if family is None:
            self._tensors.append((ref(tensor), old, user_line()))
        else:
            self._storages.append((family.storage, old, user_line()))

    def undo(self) -> str | None:
        """Give tensors that still exist their values.

        Returns:
            The user's line of the first write to one of them; None without any.
        """
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
            if getrefcount(storage) > _BASELINE:
                storage.replace(old.alias(), silent=True)
                lines.insert(0, line)
        return lines[0] if lines else None


def _baseline_count() -> int:
    """The reference count that `undo` finds for a storage that no tensor has."""
    storages = [(object(), None, "")]
    storage, _, _ = storages.pop()
    return getrefcount(storage)


_BASELINE = _baseline_count()
