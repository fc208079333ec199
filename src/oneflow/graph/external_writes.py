"""Writes of `build` to tensors that are no part of the step: found, and undone."""

from __future__ import annotations

import gc
from sys import getrefcount
from typing import Any
from weakref import ref

from oneflow.base.location import user_line
from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.program.value import Value
from oneflow.tensor.storage import Storage
from oneflow.tensor.strides import is_view
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import WRITE_HOOKS, Handle, with_history_of


class ExternalWriteError(RuntimeError):
    """`build` wrote to tensors that are no part of the step.

    Attributes:
        tensors: the written tensors, if all of them can become variables of the graph; else empty.
    """

    def __init__(self, message: str, tensors: tuple[Tensor, ...] = ()) -> None:
        super().__init__(message)
        self.tensors = tensors


class ExternalWrites:
    """Context manager: notes writes to tensors with values of their own while a step is captured.

    Their new values exist in the program only. Tensors that were made in `build` and are gone with
    it take no harm from that.
    """

    def __init__(self, recorder: CapturingRecorder) -> None:
        self._recorder = recorder
        self._tensors: list[tuple[ref[Any], Value, str]] = []
        self._storages: list[tuple[Storage, ref[Any], Value, str]] = []

    def __enter__(self) -> ExternalWrites:
        WRITE_HOOKS.append(self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        WRITE_HOOKS.remove(self._note)

    def _note(self, tensor: Handle, new: Value) -> None:
        """A write calls this before it happens."""
        family = tensor._family
        old = tensor._value if family is None else family.storage.value
        if new.recorder is not self._recorder or old.is_symbolic:
            return
        if family is None:
            self._tensors.append((ref(tensor), old, user_line()))
        else:
            self._storages.append((family.storage, ref(tensor), old, user_line()))

    def undo(self) -> ExternalWriteError | None:
        """Give tensors that still exist their values.

        Returns:
            The error about the first write to one of them; None without any.
        """
        if not self._tensors and not self._storages:
            return None
        gc.collect()
        written: list[tuple[Tensor | None, str]] = []
        for reference, old, line in self._tensors:
            tensor = reference()
            if tensor is not None:
                tensor._value = with_history_of(old.alias(), old)
                written.append((tensor, line))
        while self._storages:
            storage, reference, old, line = self._storages.pop()
            if getrefcount(storage) > _BASELINE:
                storage.replace(old.alias(), uncounted=True)
                tensor = reference()
                is_root = tensor is not None and not is_view(tensor)
                written.insert(0, (tensor if is_root else None, line))
        return self._error(written) if written else None

    def _error(self, written: list[tuple[Tensor | None, str]]) -> ExternalWriteError:
        """The error about writes, given with their lines."""
        tensors = {id(tensor): tensor for tensor, _ in written if tensor is not None}
        is_complete = all(tensor is not None for tensor, _ in written)
        return ExternalWriteError(
            f"{self._recorder.graph_name}: {self._recorder.body} wrote to a "
            f"tensor{written[0][1]} that is no argument and belongs to no module of the graph, so "
            "it would not change in later calls. Assign the tensor, or the module whose buffer it "
            "is, to an attribute of the graph",
            tuple(tensors.values()) if is_complete else (),
        )


def _baseline_count() -> int:
    """The reference count that `undo` finds for a storage that no tensor has."""
    storages = [(object(), None, None, "")]
    storage, _, _, _ = storages.pop()
    return getrefcount(storage)


_BASELINE = _baseline_count()
