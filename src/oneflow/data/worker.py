"""The main loop of a loader's worker process: fetch batches until the parent ends or says so.

A worker is a fresh process, never a copy of one that uses XLA. It imports this package, but XLA
starts in it only if the data set makes tensors.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from oneflow.data import messages, sending
from oneflow.data.collate import from_tensors
from oneflow.data.fetch import EndOfStream, Fetcher
from oneflow.data.pipe_graph import PipeEpoch
from oneflow.data.randomness import numbers_from
from oneflow.random.generator import manual_seed
from oneflow.runtime.lazy_array import HOST
from oneflow.runtime.memory import use_cpu_only
from oneflow.tuning.linux import retain_freed_memory


@dataclass(frozen=True)
class WorkerInfo:
    """A worker process's number, seed and data set.

    Attributes:
        id: number of the worker, from 0.
        num_workers: how many there are.
        seed: what its random numbers start from in this epoch.
        dataset: its copy of the data set.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.data.get_worker_info() is None  # this is no worker process
        True
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass
class _Current:
    info: WorkerInfo | None = None


_current = _Current()


def get_worker_info() -> WorkerInfo | None:
    """In a worker process: which one it is; elsewhere None.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.data.get_worker_info() is None
        True
    """
    return _current.info


@dataclass(frozen=True)
class Setup:
    """Everything a worker gets at its start, besides its number."""

    fetcher: Fetcher
    init: Callable[[int], None] | None
    num_workers: int


@dataclass(frozen=True)
class Epoch:
    """An epoch begins; `seeds` are the draw that all its random numbers start from."""

    number: int
    seeds: tuple[int, int]
    pipes: PipeEpoch | None = None


@dataclass(frozen=True)
class Task:
    """Fetch the batch with this number in the epoch."""

    batch: int
    numbers: Any


@dataclass(frozen=True)
class Finished:
    """The stream of this worker has ended."""


@dataclass(frozen=True)
class Answer:
    """The result of a task (a batch, `Finished` or a `WorkerFailure`) and its epoch."""

    epoch: int
    content: Any


@dataclass(frozen=True)
class WorkerFailure:
    """An exception in the worker: its class if it can be sent, and its traceback as text.

    Attributes:
        failing_classes: module and name of classes whose own way of being unpickled it came out of.
    """

    kind: bytes | None
    name: str
    trace: str
    failing_classes: tuple[tuple[str, str], ...] = ()

    def exception(self, where: str) -> Exception:
        """The exception for the parent, with the worker's traceback in its text.

        Its class is the worker's, unless that cannot be made of a text, or would end a loop in
        silence.
        """
        text = f"Caught {self.name} in {where}.\nOriginal {self.trace}"
        with contextlib.suppress(Exception):
            kind = RuntimeError if self.kind is None else pickle.loads(self.kind)
            error = kind(PlainRepr(text) if issubclass(kind, KeyError) else text)
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                if text not in str(error):
                    error.add_note(text)
                return error
        return RuntimeError(text)


# PyTorch's and OneFlow's name: programs ask whether a batch is one, which none is.
ExceptionWrapper = WorkerFailure


