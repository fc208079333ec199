"""Classes with ``__torch_function__`` that are no tensors, such as linear operators.

PyTorch looks at every argument of every call. Here functions ask from the first class on that wants
to be asked. A subclass of `Tensor` says so itself; of other classes nothing is told before one of
their objects is an argument. Then it would be too late: the function has begun with it, and to come
back from there each call of each function would have to go through another one.

So that class statements are watched while ``import torch`` finds `oneflow`. They run as always:
what is watched is the look-up of ``__build_class__``, so that no frame is between a metaclass, or a
warning of it, and the statement.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from oneflow.tensor.subclasses import enable_overrides

_build_class: Any = builtins.__build_class__


class _BuildClass:
    """Python's ``__build_class__``, which class statements call."""

    @property
    def __call__(self) -> Callable[..., Any]:
        frame = sys._getframe(1)
        bodies = (body for body in frame.f_code.co_consts if type(body) is CodeType)
        # Modes are classes of that room, and are asked when they are entered.
        is_own = frame.f_globals.get("__name__", "").startswith("oneflow.tensor.")
        if not is_own and any("__torch_function__" in body.co_names for body in bodies):
            enable_overrides()
        return _build_class


_tracked: Any = _BuildClass()


def watch_class_statements(watched: bool) -> None:
    """Watch class statements from now on, or no longer; not if somebody else does."""
    before, after = (_build_class, _tracked) if watched else (_tracked, _build_class)
    if builtins.__build_class__ is before:
        builtins.__build_class__ = after
