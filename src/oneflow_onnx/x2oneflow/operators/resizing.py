"""Resizing, sampling on grids, and moving blocks between space and channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import check_size, integers, normalize_axis


@dataclass(frozen=True)
class ResizeMode:
    """The choice of positions in a resized dimension, and of the elements read there."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False

    def positions(
        self, length: int, target: int, factor: float, region: tuple[float, float]
    ) -> np.ndarray:
        """Return the position in the operand of every element of the result.

        Positions of the nearest elements are rounded as ONNX Runtime does: in single precision, in
        which a factor such as 1.8 leads to integers again.
        """
        precision = np.float32 if self.mode == "nearest" else np.float64
        places: Any = np.arange(target, dtype=precision)
        scale: Any = precision(factor)
        match self.coordinates:
            case "asymmetric":
                return places / scale
            case "align_corners":
                return places * ((length - 1) / (scale * length - 1)) if target > 1 else places * 0
            case "pytorch_half_pixel":
                return (places + 0.5) / scale - 0.5 if target > 1 else places * 0
            case "tf_half_pixel_for_nn":
                return (places + 0.5) / scale
            case "tf_crop_and_resize":
                start, end = region[0] * (length - 1), region[1] * (length - 1)
                if target == 1:
                    return places + (start + end) / 2
                return start + places * (end - start) / (target - 1)
            case "half_pixel_symmetric":
                # The result is centred if the scaled size is no integer.
                offset = length / 2 * (1 - target / (scale * length))
                return offset + (places + 0.5) / scale - 0.5
            case "half_pixel":
                return (places + 0.5) / scale - 0.5
        raise NotImplementedError(f"`coordinate_transformation_mode` {self.coordinates!r}")

    def samples(self, positions: np.ndarray, length: int, scale: float) -> tuple[np.ndarray, ...]:
        """Return the indices that every element of the result reads, and their weights."""
        if self.mode == "nearest":
            places = self._round(positions.astype(np.float64), scale)[:, None]
            return places.clip(0, length - 1), np.ones(places.shape)
        # Shrinking with `antialias` widens the filter by the inverse of the scale.
        squeeze = min(scale, 1.0) if self.antialias else 1.0
        radius = (2 if self.mode == "cubic" else 1) / squeeze
        first = np.floor(positions - radius).astype(np.int64) + 1
        places = first[:, None] + np.arange(math.ceil(2 * radius))
        weights = self._filter((places - positions[:, None]) * squeeze)
        if self.exclude_outside:
            weights = np.where((places < 0) | (places >= length), 0, weights)
        if self.exclude_outside or self.antialias:
            weights = weights / weights.sum(1, keepdims=True)
        return places.clip(0, length - 1), weights

    def _filter(self, distances: np.ndarray) -> np.ndarray:
        """Return the weights of elements at given distances."""
        t = np.abs(distances)
        if self.mode != "cubic":
            return np.maximum(1 - t, 0)
        # Keys, "Cubic convolution interpolation for digital image processing", 1981.
        a = self.cubic
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        outer = ((t - 5) * t + 8) * t * a - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, outer, 0))

    def _round(self, positions: np.ndarray, scale: float) -> np.ndarray:
        rounding = {
            "floor": np.floor(positions),
            "ceil": np.ceil(positions),
            "round_prefer_floor": np.ceil(positions - 0.5),
            "round_prefer_ceil": np.floor(positions + 0.5),
        }
        # Before operator set 11 the rounding was not said: ONNX Runtime's depends on the factor.
        simple = "ceil" if scale < 1 else "floor"
        return rounding[simple if self.nearest == "simple" else self.nearest].astype(np.int64)


def _resample(
    x: Tensor,
    axis: int,
    target: int,
    scale: float,
    region: tuple[float, float],
    resampling: ResizeMode,
) -> Tensor:
    """Resize one dimension: a weighted sum of as many selections as there are samples."""
    length = x.shape[axis]
    places, weights = resampling.samples(
        resampling.positions(length, target, scale, region), length, scale
    )
    view = [1] * x.ndim
    view[axis] = target
    total: Tensor | None = None
    for sample in range(places.shape[1]):
        index = flow.tensor(np.ascontiguousarray(places[:, sample]), device=x.device)
        selected = flow.index_select(x, axis, index)
        if resampling.mode == "nearest":
            return selected
        factor = weights[:, sample].reshape(view)
        part = selected * flow.tensor(factor, dtype=x.dtype, device=x.device)
        total = part if total is None else total + part
    assert total is not None
    return total


@operator("Upsample")
def upsample_2d(
    x: Tensor, *, height_scale: float, width_scale: float, mode: str = "nearest"
) -> Tensor:
    """Enlarge images, in operator set 1."""
    return upsample_by(x, scales=[1.0, 1.0, height_scale, width_scale], mode=mode)


@operator("Upsample", since=7)
def upsample_by(x: Tensor, *, scales: Sequence[float], mode: str = "nearest") -> Tensor:
    """Enlarge by factors; attributes give them before operator set 9."""
    return upsample(x, np.asarray(scales), mode=mode)


@operator("Upsample", since=9, host=(1,), evaluation=Evaluation.TENSORS)
@operator("Resize", since=10, host=(1,), evaluation=Evaluation.TENSORS)
def upsample(x: Tensor, scales: np.ndarray, *, mode: str = "nearest") -> Tensor:
    """Resize by factors, from the corner that has index 0."""
    resampling = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "simple"}
    return resize(x, None, scales, mode=mode, **resampling)


