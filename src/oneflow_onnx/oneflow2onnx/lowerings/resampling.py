"""Interpolation, adaptive averages, and padding with elements of the tensor itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from oneflow.primitives.operators.resample import Resampling
from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import CapturedSize, Dim, combine, require_static, value_in

_PADDING = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_MODES = {"nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "cubic": "cubic"}


@lowering("resample")
def _resample(b: OnnxBuilder, call: Call) -> Ref:
    resamplings, x = {call["dim"]: call["resampling"]}, call.operands[0]
    # One dimension after the other, in the same way: one operator for all of them.
    while (before := call.producer_of(x, "resample")) is not None:
        if before["dim"] in resamplings or not _same_kind(before["resampling"], call["resampling"]):
            break
        resamplings[before["dim"]], x = before["resampling"], before.operands[0]
    resampling = call["resampling"]
    if resampling.adjoint or resampling.kind.startswith("smooth"):
        return _product(b, x, resamplings)
    if resampling.kind == "area":
        return _averages(b, x, resamplings)
    if resampling.kind in _PADDING:
        return _padded(b, x, resamplings)
    has_factors = all(axis.scale for axis in resamplings.values())
    if b.opset >= 11 and has_factors and any(map(_needs_indices, resamplings.values())):
        return _gathered(b, x, resamplings)
    if has_factors and all(axis.source == axis.target for axis in resamplings.values()):
        # ONNX Runtime copies what keeps its size, whatever the factor.
        return _product(b, x, resamplings)
    return _resized(b, x, resamplings)


@lowering("grid_sample")
def _grid_sample(b: OnnxBuilder, call: Call) -> Ref:
    x, grid = call.operands
    if b.opset < (16 if x.rank == 4 else 20):
        raise Unsupported("`GridSample` came with opset 16, and with 20 for volumes")
    mode = call["mode"]
    if b.opset >= 20:
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    options = {"mode": mode, "padding_mode": call["padding_mode"]}
    corners = int(call["align_corners"])
    return b.op("GridSample", x, grid, shape=call.result.shape, align_corners=corners, **options)


def _same_kind(one: Resampling, other: Resampling) -> bool:
    same = ("kind", "align_corners", "adjoint")
    return all(getattr(one, name) == getattr(other, name) for name in same)


def _product(b: OnnxBuilder, x: Ref, resamplings: dict[int, Resampling]) -> Ref:
    """Each dimension multiplied by the matrix of its weights."""
    for dim, resampling in resamplings.items():
        sizes = require_static(
            [resampling.source, resampling.target, x.shape[dim]], "an uneven resampling"
        )
        index, weight = resampling.points(np.dtype(np.float64))
        matrix = np.zeros((sizes[0] if resampling.adjoint else sizes[1], sizes[2]))
        np.add.at(matrix, (np.arange(len(index))[:, None], index), weight)
        wide = np.dtype(np.float32) if x.dtype.itemsize < 4 else x.dtype
        moved = o.move_last(b, b.cast(x, wide), dim)
        result = o.matmul(b, moved, b.constant(matrix.T.astype(wide)))
        x = b.cast(o.move_back(b, result, dim), x.dtype)
    return x


def _averages(b: OnnxBuilder, x: Ref, resamplings: dict[int, Resampling]) -> Ref:
    """Adaptive averages: a pooling where windows are equal, copies where each has one element."""
    if all(
        _ratio(resampling.target, resampling.source) is not None
        for resampling in resamplings.values()
    ):
        return _resized(b, x, {d: replace(axis, kind="nearest") for d, axis in resamplings.items()})
    ratios = {
        dim: _ratio(resampling.source, resampling.target) for dim, resampling in resamplings.items()
    }
    factors = {dim: ratio for dim, ratio in ratios.items() if ratio is not None}
    if len(factors) < len(ratios) or x.rank < 3 or min(resamplings) < 2:
        return _product(b, x, resamplings)
    shape, kernel = list(x.shape), [1] * (x.rank - 2)
    for dim, resampling in resamplings.items():
        shape[dim], kernel[dim - 2] = resampling.target, factors[dim]
    return b.op("AveragePool", x, shape=tuple(shape), kernel_shape=kernel, strides=kernel)


def _ratio(one: Dim, other: Dim) -> int | None:
    """The integer ratio of one size to another; None if it is no integer, or varies."""
    ratio = combine(one, other, lambda x, y: x // y if y and x % y == 0 else 0)
    return ratio if isinstance(ratio, int) and ratio else None


def _padded(b: OnnxBuilder, x: Ref, resamplings: dict[int, Resampling]) -> Ref:
    """Padding with elements of the tensor itself."""
    kind = next(iter(resamplings.values())).kind
    low, high, shape = [0] * x.rank, [0] * x.rank, list(x.shape)
    for dim, resampling in resamplings.items():
        after = combine(resampling.target, resampling.source, lambda one, other: one - other)
        (total,) = require_static([after], "padding")
        low[dim], high[dim], shape[dim] = (
            resampling.start,
            total - resampling.start,
            resampling.target,
        )
    if kind == "circular" and b.opset < 19:
        return _wrapped(b, x, low, high)
    if min(low + high) < 0:
        return _product(b, x, resamplings)
    options: dict[str, Any] = {"mode": _PADDING[kind]}
    if b.opset < 11:
        return b.op("Pad", x, shape=tuple(shape), pads=[*low, *high], **options)
    return b.op("Pad", x, b.integers(*low, *high), shape=tuple(shape), **options)


def _wrapped(b: OnnxBuilder, x: Ref, low: list[int], high: list[int]) -> Ref:
    """Circular padding by joining slices."""
    for dim, (before, after) in enumerate(zip(low, high, strict=True)):
        if before < 0 or after < 0:
            raise Unsupported("circular padding that crops")
        parts, size = [x], x.shape[dim]
        if before:
            first = combine(size, before, lambda one, other: one - other)
            parts.insert(0, o.slice_(b, x, [dim], [first], [before]))
        if after:
            parts.append(o.slice_(b, x, [dim], [0], [after]))
        x = o.concat(b, parts, dim)
    return x


def _resized(b: OnnxBuilder, x: Ref, resamplings: dict[int, Resampling]) -> Ref:
    resampling = next(iter(resamplings.values()))
    shape = list(x.shape)
    for dim, axis in resamplings.items():
        shape[dim] = axis.target
    scales = [_scale(resamplings[dim]) if dim in resamplings else 1.0 for dim in range(x.rank)]
    if b.opset < 11:
        return _resized_early(b, x, resampling, scales, tuple(shape))
    options: dict[str, Any] = {"mode": _MODES[resampling.kind]}
    options["coordinate_transformation_mode"] = _coordinates(resampling)
    if resampling.kind.startswith("nearest"):
        exact = resampling.kind == "nearest-exact"
        options["nearest_mode"] = "round_prefer_ceil" if exact else "floor"
    if resampling.kind == "cubic":
        options["cubic_coeff_a"] = -0.75
    roi = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
    is_inferred = all(_is_inferred(axis, scales[dim]) for dim, axis in resamplings.items())
    if is_inferred and not resampling.align_corners:
        factors = b.constant(np.array(scales, np.float32))
        return b.op("Resize", x, roi, factors, shape=tuple(shape), **options)
    empty = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
    target = b.sizes(shape)
    return b.op("Resize", x, roi, empty, target, shape=tuple(shape), **options)


def _needs_indices(resampling: Resampling) -> bool:
    """Test if `Resize` reads other elements for some of the sizes that the model may get.

    ONNX Runtime divides by a factor that is no integer where this package multiplies by its
    inverse, and it copies a dimension whose length the factor does not change.
    """
    is_dynamic = isinstance(resampling.source, CapturedSize) or isinstance(
        resampling.target, CapturedSize
    )
    fractional = resampling.scale and not (1 / resampling.scale).is_integer()
    return bool(is_dynamic and fractional and resampling.kind.startswith("nearest"))


def _gathered(b: OnnxBuilder, x: Ref, resamplings: dict[int, Resampling]) -> Ref:
    """The nearest elements of each dimension by their indices, which the model computes."""
    single = np.dtype(np.float32)
    for dim, resampling in resamplings.items():
        places = b.cast(o.positions(b, resampling.target), single)
        shape = places.shape
        if resampling.kind == "nearest-exact":
            places = b.op("Add", places, b.constant(0.5, single), shape=shape)
        scaled = b.op("Mul", places, b.constant(resampling.scale, single), shape=shape)
        last = b.number(combine(resampling.source, 1, lambda one, other: one - other), single)
        index = b.op("Min", b.op("Floor", scaled, shape=shape), last, shape=shape)
        x = o.gather(b, x, b.cast(index, np.dtype(np.int64)), dim)
    return x


def _resized_early(
    b: OnnxBuilder,
    x: Ref,
    resampling: Resampling,
    scales: list[float | None],
    shape: tuple[Dim, ...],
) -> Ref:
    """Before opset 11 coordinates are scaled and nothing else."""
    if resampling.kind != "nearest" or None in scales:
        raise NeedsOpset(11, f"`Resize` of mode {resampling.kind}")
    name = "Resize" if b.opset == 10 else "Upsample"
    factors = b.constant(np.array(scales, np.float32))
    return b.op(name, x, factors, shape=shape, mode="nearest")


def _coordinates(resampling: Resampling) -> str:
    if resampling.kind == "nearest":
        return "asymmetric"
    return "align_corners" if resampling.align_corners else "half_pixel"


def _scale(resampling: Resampling) -> float | None:
    """The number of results per element; None if it differs from size to size.

    It is written, and multiplied by a size, in single precision, and the fraction of the product is
    dropped. If the nearest number gives one element less, it is the next one: only there, because
    another factor moves the positions that are integers.
    """
    pairs = _sizes(resampling)
    factors = (
        {1 / resampling.scale}
        if resampling.scale
        else {target / source for source, target in pairs}
    )
    if len(factors) != 1:
        return None
    factor = np.float32(*factors)
    while any(np.float32(source) * factor < target for source, target in pairs):
        factor = np.nextafter(factor, np.float32(np.inf))
    return float(factor)


def _is_inferred(resampling: Resampling, factor: float | None) -> bool:
    """Return whether the size that the factor gives is the right one.

    Inference of shapes multiplies in double precision. A factor that was given stays, since
    positions depend on it.
    """
    if resampling.scale or factor is None:
        return factor is not None
    return all(int(source * factor) == target for source, target in _sizes(resampling))


def _sizes(resampling: Resampling) -> list[tuple[int, int]]:
    """The sizes before and after, for each capture."""
    counts = [
        len(size.values)
        for size in (resampling.source, resampling.target)
        if isinstance(size, CapturedSize)
    ]
    return [
        (value_in(resampling.source, capture), value_in(resampling.target, capture))
        for capture in range(max(counts, default=1))
    ]
