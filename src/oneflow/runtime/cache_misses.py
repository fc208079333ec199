"""Why a program is new: the part of its key that differs from the most similar earlier one."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.program.ir import iterate_key
from oneflow.runtime.trial import LOSERS

logger = logging.getLogger("oneflow.eager")


@dataclass(frozen=True)
class ProgramKey:
    """The key of an eager program.

    Attributes:
        recorded: operations and operand references, flat.
        live: output positions that somebody still holds.
        donated: input arrays that nobody else holds.
        updates: what was written in place behind a run-time check.
        guarded: it writes nothing if a check before it has failed.
    """

    recorded: tuple[Any, ...]
    live: tuple[int, ...]
    donated: tuple[int, ...]
    updates: tuple[int, ...]
    guarded: bool


_history: deque[ProgramKey] = deque(maxlen=32)


def record_miss(key: ProgramKey, log: bool) -> None:
    """Note a new program; with `log` say at once, at INFO level, why it is new."""
    _history.append(key)
    if log:
        logger.info("%s", explain_last_miss())


def explain_last_miss() -> str:
    """Explain how the latest program's key differs from the most similar of the 31 before it.

    The explanation ends with the program that lost its trial most recently, that is, goes on
    running op by op since as a whole it took longer.

    Set ``ONEFLOW_EAGER_EXPLAIN=1`` to have this logged (logger ``oneflow.eager``) for every new
    program.

    Example:
        >>> import oneflow as flow
        >>> (flow.ones(430000) * 2.0).sum().item(), (flow.ones(470000) * 2.0).sum().item()
        (860000.0, 940000.0)
        >>> "(470000,)" in flow.eager.explain_last_miss()
        True
    """
    return "; ".join([_difference(), *list(LOSERS)[-1:]])


def _difference() -> str:
    """The difference between the latest program's key and the most similar one, as text."""
    if not _history:
        return "no program has run yet"
    latest, *previous = reversed(_history)
    nearest = max(
        previous, key=lambda other: _shared_prefix(latest.recorded, other.recorded), default=None
    )
    if nearest is None:
        return "it is the first program"
    shared = _shared_prefix(latest.recorded, nearest.recorded)
    if shared < max(len(latest.recorded), len(nearest.recorded)):
        recorded, expected = _describe(latest.recorded, shared), _describe(nearest.recorded, shared)
        return f"new program: {recorded}, where the nearest earlier program has {expected}"
    if latest.live != nearest.live:
        changed = sorted(set(latest.live) ^ set(nearest.live))
        return f"new program: same instructions, but other results are still held: {changed[:8]}"
    if latest.donated != nearest.donated:
        changed = sorted(set(latest.donated) ^ set(nearest.donated))
        return f"new program: same instructions, but other inputs are donated: {changed[:8]}"
    if latest.updates != nearest.updates:
        return "new program: same instructions, but other tensors are written to"
    return "new program: same instructions, but run-time checks were not made before it"


def _shared_prefix(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Length of the common beginning of two keys."""
    for index, (one, two) in enumerate(zip(first, second, strict=False)):
        if one is not two and one != two:
            return index
    return min(len(first), len(second))


def _describe(key: tuple, index: int) -> str:
    """The instruction that key entry `index` belongs to, as text."""
    position = 0
    for number, (operation, references) in enumerate(iterate_key(key)):
        position += 1 + len(references)
        if index < position:
            return f"instruction {number} {operation!r} of {tuple(references)}"
    return "nothing more"
