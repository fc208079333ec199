"""The derivative of a function that is known at some points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import Category, get_default_dtype
from oneflow.base.shape import as_integer, wrap_dims
from oneflow.functional.reduce.cumulative import diff
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor


@function(method=False)
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Derivatives of the function that `input` samples, by differences of neighbours.

    They are of second order in the distances within (B. Fornberg: Generation of Finite Difference
    Formulas on Arbitrarily Spaced Grids, 1988), and of order `edge_order` at both ends.

    Args:
        input: values of the function; integers become floats.
        spacing: distance of neighbours, a number or one for each dimension; or for each a 1-dim
            tensor, where the values were taken; None: 1.
        dim: dimensions to go along; None: all.
        edge_order: 1 or 2.

    Returns:
        A tensor of the shape of `input` for each dimension.

    Raises:
        RuntimeError: `edge_order` is not 1 or 2, a dimension has no more elements than that, or
            there are not as many spacings as dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.gradient(flow.tensor([1.0, 2.0, 4.0, 8.0]))
        (tensor([1.0000, 1.5000, 3.0000, 4.0000], dtype=oneflow.float32),)
    """
    require_tensor(input, "gradient")
    if as_integer(edge_order, "edge_order") not in (1, 2):
        raise RuntimeError(
            f"gradient only supports edge_order=1 and edge_order=2, got {edge_order}"
        )
    if input._value.spec.dtype.category < Category.FLOAT:
        input = cast_to(input, get_default_dtype())
    dims = wrap_dims(range(input.ndim) if dim is None else dim, input.ndim)
    spacing = 1 if spacing is None else spacing
    per_dim = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(dims)
    if len(per_dim) != len(dims):
        raise RuntimeError(
            f"gradient expected `spacing` for each of {len(dims)} dimensions, got {len(per_dim)}"
        )
    return tuple(
        _slopes(input, axis, distances, edge_order)
        for axis, distances in zip(dims, per_dim, strict=True)
    )


def _slopes(values: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    length = values.shape[dim]
    if length <= edge_order:
        raise RuntimeError(
            f"gradient expected each dimension size to be at least {edge_order + 1} for "
            f"edge_order={edge_order}, but dimension {dim} has {length}"
        )
    changes = slopes = diff(values, dim=dim)
    if isinstance(spacing, Tensor) and spacing.ndim:
        if tuple(spacing.shape) != (length,):
            raise RuntimeError(
                f"gradient expected `spacing` of {length} coordinates along dimension {dim}, got "
                f"shape {tuple(spacing.shape)}"
            )
        steps = diff(spacing).reshape([-1 if axis == dim else 1 for axis in range(values.ndim)])
        slopes = changes / steps
        before, after = steps.narrow(dim, 0, length - 2), steps.narrow(dim, 1, length - 2)
        share = after / (before + after)
        before, after = slopes.narrow(dim, 0, length - 2), slopes.narrow(dim, 1, length - 2)
        within = share * before + (1 - share) * after
    else:
        slopes = changes / spacing
        # This is not written as the mean of two slopes: the value between may be infinite.
        outer_difference = values.narrow(dim, 2, length - 2) - values.narrow(dim, 0, length - 2)
        within = outer_difference / (2 * spacing)
    first, last = slopes.narrow(dim, 0, 1), slopes.narrow(dim, length - 2, 1)
    if edge_order == 2:
        # A parabola's slope in the middle of an interval is the mean of those at its ends.
        first = 2 * first - within.narrow(dim, 0, 1)
        last = 2 * last - within.narrow(dim, length - 3, 1)
    return cat([first, within, last], dim)
