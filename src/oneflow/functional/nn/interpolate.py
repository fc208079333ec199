"""Resizing images and sampling them at arbitrary positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import Category, float32, float64
from oneflow.base.limits import iinfo
from oneflow.base.shape import as_integer, is_sequence
from oneflow.functional.nn.adaptive_pooling import adaptive_average
from oneflow.functional.nn.spatial import per_dimension, require_elements, require_sizes
from oneflow.functional.registry import function
from oneflow.primitives.operators import grid_sample as p
from oneflow.primitives.operators.resample import Resampling, resample
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float
from oneflow.tensor.tensor import Tensor

# Interpolation modes, the kind of resampling they mean, and the spatial dimensions they work for.
_MODES = {
    "nearest": ("nearest", (1, 2, 3)),
    "nearest-exact": ("nearest-exact", (1, 2, 3)),
    "linear": ("linear", (1,)),
    "bilinear": ("linear", (2,)),
    "trilinear": ("linear", (3,)),
    "bicubic": ("cubic", (2,)),
    "area": ("area", (1, 2, 3)),
}
_ALIGN_CORNERS_MODES = ("linear", "bilinear", "bicubic", "trilinear")


@function(method=False, namespace="nn.functional")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the spatial dimensions.

    Args:
        input: ``[N, C, L]``, ``[N, C, H, W]`` or ``[N, C, D, H, W]``.
        size: the output's spatial size, one number or one per dimension.
        scale_factor: factor of the size, instead of `size`.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (3-D), ``"bilinear"`` and
            ``"bicubic"`` (4-D), ``"trilinear"`` (5-D) or ``"area"``.
        align_corners: the centres of the corner elements keep their values; otherwise the outer
            edges are aligned.
        recompute_scale_factor: use the ratio of the sizes instead of `scale_factor` itself.
        antialias: average over all elements that a smaller result stands for, as Pillow does;
            ``"bilinear"`` and ``"bicubic"`` only.

    Returns:
        ``[N, C, *size]``.

    Raises:
        ValueError: arguments that do not go together.
        NotImplementedError: `mode` does not work for the input's number of dimensions or dtype.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 2.0]]])
        >>> flow.nn.functional.interpolate(x, scale_factor=2.0)
        tensor([[[1., 1., 2., 2.]]], dtype=oneflow.float32)
    """
    count = input.ndim - 2
    _check_mode(mode, align_corners, count)
    sizes, scales = _sizes_and_scales(input, size, scale_factor, recompute_scale_factor)
    kind, _ = _MODES[mode]
    if antialias:
        if mode not in ("bilinear", "bicubic"):
            raise ValueError(
                f"antialias is for the modes 'bilinear' and 'bicubic', but the mode is {mode!r}"
            )
        kind = f"smooth-{kind}"
    if kind == "area":
        return adaptive_average(input, sizes, "channels_first", count)
    if input.dtype.category is Category.BOOL and not kind.startswith("nearest"):
        raise NotImplementedError(
            f"interpolate: `input` of the mode {mode!r} must hold numbers, got {input.dtype!r}; "
            "convert it, or use the mode 'nearest'"
        )
    require_elements("interpolate", (1, *input.shape[1:2]))
    require_sizes("interpolate", input, range(2, input.ndim), sizes)
    resized = input
    # The last dimension first, as in PyTorch: whole numbers are rounded after each.
    for dim in reversed(range(2, input.ndim)):
        source, target, scale = input.shape[dim], sizes[dim - 2], scales[dim - 2]
        if source == 0 or target == 0:
            raise RuntimeError(
                f"Input and output sizes should be greater than 0, but got input {source} and "
                f"output {target} at dimension {dim}"
            )
        resampling = Resampling(
            kind, source, target, 1 / scale if scale else 0.0, bool(align_corners)
        )
        if source != target or kind == "cubic" or resampling.scale:
            resized = _resample(resized, dim, resampling)
    return input.clone() if resized is input else resized


def _resample(input: Tensor, dim: int, resampling: Resampling) -> Tensor:
    """The input with another size of a dimension; whole numbers are those nearest to the means."""
    dtype = input.dtype
    if dtype.category is not Category.INTEGER or resampling.kind.startswith("nearest"):
        return call(resample, input, dim=dim, resampling=resampling)
    wide = float32 if dtype.itemsize == 1 else float64
    limits = iinfo(dtype)
    highest = float(limits.max)
    if highest > limits.max:  # 2**63, which int64 cannot hold
        highest = math.nextafter(highest, 0.0)
    means = call(resample, input.to(wide), dim=dim, resampling=resampling)
    return (means + 0.5).floor().clamp(limits.min, highest).to(dtype)


