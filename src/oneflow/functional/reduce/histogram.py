"""Histograms over intervals of any sizes, in one dimension and in several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.functional import return_types
from oneflow.functional.derivatives import raise_without_derivative
from oneflow.functional.registry import function
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


def _histogram(
    name: str, points: Tensor, bins: list, bounds: Any, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """Return the histogram of points ``[n, d]``, and the edges of the intervals.

    Raises:
        RuntimeError: what NumPy refuses, such as edges that do not ascend; or the dtypes differ.
    """
    device, dtype = points.device, points.numpy().dtype
    if dtype.kind != "f":
        raise NotImplementedError(f"{name} is not implemented for {points.dtype!r}")
    for argument in (*bins, weight):
        if isinstance(argument, Tensor) and argument.dtype is not points.dtype:
            raise RuntimeError(
                f"{name}: `bins` and `weight` must have the dtype of `input`, {points.dtype!r}, "
                f"got {argument.dtype!r}"
            )
    if any(isinstance(bin_edges, Tensor) and not bin_edges.numel() for bin_edges in bins):
        raise RuntimeError(f"{name}: a tensor of `bins` must have at least 1 element, got 0")
    edges = [
        bin_edges.numpy() if isinstance(bin_edges, Tensor) else bin_edges for bin_edges in bins
    ]
    weights = None if weight is None else weight.numpy().reshape(-1)
    try:
        counts, edges = np.histogramdd(points.numpy(), edges, bounds, density, weights)
    except (ValueError, TypeError) as error:
        raise RuntimeError(f"{name}: {error}") from error
    counts, *edges = (import_array(array.astype(dtype), None, device) for array in (counts, *edges))
    return counts, edges


@function()
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogram:
    """Count of elements in each of several intervals. Reads the values.

    An interval contains its lower edge, the last one its upper edge, too.

    Args:
        input: floats of any shape.
        bins: number of equal intervals; or their edges, one more than intervals.
        range: start and end of equal intervals; None: the smallest and the largest element.
        weight: sum these instead of counting, of the shape of `input`.
        density: divide by the sum and by the lengths of the intervals.

    Returns:
        ``(hist, bin_edges)`` in the dtype of `input`.

    Raises:
        RuntimeError: edges that do not ascend, `bins` that is not positive, or infinite ends.

    Example:
        >>> import oneflow as flow
        >>> flow.histogram(flow.tensor([1.0, 2.0, 1.0]), 4, range=(0.0, 4.0)).hist
        tensor([0., 2., 1., 0.], dtype=oneflow.float32)
    """
    require_tensor(input, "histogram")
    points = input.detach().reshape(-1, 1)
    bounds = None if range is None else [tuple(range)]
    counts, (edges,) = _histogram("histogram", points, [bins], bounds, weight, density)
    parts = (raise_without_derivative("histogram", part, input, weight) for part in (counts, edges))
    return return_types.histogram(*parts)


@function(method=False)
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """Count of points in each cell of a grid. Reads the values.

    Args:
        input: points ``[..., d]``, floats.
        bins: number of equal intervals per dimension, or one for all; or the edges for each.
        range: start and end of the intervals of all dimensions, one after the other.
        weight: sum these instead of counting, of the shape ``[...]``.
        density: divide by the sum and by the volumes of the cells.

    Returns:
        ``(hist, bin_edges)``: a tensor of `d` dimensions and a tuple of `d` tensors.

    Raises:
        RuntimeError: the same as for `histogram`, or there is not one of `bins` per dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.histogramdd(flow.tensor([[0.0, 1.0], [1.0, 0.0]]), 2).hist.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    require_tensor(input, "histogramdd")
    points = input.detach().reshape(-1, input.shape[-1])
    dim_bins = [bins] * points.shape[1] if isinstance(bins, int) else list(bins)
    bounds = None if range is None else list(zip(range[::2], range[1::2], strict=True))
    counts, edges = _histogram("histogramdd", points, dim_bins, bounds, weight, density)
    counts, *edges = (
        raise_without_derivative("histogramdd", part, input, weight) for part in (counts, *edges)
    )
    return return_types.histogramdd(counts, tuple(edges))
