"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.operators.convolution import pad_edges, resolve_padding
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import integers

_MAX_POOL: dict[int, Callable[..., Tensor]] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVG_POOL: dict[int, Callable[..., Tensor]] = {
    1: F.avg_pool1d,
    2: F.avg_pool2d,
    3: F.avg_pool3d,
}


@dataclass(frozen=True)
class PoolingWindows:
    """The windows of a pooling, per spatial dimension.

    Attributes:
        sizes: the sizes of the operand.
        counts: how many windows there are.
        begins: how far the first window starts before the operand.
    """

    sizes: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    starts: list[int]
    ends: list[int]
    counts: list[int]

    @classmethod
    def make(
        cls,
        x: Tensor,
        kernel: Sequence[int],
        strides: Sequence[int] | None,
        dilations: Sequence[int] | None,
        pads: Sequence[int] | None,
        auto_pad: str,
        ceil_mode: int,
    ) -> PoolingWindows:
        """Return the windows that ONNX's attributes describe for the operand `x`."""
        sizes, rank = list(x.shape[2:]), x.ndim - 2
        steps, dilation = list(strides or [1] * rank), list(dilations or [1] * rank)
        kernel_size = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        starts, ends = resolve_padding(sizes, kernel_size, steps, auto_pad, pads)
        counts = []
        for n, b, e, extent, s in zip(sizes, starts, ends, kernel_size, steps, strict=True):
            remaining = n + b + e - extent
            count = (-(-remaining // s) if ceil_mode else remaining // s) + 1
            # A window must start inside the operand or its front padding.
            counts.append(count - 1 if ceil_mode and (count - 1) * s >= n + b else count)
        return cls(sizes, list(kernel), steps, dilation, starts, ends, counts)

    def places(self, axis: int) -> np.ndarray:
        """Return the index in the operand of every offset: (window, offset)."""
        first = np.arange(self.counts[axis]) * self.strides[axis] - self.starts[axis]
        return first[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]

    def padded(self, x: Tensor, value: float) -> Tensor:
        """Return `x` padded, or cropped behind, so that the windows fill it."""
        ends = [
            (c - 1) * s + (k - 1) * d + 1 - b - n
            for c, s, k, d, b, n in zip(
                self.counts,
                self.strides,
                self.kernel,
                self.dilations,
                self.starts,
                self.sizes,
                strict=True,
            )
        ]
        return pad_edges(x, self.starts, ends, value)

    @property
    def symmetric(self) -> bool:
        """True if the padding is one that poolings add themselves, so that none is copied."""
        return self.starts == self.ends and all(
            0 <= 2 * added <= width for added, width in zip(self.starts, self.kernel, strict=True)
        )

    def elements(self, x: Tensor, value: float) -> Tensor:
        """Return the elements of all windows: (batch, channels, window..., offset)."""
        padded, rank = self.padded(x, value), len(self.sizes)
        for axis in range(rank):
            flat = (self.places(axis) + self.starts[axis]).reshape(-1)
            places = flow.tensor(flat, device=x.device)
            padded = flow.index_select(padded, 2 + axis, places)
        pairs = [n for pair in zip(self.counts, self.kernel, strict=True) for n in pair]
        split = padded.reshape(*x.shape[:2], *pairs)
        order = [0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)]
        return split.permute(*order).reshape(*x.shape[:2], *self.counts, math.prod(self.kernel))

    def inside(self, with_padding: bool) -> np.ndarray:
        """Return how many elements of every window count for a mean."""
        total = np.ones((), np.int64)
        for axis, size in enumerate(self.sizes):
            places = self.places(axis)
            low = -self.starts[axis] if with_padding else 0
            high = size + (self.ends[axis] if with_padding else 0)
            num_inside = ((places >= low) & (places < high)).sum(1)
            total = total[..., None] * num_inside
        return total


@operator("MaxPool", evaluation=Evaluation.TENSORS)
def max_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
    n_outputs: int,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maximum of every window, and its flat index in the operand if that is wanted."""
    windows = PoolingWindows.make(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    lowest = -math.inf if x.is_floating_point() else flow.iinfo(x.dtype).min
    if n_outputs == 1 and x.is_floating_point() and len(windows.sizes) in _MAX_POOL:
        pool = _MAX_POOL[len(windows.sizes)]
        if windows.symmetric and not ceil_mode:
            return pool(x, windows.kernel, windows.strides, windows.starts, windows.dilations)
        padded = windows.padded(x, lowest)
        return pool(padded, windows.kernel, windows.strides, 0, windows.dilations)
    elements = windows.elements(x, lowest)
    values = flow.amax(elements, -1)
    if n_outputs == 1:
        return values
    return values, _flat_places(windows, flow.argmax(elements, -1), storage_order)


def _flat_places(windows: PoolingWindows, elements: Tensor, storage_order: int) -> Tensor:
    """Return the flat index in the operand, of all batches and channels, of the chosen elements."""
    positions = []
    for axis in range(len(windows.sizes)):
        stride = math.prod(windows.kernel[axis + 1 :])
        along = flow.remainder(flow.floor_divide(elements, stride), windows.kernel[axis])
        view = [1] * elements.ndim
        view[2 + axis] = windows.counts[axis]
        first = flow.tensor(windows.places(axis)[:, 0].copy(), device=elements.device)
        positions.append(first.reshape(view) + along * windows.dilations[axis])
    axes = range(len(windows.sizes))
    flat = flow.zeros_like(elements)
    for axis in reversed(axes) if storage_order else axes:
        flat = flat * windows.sizes[axis] + positions[axis]
    planes = math.prod(elements.shape[:2])
    first = flow.arange(planes, device=elements.device) * math.prod(windows.sizes)
    return flat + first.reshape(*elements.shape[:2], *[1] * len(windows.sizes))


@operator("AveragePool", evaluation=Evaluation.TENSORS)
def average_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Return the mean of every window, of the padding too if `count_include_pad`."""
    windows = PoolingWindows.make(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if set(windows.dilations) == {1} and len(windows.sizes) in _AVG_POOL:
        pool = _AVG_POOL[len(windows.sizes)]
        if windows.symmetric and not ceil_mode:
            sizes = windows.kernel, windows.strides, windows.starts
            return pool(x, *sizes, count_include_pad=bool(count_include_pad))
        means = pool(windows.padded(x, 0), windows.kernel, windows.strides)
    else:
        means = flow.mean(windows.elements(x, 0), -1)
    counts, elements = windows.inside(bool(count_include_pad)), math.prod(windows.kernel)
    if (counts == elements).all():
        return means
    return means * flow.tensor(elements / counts, dtype=x.dtype, device=x.device)


@operator("LpPool", evaluation=Evaluation.TENSORS)
def lp_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    p: float = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Return the p-norm of every window."""
    windows = PoolingWindows.make(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return flow.pow(flow.sum(flow.pow(flow.abs(windows.elements(x, 0)), p), -1), 1 / p)


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    """Return the mean of every channel."""
    return flow.mean(x, list(range(2, x.ndim)), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    """Return the maximum of every channel."""
    return flow.amax(x, list(range(2, x.ndim)), keepdim=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: float = 2) -> Tensor:
    """Return the p-norm of every channel."""
    powers = flow.sum(flow.pow(flow.abs(x), p), list(range(2, x.ndim)), keepdim=True)
    return flow.pow(powers, 1 / p)


@operator("MaxUnpool", since=9, host=(2,), evaluation=Evaluation.TENSORS)
def max_unpool(
    x: Tensor,
    indices: Tensor,
    output_shape: np.ndarray | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Put the elements back to the places that they had before a maximum pooling; 0 elsewhere."""
    rank = x.ndim - 2
    steps, widths = list(strides or [1] * rank), list(pads or [0] * (2 * rank))
    sizes = [
        (n - 1) * s + k - b - e
        for n, s, k, b, e in zip(
            x.shape[2:], steps, kernel_shape, widths[:rank], widths[rank:], strict=True
        )
    ]
    shape = [*x.shape[:2], *sizes]
    zeros = flow.zeros(math.prod(shape), dtype=x.dtype, device=x.device)
    image = flow.scatter(zeros, 0, indices.reshape(-1), x.reshape(-1)).reshape(shape)
    if output_shape is None:
        return image
    target_shape = integers(output_shape)
    ends = [w - n for w, n in zip(target_shape[2:], sizes, strict=True)]
    return pad_edges(image, [0] * rank, ends, 0)
