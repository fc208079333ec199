"""Functions that run in processes of their own, and the errors that come back from them."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any, NoReturn

from oneflow.data.pool import context_for

_SHARING_STRATEGIES = ("file_descriptor", "file_system")
_SECONDS_TO_EXIT = 5.0


class ProcessException(Exception):
    """An error of a process.

    Attributes:
        msg: the message.
        error_index: number of the process.
        error_pid: its process id.

    Example:
        >>> from oneflow import multiprocessing
        >>> error = multiprocessing.ProcessException("out of memory", error_index=1, error_pid=4711)
        >>> error.msg, error.error_index
        ('out of memory', 1)
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(vars(self).values())


class ProcessRaisedException(ProcessException):
    """A process ended with an exception, whose traceback is the message.

    Example:
        >>> from oneflow import multiprocessing
        >>> isinstance(multiprocessing.ProcessRaisedException("...", 1, 4711), Exception)
        True
    """


class ProcessExitedException(ProcessException):
    """A process ended by a signal, or with another exit status than 0.

    Attributes:
        exit_code: the status; negative, the signal.
        signal_name: name of the signal, None if there was none.

    Example:
        >>> from oneflow import multiprocessing
        >>> error = multiprocessing.ProcessExitedException("killed", 0, 4711, -9, "SIGKILL")
        >>> error.exit_code, error.signal_name
        (-9, 'SIGKILL')
    """

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self._exit_code, self.signal_name = exit_code, signal_name

    @property
    def exit_code(self) -> int:
        """The exit status."""
        return self._exit_code


class ProcessContext:
    """Processes that have been started together.

    Args:
        processes: the processes.
        error_queues: for each what it puts the traceback of its exception into.

    Example:
        >>> from oneflow import multiprocessing
        >>> multiprocessing.ProcessContext([], []).join()  # nothing is left to wait for
        True
    """

    def __init__(self, processes: Sequence[Any], error_queues: Sequence[Any]) -> None:
        self.processes, self.error_queues = list(processes), list(error_queues)
        self._running = {process.sentinel: n for n, process in enumerate(self.processes)}

    def pids(self) -> list[int]:
        """Return the process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until one or more processes have ended.

        Args:
            timeout: seconds to wait at most.

        Returns:
            True if all have ended.

        Raises:
            ProcessRaisedException: one ended with an exception; the others are terminated.
            ProcessExitedException: one ended otherwise than by returning, likewise.
        """
        for sentinel in connection.wait(list(self._running), timeout) if self._running else ():
            assert isinstance(sentinel, int)
            number = self._running.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                self._terminate()
                self._raise_error(number)
        return not self._running

    def _terminate(self) -> None:
        """End what still runs."""
        rest = [self.processes[number] for number in self._running.values()]
        self._running.clear()
        for process in rest:
            process.terminate()
        for process in rest:
            process.join(_SECONDS_TO_EXIT)
            if process.is_alive():
                process.kill()
                process.join()

    def _raise_error(self, number: int) -> NoReturn:
        process, queue = self.processes[number], self.error_queues[number]
        if not queue.empty():
            message = f"\n\n-- Process {number} terminated with the following error:\n{queue.get()}"
            raise ProcessRaisedException(message, number, process.pid)
        code = process.exitcode
        name = signal.Signals(-code).name if code < 0 else None
        cause = f"signal {name}" if name else f"exit code {code}"
        message = f"process {number} terminated with {cause}"
        raise ProcessExitedException(message, number, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The processes that `spawn` started.

    Example:
        >>> from oneflow import multiprocessing
        >>> issubclass(multiprocessing.SpawnContext, multiprocessing.ProcessContext)
        True
    """


def _run(fn: Callable, number: int, args: tuple, errors: Any) -> None:
    """Run in the process: call the function, and send the error that it raises."""
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        # Who interrupts the whole job sees one traceback, the parent's.
        sys.exit(1)
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call a function in several processes.

    They are ordinary processes: each has devices and a random generator of its own. They become
    ranks of a job, which train together, by `oneflow.distributed.init_process_group`; processes
    that `python -m oneflow.distributed.launch` starts are ranks from the beginning.

    Args:
        fn: called with the number of the process, then `args`; a function of a module, so that
            other processes find it.
        args: arguments, which are pickled.
        nprocs: number of processes.
        join: wait for all of them.
        daemon: end them with this process.
        start_method: ``"spawn"`` or ``"forkserver"``.

    Returns:
        The processes, or None after waiting for them.

    Raises:
        ValueError: ``"fork"``, of which XLA's threads would not survive.
        ProcessRaisedException: a process ended with an exception; the others are terminated.
        ProcessExitedException: one ended otherwise than by returning.

    Example:
        >>> from oneflow import multiprocessing
        >>> multiprocessing.start_processes(print, nprocs=0)
    """
    if start_method == "fork":
        raise ValueError(
            "`start_method` must not be 'fork': XLA's threads do not exist in a forked process; "
            "use 'forkserver' or 'spawn'"
        )
    context = context_for(start_method)
    processes, queue_list = [], []
    for number in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, number, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        queue_list.append(queue)
    started = SpawnContext(processes, queue_list)
    if not join:
        return started
    while not started.join():
        continue
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call a function in several new processes; see `start_processes`.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.spawn(print, nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


class _Sharing:
    """Strategies of sharing tensors with other processes, by PyTorch's names.

    Attributes:
        strategy: the name that was set last.
    """

    strategy = _SHARING_STRATEGIES[0]


def get_all_sharing_strategies() -> set[str]:
    """Return the names that `set_sharing_strategy` takes.

    Example:
        >>> from oneflow import multiprocessing
        >>> sorted(multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_SHARING_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return the name that was set last.

    Example:
        >>> import oneflow as flow
        >>> flow.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _Sharing.strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the name that `get_sharing_strategy` returns.

    Nothing else depends on it: tensors go to other processes as copies of their values, so that no
    file descriptors or files are used up, but for those that `Tensor.share_memory_` has moved to a
    file without a name.

    Raises:
        AssertionError: an unknown name.

    Example:
        >>> from oneflow import multiprocessing
        >>> multiprocessing.set_sharing_strategy("file_system")
        >>> multiprocessing.get_sharing_strategy()
        'file_system'
        >>> multiprocessing.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in _SHARING_STRATEGIES:
        raise AssertionError(
            f"sharing strategy must be one of {', '.join(_SHARING_STRATEGIES)}, "
            f"got {new_strategy!r}"
        )
    _Sharing.strategy = new_strategy


def init_reductions() -> None:
    """Nothing to do: tensors know how they are pickled. Kept for programs that call it.

    Example:
        >>> from oneflow import multiprocessing
        >>> multiprocessing.init_reductions()
    """


def unlink_all_shared_memory() -> None:
    """Nothing to do: shared memory goes with its last tensor. Kept for programs that call it.

    Example:
        >>> from oneflow import multiprocessing
        >>> multiprocessing.unlink_all_shared_memory()
    """
