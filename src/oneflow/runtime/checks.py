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
        table = np.asarray(rows)
        for (bad, value), (operation, line) in zip(table, checked, strict=True):
            if bad:
                error = operation.primitive.check_error(
                    int(value), operation.attributes, operation.in_specs
                )
                pending.clear()
                raise type(error)(f"{error} (in `{operation.primitive.name}`{line})")
