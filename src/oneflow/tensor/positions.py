"""Positions of the elements that are not zero, whose number only values tell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import numpy as np

from oneflow.primitives.operators import indexing as p, shape as views
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import wrap_result
from oneflow.tensor.views import unwrap


class AssumedCounts:
    """Numbers of positions that a record assumes, because nothing is computed yet.

    Args:
        counts: they, in the order of the searches.

    Attributes:
        found: what was searched, and the positions found in it.
    """

    def __init__(self, counts: Iterator[int]) -> None:
        self._counts = counts
        self.searches: dict[int, tuple[Value, tuple[Value, ...]]] = {}

    def positions(self, value: Value) -> tuple[Value, ...]:
        """Return the positions in a value; they are the same whenever it is searched."""
        entry = self.searches.get(id(value))
        if entry is None:
            vector = value if value.spec.ndim else views.reshape(value, shape=(1,))
            entry = value, tuple(p.nonzero(vector, count=next(self._counts)))
            self.searches[id(value)] = entry
        return entry[1]


_assumed: ContextVar[AssumedCounts | None] = ContextVar("_assumed", default=None)


@contextlib.contextmanager
def assumed_counts(counts: Iterator[int]) -> Iterator[AssumedCounts]:
    """Context manager: searches in values that are not computed yet are recorded, not run.

    So a step can be recorded that takes its sizes from values. Such a record is not run: it says
    what is done with the positions, and with other counts once more what of it depends on their
    number.
    """
    assumed = AssumedCounts(counts)
    token = _assumed.set(assumed)
    try:
        yield assumed
    finally:
        _assumed.reset(token)


def is_in_onnx_export() -> bool:
    """Return whether a model is being recorded for ONNX, where sizes may depend on values.

    Elsewhere, inside `build` of an `nn.Graph`, they must not.

    Example:
        >>> import oneflow as flow
        >>> flow.onnx.is_in_onnx_export()
        False
    """
    return _assumed.get() is not None


def _assumed_positions(x: Tensor) -> tuple[Value, ...] | None:
    """The assumed positions of non-zero elements; None if the values can be read."""
    assumed = _assumed.get()
    value = unwrap(x)
    return None if assumed is None or value.array is not None else assumed.positions(value)


def positions_of_nonzero(x: Tensor) -> tuple[Tensor, ...]:
    """Return one vector of positions per dimension. Reads the values: a sync point.

    A tensor without dimensions counts as a vector of one element.
    """
    assumed = _assumed_positions(x)
    if assumed is not None:
        return tuple(map(wrap, assumed))
    arrays = np.nonzero(np.atleast_1d(x.numpy()))
    return tuple([wrap_result(array, x.device) for array in arrays])


def rows_of_nonzero(x: Tensor) -> Tensor:
    """Return the positions as the rows of a matrix. Reads the values: a sync point."""
    assumed = _assumed_positions(x)
    if assumed is None:
        return wrap_result(np.argwhere(x.numpy()), x.device)
    rows = views.stack(*assumed, dim=1)
    return wrap(rows if x.ndim else views.slice_(rows, 0, dims=(1,), sizes=(0,), steps=(1,)))
