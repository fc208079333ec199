"""The place of an array that has no values."""

from __future__ import annotations

from typing import Any

import numpy as np


class NoValuesError(RuntimeError):
    """A value was read of a tensor that has none: on ``meta``, or made while planning."""


class MetaArray:
    """Placeholder of an array of which this process holds no data.

    It belongs to a global tensor on other processes' devices, is on the device ``meta``, or was
    made while planning.
    """

    __slots__ = ()

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise NoValuesError(
            "a tensor on `meta`, or made while planning, has a shape, but no values to read"
        )

    def copy(self) -> MetaArray:
        """Return another placeholder of the same shape and dtype."""
        return MetaArray()
