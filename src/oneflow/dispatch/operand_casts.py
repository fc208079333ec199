"""Functions on operands that run before their operation is found: mixed precision casts."""

from __future__ import annotations

import threading
from collections.abc import Callable

from oneflow.primitives.registry import Primitive

Cast = Callable[[Primitive, tuple], tuple]


class _ThreadCasts(threading.local):
    """The casts of one thread.

    Attributes:
        functions: ``(primitive, operands) -> operands``, run one after the other.
    """

    functions: tuple[Cast, ...] = ()


CASTS = _ThreadCasts()
# Threads that cast, by identifier: only while there are any, dispatch asks for its own casts. One
# that has ended while it did stays.
CASTING: set[int] = set()


def set_operand_casts(functions: tuple[Cast, ...]) -> None:
    """Make these what this thread does to operands."""
    CASTS.functions = functions
    note = CASTING.add if functions else CASTING.discard
    note(threading.get_ident())


class casting:
    """Context manager: this thread does to operands what `functions` say, and nothing else."""

    def __init__(self, functions: tuple[Cast, ...]) -> None:
        self._functions = functions

    def __enter__(self) -> None:
        self._before = CASTS.functions
        set_operand_casts(self._functions)

    def __exit__(self, *exception: object) -> None:
        set_operand_casts(self._before)
