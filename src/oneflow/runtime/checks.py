"""Run-time value checks, such as an index in range.

Programs collect them; they are read at the next sync point.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.primitives.operation import Operation

pending: deque[tuple[Any, Sequence[tuple[Operation, str]]]] = deque()


def add(rows: Any, checked: Sequence[tuple[Operation, str]]) -> None:
    """Remember a program's ``(is_bad, value)`` rows.

    `checked` names their operations and source lines.
    """
    pending.append((rows, checked))


def raise_failed(wait: bool = True) -> None:
    """Raise the error of the first check that failed.

    Args:
        wait: False looks only at programs that have finished already.
    """
    while pending:
        rows, checked = pending[0]
        if not wait and not isinstance(rows, np.ndarray) and not rows.is_ready():
            return
        pending.popleft()
        table = own_rows(rows, len(checked))
        for (bad, value), (operation, line) in zip(table, checked, strict=True):
            if bad:
                error = operation.primitive.check_error(
                    int(value), operation.attributes, operation.in_specs
                )
                pending.clear()
                raise type(error)(f"{error} (in `{operation.primitive.name}`{line})")


def own_rows(rows: Any, count: int) -> np.ndarray:
    """The rows of `count` checks; of a program on several devices those of the first that failed.

    With several processes each sees those of its own devices.
    """
    if isinstance(rows, np.ndarray):
        return rows
    shards = [np.asarray(each.data) for each in rows.addressable_shards]
    if len(shards) == 1:
        return shards[0].reshape(count, 2)
    table = np.concatenate(shards).reshape(-1, count, 2)
    return table[np.argmax(table[:, :, 0], axis=0), np.arange(count)]
