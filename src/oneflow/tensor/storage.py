"""`Storage`: the memory that several tensors share, as a value that a write replaces."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from weakref import ref

from oneflow.program.value import Value
from oneflow.runtime.checks import note_write
from oneflow.tensor.host_memory import HostMemory
from oneflow.tensor.view_chain import Chain

# This lock is held while state that several threads may change is read, changed and put back.
MEMORY_LOCK = threading.RLock()


class Storage:
    """The memory that several tensors share.

    Attributes:
        value: the root's data.
        version: number of writes so far.
        host: the memory of the host that it is, if others write to that, too; else None.
        growths: for each time that the memory has grown the version from then on, and the views
            that lead to what it was before. Families follow when they read the root again.
    """

    __slots__ = ("__weakref__", "_prune_at", "_tracked", "growths", "host", "value", "version")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.version = 0
        self.host: HostMemory | None = None
        self.growths: tuple[tuple[int, Chain], ...] = ()
        self._tracked = [ref(value)]
        self._prune_at = 32

    def track(self, value: Value) -> None:
        """Remember a value read from here: the next write makes it stale."""
        tracked = self._tracked
        tracked.append(ref(value))
        if len(tracked) > self._prune_at:
            self._tracked = [reference for reference in tracked if reference() is not None]
            self._prune_at = 2 * len(self._tracked) + 32

    def replace(self, root: Value, uncounted: bool) -> int:
        """Write: `root` is the new content.

        Returns:
            The version of that content. Others may have written to memory of the host since then.
        """
        note_replacement(root, self.value, partial(_invalidate, ref(self)))
        replaced: list[ref[Value]] = []
        if not uncounted:
            replaced, self._tracked = self._tracked, []
        self.value = root
        self.version = version = self.version + 1
        self.track(root)
        for reference in replaced:
            value = reference()
            if value is not None:
                mark_stale(value)
        if self.host is not None:
            self.synchronize()
        return version

    def root(self) -> Value:
        """The root's data as it is now, in the memory of the host, too."""
        self.synchronize()
        return self.value

    def synchronize(self) -> None:
        """Be what is in the memory of the host, if it is one."""
        if self.host is not None:
            with MEMORY_LOCK:
                if self.host is not None:
                    self.host.exchange(self)


def _invalidate(storage: ref[Storage]) -> None:
    """Make all tensors look again at the memory that they share, if there still are any."""
    shared = storage()
    if shared is not None:
        shared.version += 1
        if shared.host is not None:
            shared.host.forget()


def note_replacement(new: Value, old: Value, invalidate: Callable[[], None] | None = None) -> None:
    """Note that a tensor gets `old` again if `new`, its new value, cannot be computed.

    Raises:
        Exception: `new` was computed behind a check of another thread that has failed.
    """
    recorder = new.recorder
    if new.array is not None:
        note_write(new.array, partial(_restore, ref(new), old, invalidate))
    elif recorder is not None:
        recorder.note_replacement(new, old, invalidate)


def _restore(new: ref[Value], old: Value, invalidate: Callable[[], None] | None) -> None:
    """Roll back a value of a tensor: give it the array that the tensor held before."""
    value = new()
    if value is not None:
        value.array = old.read()
        if invalidate is not None:
            invalidate()


def mark_stale(value: Value) -> None:
    """Note that `value` was overwritten, for autograd's check of saved tensors."""
    value.stale = True
    if value.node is not None:
        value.node.stale_outputs += 1
