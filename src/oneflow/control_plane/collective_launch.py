"""Launches of programs that run in several processes at once."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import jax

from oneflow.control_plane.flight_recorder import record_collective

if TYPE_CHECKING:
    # Processes on their own have none, and need not import it.
    from oneflow.control_plane.agent import Agent

# Ranks and group of the programs whose processes have connected.
_connected: set[Hashable] = set()
_agent: Agent | None = None


def set_agent(agent: Agent) -> None:
    """Set the agent by whose barriers processes wait for each other before they connect."""
    global _agent
    _agent = agent


def launch_collective(
    ranks: tuple[int, ...], description: str, run: Callable[[], Any], group: Hashable = None
) -> Any:
    """Run a program in which several processes participate; each of them must call this.

    Args:
        ranks: the participating processes in ascending order.
        description: the operation, as the same text on all of them; see `record_collective`.
        run: starts the program and returns its arrays.
        group: which devices communicate with which, if not simply all of `ranks`. The processes of
            a group connect when its first program runs.

    Returns:
        The arrays that `run` returns.
    """
    record_collective(ranks, description)
    key = (ranks, group)
    if key in _connected:
        return run()
    if _agent is not None and len(ranks) > 1:
        _agent.barrier(ranks)
    # Gloo announces the connection on standard output, where it does not belong.
    with suppress_gloo_output():
        result = jax.block_until_ready(run())
    _connected.add(key)
    return result


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
