"""Sums and maxima over sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Shape, has_size, product, require_static


class _Planes:
    """`x` with the dimensions that windows slide along last, behind two others."""

    def __init__(self, b: OnnxBuilder, x: Ref, dims: Sequence[int]) -> None:
        self._b, self._shape = b, x.shape
        others = [d for d in range(x.rank) if d not in dims]
        self._order = [*others, *dims]
        moved = o.transpose(b, x, self._order)
        batch = moved.shape[: len(others)]
        # ONNX pools tensors with a batch and channels.
        self._kept = batch if len(batch) == 2 else (1, product(batch))
        self._batch = batch
        self.x = o.reshape(b, moved, (*self._kept, *moved.shape[len(others) :]))

    def shape(self, result: Shape) -> Shape:
        """The shape of a result of the final shape `result`, as ONNX gives it."""
        moved = [result[dim] for dim in self._order]
        return (*self._kept, *moved[len(self._batch) :])

    def restore(self, y: Ref) -> Ref:
        """A result in the original order of dimensions."""
        y = o.reshape(self._b, y, (*self._batch, *y.shape[2:]))
        return o.transpose(self._b, y, np.argsort(self._order).tolist())


def _window(call: Call) -> dict[str, Any]:
    padding = call["padding"]
    return {
        "kernel_shape": list(call["kernel"]),
        "strides": list(call["stride"]),
        "pads": [low for low, _ in padding] + [high for _, high in padding],
    }


def _dilations(call: Call) -> dict[str, Any]:
    return {"dilations": list(call["dilation"])} if set(call["dilation"]) != {1} else {}


def _is_global(call: Call) -> bool:
    """Return True if there is one window: all of its dimensions, which are symbolic."""
    sizes = [call.operands[0].shape[dim] for dim in call["dims"]]
    is_global = has_size(sizes) and sizes == list(call["kernel"])
    return is_global and not any(low or high for low, high in call["padding"])


@lowering("max_pool")
def _max_pool(b: OnnxBuilder, call: Call) -> Ref:
    if _is_global(call):
        return o.reduce(b, "ReduceMax", call.operands[0], call["dims"])
    planes = _Planes(b, call.operands[0], call["dims"])
    shape = planes.shape(call.result.shape)
    window = {**_window(call), **_dilations(call)}
    return planes.restore(b.op("MaxPool", planes.x, shape=shape, **window))


@lowering("max_pool_with_indices")
def _max_pool_with_indices(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    (x,) = call.operands
    planes = _Planes(b, x, call["dims"])
    shape = planes.shape(call.result.shape)
    window = {**_window(call), **_dilations(call)}
    outputs = [(shape, x.dtype), (shape, INT64)]
    values, places = b.multiple("MaxPool", [planes.x], outputs, **window)
    # ONNX counts through the whole tensor, here each plane counts from 0.
    size = b.number(product([x.shape[dim] for dim in call["dims"]]))
    return planes.restore(values), planes.restore(b.op("Mod", places, size))


@lowering("window_sum")
def _window_sum(b: OnnxBuilder, call: Call) -> Ref:
    if _is_global(call):
        return o.reduce(b, "ReduceSum", call.operands[0], call["dims"])
    mean = averages(b, call, count_include_pad=True)
    return b.op("Mul", mean, b.constant(math.prod(call["kernel"]), mean.dtype))


def averages(b: OnnxBuilder, call: Call, count_include_pad: bool) -> Ref:
    """The means of the windows of a `window_sum`."""
    (x,) = call.operands
    planes = _Planes(b, x if x.is_float else b.cast(x, np.float64), call["dims"])
    options: dict[str, Any] = {"count_include_pad": int(count_include_pad)}
    shape = planes.shape(call.result.shape)
    mean = b.op("AveragePool", planes.x, shape=shape, **_window(call), **options)
    return b.cast(planes.restore(mean), x.dtype)


def average_of_quotient(b: OnnxBuilder, call: Call) -> Ref | None:
    """The average pooling that a division of window sums is; None if it is another division."""
    total, divisor = call.operands
    windows = call.producer_of(total, "window_sum")
    if windows is None or not total.is_float or has_size(windows["kernel"]):
        return None
    count = math.prod(windows["kernel"])
    if divisor.constant is not None and divisor.constant.size == 1:
        return averages(b, windows, True) if float(divisor.constant) == count else None
    counts = call.producer_of(divisor, "window_sum")
    ones = None if counts is None else counts.producer_of(counts.operands[0], "ones")
    same = ("kernel", "stride", "padding")
    if counts is None or ones is None or any(counts[option] != windows[option] for option in same):
        return None
    sizes = [counts.operands[0].shape[dim] for dim in counts["dims"]]
    if sizes != [windows.operands[0].shape[dim] for dim in windows["dims"]]:
        return None
    return averages(b, windows, False)


@lowering("adaptive_max_pool")
def _adaptive_max_pool(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    (x,), dims = call.operands, call["dims"]
    sizes = require_static([x.shape[dim] for dim in dims], "adaptive pooling")
    if any(size % target for size, target in zip(sizes, call["size"], strict=True)):
        return _uneven_max_pool(b, call, sizes)
    kernel = [size // target for size, target in zip(sizes, call["size"], strict=True)]
    planes = _Planes(b, x, dims)
    shape = planes.shape(call.result.shape)
    outputs = [(shape, x.dtype), (shape, INT64)]
    values, places = b.multiple("MaxPool", [planes.x], outputs, kernel_shape=kernel, strides=kernel)
    size = b.constant(np.int64(math.prod(sizes)))
    return planes.restore(values), planes.restore(b.op("Mod", places, size))


def _uneven_max_pool(b: OnnxBuilder, call: Call, sizes: Sequence[int]) -> tuple[Ref, Ref]:
    """Maxima over windows of different sizes, and their places in the flattened dimensions."""
    planes = _Planes(b, call.operands[0], call["dims"])
    windows, count = planes.x, len(sizes)
    grids = [
        _window_places(*sizes_of_dim) for sizes_of_dim in zip(sizes, call["size"], strict=True)
    ]
    for index, grid in enumerate(grids):
        windows = o.gather(b, windows, b.constant(grid), 2 + 2 * index)
    # The elements of each window come last, in their order.
    order = [*range(0, 2 * count, 2), *range(1, 2 * count, 2)]
    windows = o.transpose(b, windows, [0, 1, *(2 + dim for dim in order)])
    shape = (*windows.shape[: 2 + count], math.prod(grid.shape[1] for grid in grids))
    windows = o.reshape(b, windows, shape)
    values = o.reduce(b, "ReduceMax", windows, [2 + count], keepdim=False)
    place_of_maximum = b.op(
        "ArgMax", windows, shape=(*shape[:-1], 1), dtype=INT64, axis=2 + count, keepdims=1
    )
    flat = np.zeros((1,) * (2 * count), INT64)
    for index, (size, grid) in enumerate(zip(sizes, grids, strict=True)):
        shaped = [1] * (2 * count)
        shaped[2 * index : 2 * index + 2] = grid.shape
        flat = flat * size + grid.reshape(shaped)
    flat = flat.transpose(order).reshape(*(grid.shape[0] for grid in grids), -1)
    of_elements = o.expand(b, b.constant(flat), shape)
    places = b.op(
        "GatherElements", of_elements, place_of_maximum, shape=(*shape[:-1], 1), axis=2 + count
    )
    return planes.restore(values), planes.restore(o.squeeze(b, places, [2 + count]))


def _window_places(size: int, count: int) -> np.ndarray:
    """The places along a dimension that each of `count` windows covers.

    A shorter window has its last one several times.
    """
    starts = [place * size // count for place in range(count)]
    ends = [-(-(place + 1) * size // count) for place in range(count)]
    width = max(stop - start for start, stop in zip(starts, ends, strict=True))
    return np.array(
        [
            [min(start + offset, stop - 1) for offset in range(width)]
            for start, stop in zip(starts, ends, strict=True)
        ],
        INT64,
    )
