"""Run-time value checks, such as an index in range.

A thread runs its programs in order, and so its checks. A flag on the device goes from each program
to the next and says whether one of them has failed; programs that write to tensors take it and then
write nothing (`compiler/failed_flag.py`). The host learns of a failure later: when a value is read,
or when a flag that it looks at now and then has arrived. It then takes back what it has itself done
since, such as counting a step, and raises the error of the first check that failed.

Other threads that read what a program made look at its checks, too.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.placement import Placement
from oneflow.base.planning import is_planning
from oneflow.compiler.failed_flag import CheckResults, move_flag
from oneflow.primitives.operation import Operation

Undo = Callable[[], None]

# Programs that one thread runs before it has the flag of the latest one sent to the host.
POLL_INTERVAL = 16


class ProgramChecks:
    """The checks of one run of a program, and the changes that the host has made for it.

    Attributes:
        failed: the flag behind it; None if it gave none.
        undo: called, the last one first, when one of these checks or an earlier one has failed.
        outputs: weak references to the arrays that are wrong then.
        threads: the threads that have these checks, or had them.
    """

    __slots__ = ("__weakref__", "_checked", "_rows", "failed", "outputs", "threads", "undo")

    def __init__(
        self,
        results: CheckResults | None,
        checked: Sequence[tuple[Operation, str]] = (),
        outputs: Iterable[Any] = (),
    ) -> None:
        self._rows, self.failed = results or (None, None)
        self._checked = checked
        self.undo: list[Undo] = []
        # The type is asked: a pipeline may have given an array up, which then answers nothing.
        self.outputs = [
            ref(array) for array in outputs if hasattr(type(array), "addressable_shards")
        ]
        self.threads: list[ThreadChecks] = []

    @property
    def is_ready(self) -> bool:
        """True if the program has finished."""
        rows: Any = self._rows
        return isinstance(rows, np.ndarray) or rows.is_ready()

    @property
    def is_needed(self) -> bool:
        """True while an array that may be wrong still exists."""
        return any(reference() is not None for reference in self.outputs)

    def error(self) -> Exception | None:
        """The error of the first of these checks that failed; waits for the program."""
        if self._rows is None:
            return None
        self._rows = local_rows(self._rows, len(self._checked))
        # Numbers of Python are read much faster than NumPy's.
        rows = self._rows.tolist()
        for (bad, value), (operation, line) in zip(rows, self._checked, strict=True):
            if bad:
                name = operation.primitive.name
                error = operation.primitive.check_error(
                    value, operation.attributes, operation.in_specs
                )
                return type(error)(f"{error} (in `{name}`{line})")
        return None

    def take_back(self) -> None:
        """Call what undoes what the host has done for it."""
        while self.undo:
            self.undo.pop()()


class ThreadChecks:
    """The run-time checks that one thread has run and not yet looked at.

    Attributes:
        chained: the programs that the flag went through, oldest first.
        loose: checks that it knows nothing of, of saved graphs or of other threads. They are
            waited for before the next program takes the flag.
    """

    __slots__ = ("_device", "_failed", "_sent", "chained", "checked", "loose")

    def __init__(self) -> None:
        self.chained: deque[ProgramChecks] = deque()
        self.loose: deque[ProgramChecks] = deque()
        # The devices and placements on which the thread has run a check.
        self.checked: set[Device | Placement] = set()
        # The flag behind the latest program, and where it is; None: nothing can have failed.
        self._failed: Any = None
        self._device: Device | Placement | None = None
        # The program whose flag is on its way to the host, and that flag.
        self._sent: tuple[ProgramChecks, Any] | None = None

    def __bool__(self) -> bool:
        return bool(self.chained or self.loose)

    def guards(self, device: Device | Placement) -> bool:
        """Return whether programs for a device take the failure flag: once there has been a check.

        All processes of a placement must come to the same, whatever else one of them runs. A plan
        is the same whatever ran before.
        """
        if not self.checked or is_planning():
            return False
        is_shared = isinstance(device, Placement) and cluster.is_multiprocess()
        return not is_shared or device in self.checked

    def chain(self, checks: ProgramChecks, device: Device | Placement) -> None:
        """Add a program that has been started with the flag."""
        self.chained.append(checks)
        if checks.failed is not None:
            self._failed, self._device = checks.failed, device
        if len(self.chained) >= POLL_INTERVAL:
            self.send()

    def send(self) -> None:
        """Have the latest flag sent to the host, unless an earlier one is on its way."""
        latest = self._latest() if self._sent is None else None
        if latest is not None:
            failed: Any = latest.failed
            failed = failed.addressable_data(0)
            failed.copy_to_host_async()
            self._sent = latest, failed

    def flag_on(self, device: Device | Placement, undo: Sequence[Undo] = ()) -> Any:
        """The flag for a program on a device; None: nothing can have failed.

        Args:
            device: where the program runs.
            undo: see `raise_failed`.

        Raises:
            Exception: a check has failed that the flag knows nothing of.
        """
        if self.loose:
            self.raise_failed(undo)
        if self._failed is not None and self._device is not device:
            self._failed, self._device = move_flag(self._failed, device), device
        return self._failed

    def poll(self) -> None:
        """Raise the error of a check if the host knows without waiting that one has failed."""
        if self._sent is not None and self._sent[1].is_ready():
            (latest, failed), self._sent = self._sent, None
            if np.asarray(failed)[0]:
                self.raise_failed()
            self._discard(latest)
        while self.loose and self.loose[0].is_ready:
            if self.loose[0].error() is not None:
                self.raise_failed()
            _open.pop(id(self.loose.popleft()), None)

    def raise_failed(self, undo: Sequence[Undo] = ()) -> None:
        """Wait for all programs, and raise the error of the first check that failed.

        Args:
            undo: undoes what the host has done for a program that is yet to be started.
        """
        latest = self._latest()
        if latest is not None:
            if _is_set(latest.failed):
                self._raise_chained(undo)
            self._discard(latest)
        loose = list(self.loose)
        self.clear()
        for place, checks in enumerate(loose):
            error = checks.error()
            if error is not None:
                _take_back(loose[place:], undo)
                raise error
            _open.pop(id(checks), None)

    def clear(self) -> None:
        """Forget all programs."""
        self.chained.clear()
        self.loose.clear()
        self._failed = self._device = self._sent = None

    def _raise_chained(self, undo: Sequence[Undo]) -> None:
        """Raise the error of the first program behind which the flag is set."""
        chained = list(self.chained)
        self.clear()
        for place, checks in enumerate(chained):
            if checks.failed is not None and _is_set(checks.failed):
                _take_back(chained[place:], undo)
                raise checks.error() or RuntimeError(
                    "a run-time check has failed on another rank, so that nothing was updated "
                    "here; its error says more"
                )

    def _latest(self) -> ProgramChecks | None:
        """The latest program that has returned the flag."""
        return next(
            (program for program in reversed(self.chained) if program.failed is not None), None
        )

    def _discard(self, latest: ProgramChecks) -> None:
        """Forget the programs up to one behind which nothing has failed."""
        while self.chained:
            checks = self.chained.popleft()
            _open.pop(id(checks), None)
            if checks is latest:
                break
        if self._sent is not None and self._sent[0] not in self.chained:
            self._sent = None


def _is_set(failed: Any) -> bool:
    """Return whether a flag is set; waits for it. All devices of a process have the same."""
    own = failed if failed.shape == (1,) else failed.addressable_data(0)
    return bool(np.asarray(own)[0])


def _take_back(programs: Sequence[ProgramChecks], undo: Sequence[Undo]) -> None:
    """Undo host-side effects of programs and of the one after them, latest first."""
    for latest in reversed(undo):
        latest()
    for program in reversed(programs):
        program.take_back()


class _ThreadLocal(threading.local):
    """The checks that this thread has run."""

    def __init__(self) -> None:
        self.checks = ThreadChecks()


_thread = _ThreadLocal()
# Checks that nobody has found to be in order, for other threads that read the programs' results.
_open: dict[int, ProgramChecks] = {}
_PRUNED_AT = 64


def thread_checks() -> ThreadChecks:
    """The run-time checks that this thread has run and not yet looked at."""
    return _thread.checks


def add(
    results: CheckResults,
    checked: Sequence[tuple[Operation, str]],
    device: Device | Placement,
    outputs: Iterable[Any] = (),
    recorded_by: ThreadChecks | None = None,
) -> ProgramChecks | None:
    """Remember the checks of a program that has been started.

    Args:
        results: the results of the checks.
        checked: the operations with their source lines.
        device: where the program runs.
        outputs: the arrays that are wrong if a check has failed; other threads may read them.
        recorded_by: the `thread_checks` of the thread that recorded it, if that may be another.

    Returns:
        The remembered checks; None if the host knows already that nothing has failed.
    """
    current = _thread.checks
    owner = current if recorded_by is None else recorded_by
    owner.checked.add(device)
    if isinstance(results.rows, np.ndarray) and not results.rows[:, 0].any():
        return None
    checks = ProgramChecks(results, checked, outputs)
    checks.threads.append(owner)
    if checks.failed is not None:
        owner.chain(checks, device)
    else:
        owner.loose.append(checks)
    if owner is not current:
        _notify(checks, current)
    if checks.outputs:
        _open[id(checks)] = checks
        if len(_open) > _PRUNED_AT:
            _prune()
    return checks


def add_write(
    device: Device | Placement, recorded_by: ThreadChecks | None = None
) -> ProgramChecks | None:
    """Remember a program without checks of its own that takes the flag, see `add`."""
    owner = _thread.checks if recorded_by is None else recorded_by
    if not owner.chained:
        return None
    checks = ProgramChecks(None)
    owner.chain(checks, device)
    return checks


def note_write(array: Any, undo: Undo) -> None:
    """Note that a tensor holds an array that exists already; `undo` gives it its old one back."""
    inherit((array,))
    owner = _thread.checks
    if owner.loose:
        owner.raise_failed()
    if any(reference() is array for checks in owner.chained for reference in checks.outputs):
        owner.chained[-1].undo.append(undo)
        owner.send()


def _notify(checks: ProgramChecks, thread: ThreadChecks) -> None:
    """Notify another thread once; it looks at checks at its next sync point."""
    if thread not in checks.threads:
        checks.threads.append(thread)
        thread.loose.append(checks)


def _prune() -> None:
    """Forget what no other thread can ask for any more."""
    for key, checks in list(_open.items()):
        if not checks.is_needed:
            _open.pop(key, None)


def inherit(arrays: Sequence[Any]) -> None:
    """Inherit the checks of other threads' programs that computed `arrays`."""
    if not _open:
        return
    current = _thread.checks
    other_checks = [checks for checks in list(_open.values()) if current not in checks.threads]
    if not other_checks:
        return
    array_ids = set(map(id, arrays))
    for checks in other_checks:
        if any(id(reference()) in array_ids for reference in checks.outputs):
            _notify(checks, current)


def unknown_arrays() -> set[int]:
    """The identities of the arrays that a check is for which nobody has looked at."""
    return {id(reference()) for checks in list(_open.values()) for reference in checks.outputs}


def raise_failed() -> None:
    """Wait for this thread's programs, and raise the error of the first check that failed."""
    owner = _thread.checks
    if owner:
        owner.raise_failed()
    if _open:
        _prune()


def local_rows(rows: Any, count: int) -> np.ndarray:
    """The rows of `count` checks; with several devices, the rows of the first that failed.

    With several processes each sees those of its own devices.
    """
    if isinstance(rows, np.ndarray):
        return rows
    if len(rows.sharding.device_set) == 1:
        return np.asarray(rows)
    shards = [np.asarray(shard.data) for shard in rows.addressable_shards]
    if len(shards) == 1:
        return shards[0].reshape(count, 2)
    table = np.concatenate(shards).reshape(-1, count, 2)
    return table[np.argmax(table[:, :, 0], axis=0), np.arange(count)]
