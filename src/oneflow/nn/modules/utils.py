"""Settings given as one number or as one per dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.shape import is_several


def _ntuple(count: int) -> Callable[[Any], tuple]:
    """A function that makes a tuple of `count` of a single value and keeps several as they are."""

    def expand(x: Any) -> tuple:
        return tuple(x) if is_several(x) else (x,) * count

    return expand


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)
