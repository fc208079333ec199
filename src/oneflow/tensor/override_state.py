"""The state of ``__torch_function__`` in a thread: whether classes and modes are asked."""

from __future__ import annotations

import sys
import threading
from typing import Any

#: The modules whose calls of functions overrides see, as if programs made them.
_LAYERS = ("oneflow.nn.modules.", "oneflow.module.", "oneflow.mock_torch.python_dispatch.layers")


def is_seen(depth: int, seen: tuple[str, ...] = _LAYERS) -> bool:
    """Return whether overrides see a call by the function so many frames above.

    Functions of this package call others for themselves, except in the modules `seen`.
    """
    caller = sys._getframe(depth).f_globals.get("__name__", "")
    return not caller.startswith("oneflow.") or caller.startswith(seen)


class _Overrides(threading.local):
    """The state of overrides in this thread.

    Attributes:
        is_on: classes are asked; not within calls of the `__torch_function__` of `Tensor`.
        modes: the modes that have been entered, the innermost last.
        modes_are_on: modes are asked; not within `DisableTorchFunction`.
    """

    is_on = True
    modes: tuple[Any, ...] = ()
    modes_are_on = True

    @property
    def asked_modes(self) -> tuple[Any, ...]:
        """The modes that are asked, the innermost first of all: it is the last here."""
        return self.modes if self.modes_are_on else ()

    def are_asked_by(self, depth: int, seen: tuple[str, ...] = _LAYERS) -> bool:
        """Return whether modes are asked for a call by the function so many frames above."""
        return bool(self.asked_modes) and is_seen(depth + 1, seen)


OVERRIDES = _Overrides()
#: An entry for each mode that a thread is in: without any no call asks for those of its thread.
ENTERED: list[None] = []
