"""Run-time value checks, such as an index in range.

Programs collect them; they are read at the next sync point, by the thread that recorded the program
and by any other that reads what the program made.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any
from weakref import ref

import numpy as np

from oneflow.primitives.operation import Operation


class ProgramChecks:
    """The checks of one run of a program.

    Attributes:
        outputs: weak references to the arrays that the program made.
        undo: called when a check has failed.
        invalid: weak references to those that are wrong if a check has failed, by their identity,
            which another array may have when they are gone.
        threads: the threads that have these checks, or had them, by their own `deque` of checks.
    """

    __slots__ = ("__weakref__", "_checked", "_rows", "invalid", "outputs", "threads", "undo")

    def __init__(
        self, rows: Any, checked: Sequence[tuple[Operation, str]], outputs: Iterable[Any]
    ) -> None:
        self._rows = rows
        self._checked = checked
        self.undo: list[Callable[[], None]] = []
        self.invalid: dict[int, ref[Any]] = {}
        # Asked of the type: a pipeline may have given an array up, which then answers nothing.
        self.outputs = [
            ref(array) for array in outputs if hasattr(type(array), "addressable_shards")
        ]
        self.threads: list[deque[ProgramChecks]] = []

    def notify(self, thread: deque[ProgramChecks]) -> None:
        """Let a thread look at the checks at its next sync point; once."""
        if not any(each is thread for each in self.threads):
            self.threads.append(thread)
            thread.append(self)

    @property
    def is_ready(self) -> bool:
        """True if the program has finished."""
        return isinstance(self._rows, np.ndarray) or self._rows.is_ready()

    @property
    def is_needed(self) -> bool:
        """True while a result of the program still exists."""
        return any(reference() is not None for reference in self.outputs)

    def note_invalid(self, arrays: Iterable[Any]) -> None:
        """Remember which arrays are wrong if a check has failed."""
        self.invalid = {
            id(array): ref(array) for array in arrays if hasattr(type(array), "addressable_shards")
        }

    def concerns(self, arrays: Set[int]) -> bool:
        """Return whether one of these arrays, given by identity, is wrong if a check has failed."""
        same = self.invalid.keys() & arrays
        return any(self.invalid[each]() is not None for each in same)

    def error(self) -> Exception | None:
        """The error of the first check that failed; waits for the program."""
        self._rows = local_rows(self._rows, len(self._checked))
        # As Python's numbers, which are read much faster than NumPy's.
        rows = self._rows.tolist()
        for (bad, value), (operation, line) in zip(rows, self._checked, strict=True):
            if bad:
                while self.undo:
                    self.undo.pop()()
                name = operation.primitive.name
                error = operation.primitive.check_error(
                    value, operation.attributes, operation.in_specs
                )
                return type(error)(f"{error} (in `{name}`{line})")
        return None


class _Thread(threading.local):
    """The checks that one thread has yet to look at, oldest first."""

    def __init__(self) -> None:
        self.pending: deque[ProgramChecks] = deque()


_thread = _Thread()
# Those that nobody has found to be in order, for other threads that read what the programs made.
_open: dict[int, ProgramChecks] = {}
_PRUNED_AT = 64


def thread_pending() -> deque[ProgramChecks]:
    """This thread's checks, for programs that other threads may run."""
    return _thread.pending


def add(
    rows: Any,
    checked: Sequence[tuple[Operation, str]],
    outputs: Iterable[Any] = (),
    recorded_by: deque[ProgramChecks] | None = None,
) -> ProgramChecks:
    """Remember a program's ``(is_bad, value)`` rows.

    Args:
        rows: what the program returned.
        checked: the operations with their source lines.
        outputs: the arrays that it returned too; other threads may read them.
        recorded_by: the `thread_pending` of the thread that recorded it, if that may be another.
    """
    checks = ProgramChecks(rows, checked, outputs)
    checks.notify(_thread.pending)
    if recorded_by is not None:
        checks.notify(recorded_by)
    if checks.outputs:
        _open[id(checks)] = checks
        if len(_open) > _PRUNED_AT:
            _prune()
    return checks


def _prune() -> None:
    """Forget what no other thread can ask for any more."""
    for key, checks in list(_open.items()):
        if not checks.is_needed:
            _open.pop(key, None)


def inherit(arrays: Sequence[Any]) -> None:
    """Let this thread look at the checks of the programs of other threads that made `arrays`."""
    if not _open:
        return
    other_checks = [
        checks
        for checks in list(_open.values())
        if not any(each is _thread.pending for each in checks.threads)
    ]
    if not other_checks:
        return
    given = set(map(id, arrays))
    for checks in other_checks:
        if any(id(reference()) in given for reference in checks.outputs):
            checks.notify(_thread.pending)


def require_valid(arrays: Sequence[Any]) -> None:
    """See that arrays to be written to tensors were not computed behind a check that has failed.

    It waits for programs that made some of them.

    Raises:
        Exception: one of them was; the error of the check.
    """
    if not _thread.pending and not _open:
        return
    inherit(arrays)
    given = set(map(id, arrays))
    for checks in list(_thread.pending):
        if checks.concerns(given):
            error = checks.error()
            if error is not None:
                _thread.pending.clear()
                raise error


def raise_failed(wait: bool = True) -> None:
    """Raise the error of the first of this thread's checks that failed.

    Args:
        wait: False looks only at programs that have finished already.
    """
    pending = _thread.pending
    while pending:
        if not wait and not pending[0].is_ready:
            return
        checks = pending.popleft()
        error = checks.error()
        if error is not None:
            pending.clear()
            raise error
        _open.pop(id(checks), None)
    if _open:
        _prune()


def local_rows(rows: Any, count: int) -> np.ndarray:
    """The rows of `count` checks; of a program on several devices those of the first that failed.

    With several processes each sees those of its own devices.
    """
    if isinstance(rows, np.ndarray):
        return rows
    if len(rows.sharding.device_set) == 1:
        return np.asarray(rows)
    shards = [np.asarray(each.data) for each in rows.addressable_shards]
    if len(shards) == 1:
        return shards[0].reshape(count, 2)
    table = np.concatenate(shards).reshape(-1, count, 2)
    return table[np.argmax(table[:, :, 0], axis=0), np.arange(count)]