@function(method=False, namespace="nn.functional")
def interpolate_like(
    input: Tensor, like: Tensor, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Resize the spatial dimensions to the sizes of another tensor's; see `interpolate`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 2.0]]])
        >>> flow.nn.functional.interpolate_like(x, flow.ones(1, 3, 4))
        tensor([[[1., 1., 2., 2.]]], dtype=oneflow.float32)
    """
    return interpolate(input, like.shape[2:], mode=mode, align_corners=align_corners)


def _check_mode(mode: str, align_corners: bool | None, count: int) -> None:
    if mode not in _MODES:
        raise NotImplementedError(f"unknown interpolation mode {mode!r}; known: {list(_MODES)}")
    if mode not in _ALIGN_CORNERS_MODES and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if count not in (1, 2, 3) or count not in _MODES[mode][1]:
        fitting = [f"{rank + 2}D" for rank in _MODES[mode][1]]
        raise NotImplementedError(
            f"Got {count + 2}D input, but {mode} mode needs {' or '.join(fitting)} input"
        )


def _sizes_and_scales(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Output sizes, and the scales to use for coordinates (0: the ratio of the sizes)."""
    lengths = input.shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError("give either `size` or `scale_factor`, and not both")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _size_per_dimension(size, len(lengths)), (0.0,) * len(lengths)
    factors = (
        tuple(map(float, scale_factor))
        if is_sequence(scale_factor)
        else (as_float(scale_factor, "scale_factor"),) * len(lengths)
    )
    if len(factors) != len(lengths):
        raise ValueError(
            f"scale_factor must have one number per spatial dimension of an input of size "
            f"{list(input.shape)}, got {scale_factor}"
        )
    sizes = tuple(math.floor(n * factor) for n, factor in zip(lengths, factors, strict=True))
    return sizes, (0.0,) * len(lengths) if recompute else factors


def _size_per_dimension(size: Any, count: int) -> tuple[int, ...]:
    if is_sequence(size) and len(tuple(size)) != count:
        raise ValueError(f"size must have one number per spatial dimension ({count}), got {size}")
    return per_dimension(size, count, "size")


@function(method=False, namespace="nn.functional")
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """The input's values at the positions given by a grid.

    Args:
        input: ``[N, C, H, W]`` or ``[N, C, D, H, W]``.
        grid: ``[N, H', W', 2]`` or ``[N, D', H', W', 3]`` of (x, y) or (x, y, z) from -1 to 1.
        mode: ``"bilinear"``, ``"nearest"`` or (4-D) ``"bicubic"``.
        padding_mode: what is outside: ``"zeros"``, ``"border"`` or ``"reflection"``.
        align_corners: -1 and 1 are the centres of the corner elements instead of the outer edges.

    Returns:
        ``[N, C, H', W']`` or ``[N, C, D', H', W']``.

    Raises:
        ValueError: an unknown mode.
        RuntimeError: shapes that do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> flow.nn.functional.grid_sample(x, flow.zeros(1, 1, 1, 2))
        tensor([[[[2.5000]]]], dtype=oneflow.float32)
    """
    count = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"mode must be 'bilinear', 'nearest' or 'bicubic', but got {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"padding_mode must be 'zeros', 'border' or 'reflection', but got {padding_mode!r}"
        )
    if count not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != count:
        raise RuntimeError(
            f"grid_sampler(): expected input [N, C, H, W] with grid [N, H, W, 2], or one more "
            f"dimension each, but got {list(input.shape)} and {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(input.shape)}"
        )
    if mode == "bicubic" and count == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return call(
        p.grid_sample,
        input,
        grid,
        mode=mode,
        padding_mode=padding_mode,
        align_corners=bool(align_corners),
    )


@function(method=False, namespace="nn.functional")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The grid for `grid_sample` that applies affine maps.

    Args:
        theta: ``[N, 2, 3]`` or ``[N, 3, 4]``.
        size: shape of the output, ``[N, C, H, W]`` or ``[N, C, D, H, W]``.
        align_corners: the same as for `grid_sample`.

    Returns:
        ``[N, H, W, 2]`` or ``[N, D, H, W, 3]``.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> import oneflow as flow
        >>> theta = flow.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> flow.nn.functional.affine_grid(theta, [1, 1, 1, 2])
        tensor([[[[-0.5000,  0.0000],
                  [ 0.5000,  0.0000]]]], dtype=oneflow.float32)
    """
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    sizes = tuple([as_integer(number, "size") for number in size])
    count = len(sizes) - 2
    if count not in (2, 3) or tuple(theta.shape[1:]) != (count, count + 1):
        raise ValueError(
            f"Expected a batch of 2D affine matrices of shape Nx2x3 for size [N, C, H, W], or of "
            f"3D ones of shape Nx3x4 for [N, C, D, H, W], got {list(theta.shape)} and {sizes}"
        )
    if min(sizes) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {sizes}")
    return call(
        p.affine_grid,
        theta,
        size=sizes[2:],
        align_corners=bool(align_corners),
        dtype=theta.dtype,
    )
