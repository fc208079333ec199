"""Running programs in several processes at once."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import jax

from oneflow.control_plane.agent import Member
from oneflow.control_plane.flight_recorder import note_collective

_met: set[Hashable] = set()
_member: Member | None = None


def connect_through(member: Member) -> None:
    """Say what connects this process with the others of its job; done once."""
    global _member
    _member = member


def run_together(
    ranks: tuple[int, ...], description: str, run: Callable[[], Any], group: Hashable = None
) -> Any:
    """Run a program in which several processes take part; each of them must call this.

    Args:
        ranks: the processes in ascending order.
        description: what the program does, in words that are the same on all of them; see
            `note_collective`.
        run: starts the program and returns its arrays.
        group: which devices exchange data with which, if not simply those of `ranks` among each
            other. The processes of a group find each other when its first program runs.
    """
    note_collective(ranks, description)
    key = (ranks, group)
    if key in _met:
        return run()
    if _member is not None and len(ranks) > 1:
        _member.meet(ranks)
    # Gloo, which connects processes, announces that on standard output, where it does not belong.
    with without_announcements():
        result = jax.block_until_ready(run())
    _met.add(key)
    return result


@contextlib.contextmanager
def without_announcements() -> Iterator[None]:
    """Keep lines of Gloo out of standard output; everything else comes out at the end."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with tempfile.TemporaryFile() as caught:
            os.dup2(caught.fileno(), 1)
            try:
                yield
            finally:
                sys.stdout.flush()
                os.dup2(kept, 1)
                caught.seek(0)
                os.write(1, b"".join(line for line in caught if b"[Gloo]" not in line))
    finally:
        os.close(kept)