class PlainRepr(str):
    """A text that is its own `repr`, which `KeyError` shows of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def failure(error: BaseException) -> WorkerFailure:
    """Return the description of an exception that the parent gets."""
    kind = None
    with contextlib.suppress(Exception):
        kind = pickle.dumps(type(error))
    classes = sending.failing_classes(error)
    names = tuple((cls.__module__, cls.__qualname__) for cls in classes)
    trace = "".join(traceback.format_exception(error))
    return WorkerFailure(kind, type(error).__name__, trace, names)


def work_in_copy(
    connection: Connection, others: list[Connection], setup: Setup, number: int
) -> None:
    """Run a worker process that is a copy of its parent, which has not started XLA.

    Args:
        connection: the connection to the parent.
        others: ends of connections that are the parent's; open in a copy, they would hide that the
            parent has gone.
        setup: what the worker gets.
        number: which worker this is.
    """
    for other in others:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_cpu_only()
    _serve(connection, lambda: setup, number)


def work(connection: Connection, number: int, environment: dict[str, str]) -> None:
    """Run a worker process; this is its main function.

    It gets its `Setup`, packed, as the first message; and once more, packed otherwise, as long as
    it answers with a `WorkerFailure` to unpack it.

    Args:
        connection: the connection to the parent.
        number: which worker this is.
        environment: the parent's environment variables; the process may come from a server that is
            older.
    """
    # The parent alone reacts to Ctrl-C; it closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
    use_cpu_only()
    _serve(connection, lambda: _receive_setup(connection), number)


def _receive_setup(connection: Connection) -> Setup:
    """Receive and unpack the setup of this worker."""
    while True:
        parts = messages.recv_parts(connection)
        problem = setup = None
        # Errors of objects that are half made and fail in `__del__` are not for the parent.
        sys.unraisablehook = lambda problem: None
        try:
            setup = sending.unpack(parts)
        except Exception as error:
            problem = failure(error)
        sys.unraisablehook = sys.__unraisablehook__
        messages.DataMessage.share(problem).send(connection)
        if setup is not None:
            return setup


def _serve(connection: Connection, get_setup: Callable[[], Setup], number: int) -> None:
    # Without this setting, the memory of each sample and batch would come from the kernel, page by
    # page.
    retain_freed_memory()
    HOST.keeps_arrays = True
    try:
        _Worker(connection, get_setup(), number).run()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The parent has gone or is not interested any more.
        return


class _Worker:
    def __init__(self, connection: Connection, setup: Setup, number: int) -> None:
        self._connection, self._setup, self._number = connection, setup, number
        setup.fetcher.send_batches()
        self._epoch = Epoch(0, (0, 0))
        self._initialised = False
        self._broken: WorkerFailure | None = None

    def run(self) -> None:
        """Answer one request after the other."""
        while True:
            request = messages.recv(self._connection)
            if isinstance(request, Epoch):
                self._epoch = request
                # Told to the parent in answer to the epoch's first task.
                self._broken = _attempt(self._begin)
            else:
                self._answer(self._broken or _attempt(lambda task=request: self._fetch(task)))

    def _answer(self, content: Any) -> None:
        answer = Answer(self._epoch.number, content)
        message = _attempt(lambda: messages.DataMessage.share(answer))
        if isinstance(message, WorkerFailure):
            # The batch cannot be pickled.
            message = messages.DataMessage.share(Answer(self._epoch.number, message))
        message.send(self._connection)

    def _begin(self) -> None:
        """Start an epoch: seeds, the user's function, the stream."""
        seeds = self._epoch.seeds
        seed = (sum(seeds) + self._number) % 2**63
        fetcher = self._setup.fetcher
        _current.info = WorkerInfo(self._number, self._setup.num_workers, seed, fetcher.dataset)
        _seed_all((*seeds, self._number, 0))
        if self._setup.init is not None and not self._initialised:
            self._setup.init(self._number)
        self._initialised = True
        if self._epoch.pipes is not None:
            workers = self._setup.num_workers
            self._epoch.pipes.begin(fetcher.dataset, self._number, workers)
        fetcher.start()

    def _fetch(self, task: Task) -> Any:
        if self._setup.init is None:
            # Per batch, so that a run resumed in the middle of an epoch draws the same numbers, on
            # any number of workers. A user with a function of their own has their own way to seed.
            _seed_all((*self._epoch.seeds, task.batch, 1))
        return from_tensors(self._setup.fetcher.fetch(task.numbers))


def _attempt(action: Callable[[], Any]) -> Any:
    """The result of `action`, or the message for the parent instead."""
    try:
        return action()
    except EndOfStream:
        return Finished()
    except Exception as error:
        return failure(error)


def _seed_all(seeds: tuple[int, ...]) -> None:
    """Start the random numbers of Python, NumPy and this package."""
    seed_bits = numbers_from(seeds).integers(2**32, size=3, dtype=np.uint64)
    random.seed(int(seed_bits[0]))
    np.random.seed(int(seed_bits[1]))
    manual_seed(int(seed_bits[2]))
