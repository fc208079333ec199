"""Resizing as upstream's builtins take their arguments: factors, or a size that wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.functional.nn.interpolate import interpolate
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor

_CORNERS = "bicubic", "bilinear", "linear", "trilinear"


def _resized(
    x: Tensor, mode: str, scales: tuple[float, ...], size: Any, align_corners: bool = False
) -> Tensor:
    """`x` resized to `size`, or by `scales` without one."""
    factors = None if size is not None else scales
    return interpolate(x, size, factors, mode, align_corners if mode in _CORNERS else None)


@function(method=False, namespace="_C")
def upsample(
    x: Tensor,
    height_scale: float,
    width_scale: float,
    align_corners: bool,
    interpolation: str,
    data_format: str = "channels_first",
) -> Tensor:
    """Resize images ``[N, C, H, W]``.

    Args:
        x: images.
        height_scale: factor of their height.
        width_scale: factor of their width.
        align_corners: the centres of the corner elements keep their values.
        interpolation: ``"nearest"`` or ``"bilinear"``.
        data_format: ``"channels_last"`` for images ``[N, H, W, C]``.

    Example:
        >>> import oneflow as flow
        >>> flow._C.upsample(flow.ones(1, 1, 2, 2), 2.0, 3.0, False, "nearest").shape
        oneflow.Size([1, 1, 4, 6])
    """
    scales = (height_scale, width_scale)
    if data_format != "channels_last":
        return _resized(x, interpolation, scales, None, align_corners)
    y = _resized(x.permute(0, 3, 1, 2), interpolation, scales, None, align_corners)
    return y.permute(0, 2, 3, 1)


def _resize_2d(name: str, mode: str, has_corners: bool) -> Callable:
    """The builtin that resizes images, with `align_corners` before `output_size` if it has that."""

    def with_corners(
        x: Tensor,
        height_scale: float = 0.0,
        width_scale: float = 0.0,
        align_corners: bool = False,
        output_size: Any = None,
        data_format: str = "channels_first",
    ) -> Tensor:
        return _resized(x, mode, (height_scale, width_scale), output_size, align_corners)

    def without_corners(
        x: Tensor,
        height_scale: float = 0.0,
        width_scale: float = 0.0,
        output_size: Any = None,
        data_format: str = "channels_first",
    ) -> Tensor:
        return _resized(x, mode, (height_scale, width_scale), output_size)

    return _named(with_corners if has_corners else without_corners, name, mode)


def _resize_1d(name: str, mode: str, has_corners: bool) -> Callable:
    """The builtin that resizes sequences."""

    def with_corners(
        x: Tensor,
        scale_factor: float = 0.0,
        align_corners: bool = False,
        output_size: Any = None,
        data_format: str = "channels_first",
    ) -> Tensor:
        return _resized(x, mode, (scale_factor,), output_size, align_corners)

    def without_corners(
        x: Tensor,
        scale_factor: float = 0.0,
        output_size: Any = None,
        data_format: str = "channels_first",
    ) -> Tensor:
        return _resized(x, mode, (scale_factor,), output_size)

    return _named(with_corners if has_corners else without_corners, name, mode)


def _resize_3d(name: str, mode: str, has_corners: bool) -> Callable:
    """The builtin that resizes volumes."""

    def with_corners(
        x: Tensor,
        depth_scale: float = 0.0,
        height_scale: float = 0.0,
        width_scale: float = 0.0,
        align_corners: bool = False,
        output_size: Any = None,
        data_format: str = "channels_first",
    ) -> Tensor:
        scales = (depth_scale, height_scale, width_scale)
        return _resized(x, mode, scales, output_size, align_corners)

    def without_corners(
        x: Tensor,
        depth_scale: float = 0.0,
        height_scale: float = 0.0,
        width_scale: float = 0.0,
        output_size: Any = None,
        data_format: str = "channels_first",
    ) -> Tensor:
        return _resized(x, mode, (depth_scale, height_scale, width_scale), output_size)

    return _named(with_corners if has_corners else without_corners, name, mode)


def _named(body: Callable, name: str, mode: str) -> Callable:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""Resize by `interpolate` with mode ``"{mode}"``, by factors or to a size.

    `data_format` is accepted; channels come first.
    """
    return function(method=False, namespace="_C")(body)


upsample_linear_1d = _resize_1d("upsample_linear_1d", "linear", True)
upsample_nearest_1d = _resize_1d("upsample_nearest_1d", "nearest", False)
upsample_bilinear_2d = _resize_2d("upsample_bilinear_2d", "bilinear", True)
upsample_bicubic_2d = _resize_2d("upsample_bicubic_2d", "bicubic", True)
upsample_nearest_2d = _resize_2d("upsample_nearest_2d", "nearest", False)
upsample_trilinear_3d = _resize_3d("upsample_trilinear_3d", "trilinear", True)
upsample_nearest_3d = _resize_3d("upsample_nearest_3d", "nearest", False)
