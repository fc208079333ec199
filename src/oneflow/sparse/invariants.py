"""Checks of the positions of a sparse tensor that read their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base.layout import Layout
from oneflow.sparse.parts import INDEX_NAMES, SparseParts


def check(parts: SparseParts, *, in_order: bool = True) -> None:
    """Check that the positions of a tensor are what its layout says.

    Args:
        parts: the parts of the tensor.
        in_order: whether positions that count as coalesced must be in order, too.

    Raises:
        RuntimeError: ranks or sizes do not fit; a position is outside of the shape; positions that
            count as coalesced are not in order or occur twice; rows do not begin in order.
    """
    index = [tensor.numpy() for tensor in parts.index]
    if len(index) != len(INDEX_NAMES[parts.layout]) or parts.values.ndim == 0:
        raise RuntimeError(
            f"a tensor of layout {parts.layout} must have {INDEX_NAMES[parts.layout]}"
        )
    if any(array.dtype.kind != "i" for array in index):
        raise RuntimeError(f"positions must be integers, got {[str(x.dtype) for x in index]}")
    is_coo = parts.layout is Layout.sparse_coo
    check_size(parts.size, len(index[0]) if is_coo else 2, parts.values.shape[1:])
    places = index[0] if is_coo else _places(parts, *index)
    if places.ndim != 2 or places.shape[1] != parts.values.shape[0]:
        raise RuntimeError(
            "positions must have a column for each of the values, got shapes "
            f"{places.shape} and {tuple(parts.values.shape)}"
        )
    for dim, (row, extent) in enumerate(zip(places, parts.size, strict=False)):
        if row.size and (row.min() < 0 or row.max() >= extent):
            raise RuntimeError(
                f"positions of dimension {dim} must be at least 0 and less than its size, {extent},"
                f" got {row.min()} to {row.max()}"
            )
    ordered = places[::-1] if parts.layout is Layout.sparse_csc else places
    if in_order and parts.coalesced and not _is_sorted(ordered):
        raise RuntimeError("positions must be in order, and occur once each")


def check_size(size: Sequence[int], sparse_dims: int, size_of_value: Sequence[int]) -> None:
    """Check that a size consists of the sparse dimensions and the dimensions of a value.

    Raises:
        RuntimeError: it is not.
    """
    is_valid = len(size) == sparse_dims + len(size_of_value)
    if not is_valid or tuple(size[sparse_dims:]) != tuple(size_of_value):
        raise RuntimeError(
            f"`size` must have {sparse_dims} sparse dimensions and those of each of the `values`,"
            f" {tuple(size_of_value)}, got {tuple(size)}"
        )


def _places(parts: SparseParts, starts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The rows and columns of compressed positions."""
    first, second = INDEX_NAMES[parts.layout]
    by_row = parts.layout is Layout.sparse_csr
    count = parts.size[0 if by_row else 1]
    if starts.shape != (count + 1,) or others.ndim != 1:
        raise RuntimeError(
            f"`{first}` must have {count + 1} entries for the size {tuple(parts.size)}, got shape "
            f"{starts.shape}"
        )
    lengths = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(others) or (lengths < 0).any():
        raise RuntimeError(
            f"`{first}` must begin with 0, end with the number of `{second}`, {len(others)}, and "
            f"not fall, got {starts.tolist()[:10]}"
        )
    lines = np.repeat(np.arange(count), lengths)
    return np.stack([lines, others] if by_row else [others, lines])


def _is_sorted(places: np.ndarray) -> bool:
    """Test if each column is above the one before, first row first."""
    before, after = places[:, :-1], places[:, 1:]
    changed = before != after
    if not changed.any(0).all():
        return False
    row = changed.argmax(0)
    column = np.arange(row.size)
    return bool((before[row, column] < after[row, column]).all())


class _InvariantChecks:
    """The setting for tensors whose `check_invariants` is None."""

    is_on = False


class check_sparse_tensor_invariants:
    """A context, or decorator, in which the positions of sparse tensors are checked when made.

    `enable()` and `disable()` switch the checks without a block, and `is_enabled()` says whether
    they are on; at first they are not. The argument `check_invariants` counts more.

    Args:
        enable: False switches the checks off.

    Example:
        >>> import oneflow as flow
        >>> with flow.sparse.check_sparse_tensor_invariants():
        ...     flow.sparse_coo_tensor([[3]], [1.0], (2,))
        Traceback (most recent call last):
        RuntimeError: positions of dimension 0 must be at least 0 and less than its size, 2,...
    """

    def __init__(self, enable: bool = True) -> None:
        self._is_on = enable
        self._earlier: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Return whether the checks are on."""
        return _InvariantChecks.is_on

    @staticmethod
    def enable() -> None:
        """Switch the checks on."""
        _InvariantChecks.is_on = True

    @staticmethod
    def disable() -> None:
        """Switch the checks off."""
        _InvariantChecks.is_on = False

    def __enter__(self) -> None:
        self._earlier.append(_InvariantChecks.is_on)
        _InvariantChecks.is_on = self._is_on

    def __exit__(self, *exception: object) -> None:
        _InvariantChecks.is_on = self._earlier.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is called within such a block."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._is_on):
                return function(*args, **kwargs)

        return call


def are_checked(check_invariants: bool | None) -> bool:
    """Return whether the positions of a tensor are checked that is made with this argument."""
    return _InvariantChecks.is_on if check_invariants is None else check_invariants
