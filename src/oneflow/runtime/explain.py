"""Why a program is new: the part of its key that differs from the most similar earlier one."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import Any

from oneflow.program.ir import iterate_key

logger = logging.getLogger("oneflow.eager")
_recent: deque[tuple] = deque(maxlen=32)


def explain_miss(key: tuple, alive: bytes, donated: bytes) -> str:
    """One sentence naming the first difference to the nearest of the last 32 new programs."""
    nearest = max(_recent, key=lambda other: _shared_prefix(key, other[0]), default=None)
    _recent.append((key, alive, donated))
    if nearest is None:
        return "first program"
    other_key, other_alive, other_donated = nearest
    shared = _shared_prefix(key, other_key)
    if shared < max(len(key), len(other_key)):
        return f"instruction {_describe(key, shared)}; the nearest program has {_describe(other_key, shared)} there"
    if alive != other_alive:
        return _describe_mask("results still held", alive, other_alive)
    return _describe_mask("inputs given up", donated, other_donated)


def log_miss(key: tuple, alive: bytes, donated: bytes) -> None:
    """Log `explain_miss` at INFO level."""
    logger.info("new program of %d entries: %s", len(key), explain_miss(key, alive, donated))


def _shared_prefix(first: Sequence[Any], second: Sequence[Any]) -> int:
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
            return f"{number}: {operation.primitive.name}{operation.in_specs} {operation.attributes or ''} of {tuple(references)}"
    return "nothing more"


def _describe_mask(what: str, now: bytes, before: bytes) -> str:
    changed = [
        index for index, (one, two) in enumerate(zip(now, before, strict=False)) if one != two
    ]
    return f"same instructions, but {what} differ at {changed[:8]}"
