"""Demands on the operands of upstream's builtins, where public functions promote or broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import Category
from oneflow.functional.linalg.matmul import is_autocast_pair
from oneflow.tensor.tensor import Tensor


def require_same_dtype(name: str, **operands: Tensor) -> None:
    """Check that all operands have one dtype, or that mixed precision gives them one.

    Raises:
        TypeError: they have several.
    """
    first, *others = operands.values()
    if any(x.dtype is not first.dtype and not is_autocast_pair(first, x) for x in others):
        dtypes = ", ".join(f"`{key}` {operand.dtype!r}" for key, operand in operands.items())
        raise TypeError(f"`{name}`: all operands must have the same dtype, got {dtypes}")


def require_same_shape(name: str, **operands: Tensor) -> None:
    """Check that all operands have one shape.

    Raises:
        RuntimeError: they have several.
    """
    if len({tuple(operand.shape) for operand in operands.values()}) > 1:
        shapes = ", ".join(f"`{key}` {list(operand.shape)}" for key, operand in operands.items())
        raise RuntimeError(f"`{name}`: all operands must have the same shape, got {shapes}")


def require_same_shape_and_dtype(name: str, **operands: Tensor) -> None:
    """Check that all operands have one shape and one dtype, as fused kernels demand.

    Raises:
        TypeError: they have several dtypes.
        RuntimeError: they have several shapes.
    """
    require_same_shape(name, **operands)
    require_same_dtype(name, **operands)


def require_lists(name: str, **lists: Sequence[Any]) -> None:
    """Check that lists, whose elements belong together, are not empty and have one length.

    Raises:
        RuntimeError: one is empty, or they differ in length.
    """
    lengths = {len(elements) for elements in lists.values()}
    if len(lengths) > 1 or 0 in lengths:
        counts = ", ".join(f"`{key}` {len(elements)}" for key, elements in lists.items())
        raise RuntimeError(
            f"`{name}`: lists must have at least one element, all the same number, got {counts}"
        )


def require_rows(name: str, **operands: Tensor) -> None:
    """Check that all operands have rows: two dimensions or more.

    Raises:
        RuntimeError: one has fewer.
    """
    for key, operand in operands.items():
        if operand.ndim < 2:
            raise RuntimeError(
                f"`{name}`: `{key}` must have at least 2 dimensions, the last one for the classes, "
                f"got shape {list(operand.shape)}"
            )


def require_integers(name: str, **operands: Tensor) -> None:
    """Check that operands hold integers.

    Raises:
        TypeError: one does not.
    """
    for key, operand in operands.items():
        if operand.dtype.category is not Category.INTEGER:
            raise TypeError(f"`{name}`: `{key}` must hold integers, got {operand.dtype!r}")
