"""Launches of programs that run in several processes at once, one after the other.

Gloo sends the data of all programs between the same processes over the same connections, and does
not say whose they are. XLA runs programs for the CPU at the same time if different threads started
them, and some first runs are on a thread of their own. So the next program waits for the one before
it, but the caller does not. NCCL keeps the order in which programs were launched.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import jax

from oneflow.control_plane.background_exchanges import (
    BackgroundExchange,
    await_exchanges,
    start_exchange,
)
from oneflow.control_plane.flight_recorder import forget_collective, record_collective

if TYPE_CHECKING:
    # Processes on their own have none, and need not import it.
    from oneflow.control_plane.agent import Agent

# Ranks, device type and group of the programs whose processes have connected.
_connected: set[Hashable] = set()
# The programs that all ranks have run, by ranks and device type. New shapes bring new ones.
_run_before: dict[tuple[tuple[int, ...], str], set[Hashable]] = defaultdict(set)
_MAX_PROGRAMS = 1 << 14
# This lock is held from the record of a program to its launch; signal handlers that run within may
# launch too.
_launch_lock = threading.RLock()
# The same for the exchanges of each group.
_lock_by_group: dict[tuple[int, ...], contextlib.AbstractContextManager[Any]] = {}
# The value to wait for until the program that runs on CPUs, if any, is over.
_end: jax.Array | None = None
_agent: Agent | None = None


def set_agent(agent: Agent) -> None:
    """Set the agent by whose barriers processes wait for each other before they connect."""
    global _agent
    _agent = agent


def launch_collective(
    ranks: tuple[int, ...],
    type: str,
    description: str,
    run: Callable[[], tuple[Any, jax.Array | None]],
    group: Hashable = None,
) -> Any:
    """Run a program in which several processes participate; each of them must call this.

    Args:
        ranks: the participating processes in ascending order.
        type: the type of their devices.
        description: the operation, as the same text on all of them; see `record_collective`.
        run: starts the program; returns its arrays, and one more that nobody else gets, by which to
            wait for its end. None instead: on CPUs it has ended.
        group: which devices communicate with which, if not simply all of `ranks`. The processes of
            a group connect when its first program runs.

    Returns:
        The arrays that `run` returns.
    """
    global _end
    await_exchanges(ranks)
    with _launch_lock:
        if type == "cpu" and _end is not None:
            jax.block_until_ready(_end)
            _end = None
        number = record_collective(ranks, description)
        try:
            _await_others(ranks, type, (group, description), number)
        except BaseException:
            forget_collective(ranks)
            raise
        key = (ranks, type, group)
        if key in _connected:
            arrays, end = run()
            if type == "cpu":
                _end = end
            return arrays
        # Gloo announces the connection on standard output, where it does not belong.
        with suppress_gloo_output():
            arrays, _ = jax.block_until_ready(run())
        _connected.add(key)
        return arrays


def run_exchange(
    ranks: tuple[int, ...], type: str, description: str, run: Callable[[], Any]
) -> Any:
    """Run an exchange by messages.

    Those of other groups, which other threads run, do not wait for it, nor it for them: the threads
    of another process may begin with the other group.

    Args:
        ranks: see `launch_collective`.
        type: see there.
        description: see there.
        run: exchanges, and returns the arrays of this process.

    Returns:
        The arrays that `run` returns.
    """
    await_exchanges(ranks)
    with _lock_by_group.setdefault(ranks, threading.RLock()):
        number = record_collective(ranks, description)
        try:
            _await_others(ranks, type, ("messages", description), number)
        except BaseException:
            forget_collective(ranks)
            raise
        return run()


def launch_exchange(
    ranks: tuple[int, ...], type: str, description: str, run: Callable[[], Any]
) -> BackgroundExchange:
    """Start an exchange by messages, for which nobody waits yet.

    The operation is recorded now; processes wait for each other in the background.

    Args:
        ranks: the participating processes in ascending order.
        type: the type of their devices.
        description: see `launch_collective`.
        run: exchanges, and returns the arrays of this process.
    """
    with _lock_by_group.setdefault(ranks, threading.RLock()):
        number = record_collective(ranks, description)
        program, decision = ("messages", description), threading.Lock()
        is_first = _note_program(ranks, type, program)

        def wait_and_run() -> Any:
            if not decision.acquire(blocking=False):
                return None  # it was interrupted, and the record is gone
            if is_first and _agent is not None and len(ranks) > 1:
                _agent.barrier(ranks, number, in_background=True)
            return run()

        try:
            return start_exchange(ranks, wait_and_run)
        except BaseException:
            if decision.acquire(blocking=False):
                forget_collective(ranks)
                if is_first:
                    _run_before[ranks, type].discard(program)
            raise


def _await_others(ranks: tuple[int, ...], type: str, program: Hashable, number: int) -> None:
    """Wait, before a program's first run, until all of its ranks are about to run the same one.

    Otherwise the coordinator ends the job, and says how they differ. Nothing has been sent then:
    Gloo aborts a process when a message is longer than expected, and takes a shorter one, or one of
    another program, for what is expected.
    """
    if program not in _run_before[ranks, type]:
        if _agent is not None and len(ranks) > 1:
            _agent.barrier(ranks, number)
        _note_program(ranks, type, program)


def _note_program(ranks: tuple[int, ...], type: str, program: Hashable) -> bool:
    """Note that all ranks run a program; return whether it is the first time."""
    programs = _run_before[ranks, type]
    if program in programs:
        return False
    # All ranks run the same programs, so all start again together.
    if len(programs) >= _MAX_PROGRAMS:
        programs.clear()
    programs.add(program)
    return True


@contextlib.contextmanager
def suppress_gloo_output() -> Iterator[None]:
    """Remove Gloo's lines from standard output; all other output appears when the block ends."""
    sys.stdout.flush()
    stdout = os.dup(1)
    try:
        with tempfile.TemporaryFile() as captured:
            os.dup2(captured.fileno(), 1)
            try:
                yield
            finally:
                sys.stdout.flush()
                os.dup2(stdout, 1)
                captured.seek(0)
                os.write(1, b"".join(line for line in captured if b"[Gloo]" not in line))
    finally:
        os.close(stdout)