@operator("Resize", since=11, host=(1, 2, 3), evaluation=Evaluation.TENSORS)
def resize(
    x: Tensor,
    roi: np.ndarray | None = None,
    scales: np.ndarray | None = None,
    sizes: np.ndarray | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Tensor:
    """Resize dimensions by factors, or to sizes."""
    named = [normalize_axis(a, x.ndim) for a in (range(x.ndim) if axes is None else axes)]
    lengths = [x.shape[axis] for axis in named]
    factors, targets = _targets(lengths, scales, sizes, keep_aspect_ratio_policy)
    full = list(x.shape)
    for axis, size in zip(named, targets, strict=True):
        full[axis] = size
    check_size(full)
    resampling = ResizeMode(
        mode.replace("bilinear", "linear"),
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        bool(exclude_outside),
        bool(antialias),
    )
    has_crop = resampling.coordinates == "tf_crop_and_resize" and roi is not None and roi.size
    bounds = (
        roi.tolist() if has_crop and roi is not None else [0.0] * len(named) + [1.0] * len(named)
    )
    for position, axis in enumerate(named):
        region = bounds[position], bounds[position + len(named)]
        if full[axis] != x.shape[axis] or factors[position] != 1 or region != (0.0, 1.0):
            x = _resample(x, axis, full[axis], factors[position], region, resampling)
    if not has_crop:
        return x
    return _fill_outside(x, named, lengths, bounds, resampling, extrapolation_value)


def _targets(
    lengths: Sequence[int], scales: np.ndarray | None, sizes: np.ndarray | None, policy: str
) -> tuple[list[float], list[int]]:
    """Return the factors and the sizes of the dimensions that are resized."""
    if sizes is None or not sizes.size:
        if scales is None or not scales.size:
            raise ValueError("neither `scales` nor `sizes` is given")
        factors = [float(scale) for scale in scales]
        # In single precision, as ONNX Runtime computes it: 5 * 1.8 is 9 and not a little less.
        products = np.array(lengths, np.float32) * np.array(factors, np.float32)
        return factors, [math.floor(product) for product in products]
    targets = integers(sizes)
    factors = [size / n for size, n in zip(targets, lengths, strict=True)]
    if policy == "stretch":
        return factors, targets
    common = (min if policy == "not_larger" else max)(factors)
    return [common] * len(lengths), [math.floor(n * common + 0.5) for n in lengths]


def _fill_outside(
    x: Tensor,
    axes: Sequence[int],
    lengths: Sequence[int],
    bounds: Sequence[float],
    resampling: ResizeMode,
    value: float,
) -> Tensor:
    """Return `x` with `value` where its positions lie outside the operand."""
    for index, (axis, length) in enumerate(zip(axes, lengths, strict=True)):
        region = bounds[index], bounds[index + len(axes)]
        where = resampling.positions(length, x.shape[axis], x.shape[axis] / length, region)
        outside = (where < 0) | (where > length - 1)
        if outside.any():
            view = [1] * x.ndim
            view[axis] = len(outside)
            mask = flow.tensor(outside.reshape(view), device=x.device)
            x = flow.where(mask, flow.full_like(x, value), x)
    return x


_GRID_MODES = {"bilinear": "bilinear", "linear": "bilinear", "nearest": "nearest"}


@operator("GridSample", since=16, evaluation=Evaluation.TENSORS)
def grid_sample(
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:
    """Read an image, or a volume, at the positions of `grid`, which are in [-1, 1]."""
    kind = {"bicubic": "bicubic", "cubic": "bicubic", **_GRID_MODES}[mode]
    return F.grid_sample(x, grid, kind, padding_mode, bool(align_corners))


@operator("AffineGrid", since=20, host=(1,), evaluation=Evaluation.TENSORS)
def affine_grid(theta: Tensor, size: np.ndarray, *, align_corners: int = 0) -> Tensor:
    """Return the grid of sampling positions of affine maps."""
    check_size(integers(size))
    return F.affine_grid(theta, integers(size), bool(align_corners))


@operator("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Move channels into blocks of pixels."""
    batch, channels, height, width = x.shape
    depth = channels // blocksize**2
    if mode == "DCR":
        split = x.reshape(batch, blocksize, blocksize, depth, height, width)
        moved = split.permute(0, 3, 4, 1, 5, 2)
    else:
        split = x.reshape(batch, depth, blocksize, blocksize, height, width)
        moved = split.permute(0, 1, 4, 2, 5, 3)
    return moved.reshape(batch, depth, height * blocksize, width * blocksize)


@operator("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Move blocks of pixels into channels."""
    batch, channels, height, width = x.shape
    rows, columns = height // blocksize, width // blocksize
    split = x.reshape(batch, channels, rows, blocksize, columns, blocksize)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return split.permute(*order).reshape(batch, channels * blocksize**2, rows, columns)


@operator("CenterCropPad", since=18, host=(1,), evaluation=Evaluation.TENSORS)
def center_crop_pad(x: Tensor, shape: np.ndarray, *, axes: Sequence[int] | None = None) -> Tensor:
    """Crop or pad dimensions around their middle to the sizes given."""
    named = range(x.ndim) if axes is None else [axis % x.ndim for axis in axes]
    for axis, target in zip(named, integers(shape), strict=True):
        length = x.shape[axis]
        if target < length:
            x = x.narrow(axis, (length - target) // 2, target)
        elif target > length:
            before = (target - length) // 2
            padding = [0] * (2 * (x.ndim - 1 - axis)) + [before, target - length - before]
            x = F.pad(x, padding)
    return x
