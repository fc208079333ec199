"""The rows of several requests as one batch, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow.serving.errors import ErrorKind, RequestError


def join(requests: Sequence[Sequence[np.ndarray]], size: int) -> list[np.ndarray]:
    """Return the inputs of several requests one below the other, with `size` rows.

    The last row fills the rest: one that passes the run-time checks of a program passes them again,
    which zeros may not.

    Args:
        requests: the inputs of each request.
        size: the rows of the program; 0 for one request to a model without batches.

    Example:
        >>> from oneflow.serving.concat import join
        >>> import numpy as np
        >>> join([[np.array([1, 2])], [np.array([3])]], 4)
        [array([1, 2, 3, 3])]
    """
    return [_join(parts, size) for parts in zip(*requests, strict=True)]


def _join(parts: Sequence[np.ndarray], size: int) -> np.ndarray:
    if len(parts) == 1 and (not size or len(parts[0]) == size):
        return parts[0]
    rows = sum(map(len, parts))
    joined = np.empty((size, *parts[0].shape[1:]), parts[0].dtype)
    np.concatenate(parts, out=joined[:rows])
    joined[rows:] = parts[-1][-1]
    return joined


def split(outputs: Sequence[np.ndarray], rows: Sequence[int]) -> list[list[np.ndarray]]:
    """Return the part of each request of the outputs of a joined run.

    Args:
        outputs: the outputs.
        rows: the rows of each request; ``[0]`` for one request to a model without batches.
    """
    if rows == [0]:
        return [list(outputs)]
    parts = []
    first = 0
    for count in rows:
        parts.append([output[first : first + count] for output in outputs])
        first += count
    return parts


def run_error(error: Exception) -> RequestError:
    """Return what a client reads of an error in a run."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, IndexError | ValueError):  # a run-time check of values
        return RequestError(ErrorKind.INVALID, str(error))
    return RequestError(ErrorKind.FAILED, f"{type(error).__name__}: {error}")
