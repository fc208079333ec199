"""Layers that resize images."""

from __future__ import annotations

import functools
from typing import Any

from oneflow.base.shape import is_sequence
from oneflow.functional.nn.interpolate import interpolate
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class Upsample(Module):
    """Resize the spatial dimensions.

    Args:
        size: the output's spatial size, one number or one per dimension.
        scale_factor: factor of the size, instead of `size`.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or ``"trilinear"``.
        align_corners: the centres of the corner elements keep their values.
        recompute_scale_factor: use the ratio of the sizes instead of `scale_factor` itself.

    Shape:
        input: ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
        output: ``(N, C, *)``: spatial sizes `size`, or those of the input times `scale_factor`,
            rounded down.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Upsample(scale_factor=2.0, mode="bilinear")(flow.randn(1, 1, 2, 3)).shape
        oneflow.Size([1, 1, 4, 6])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        if is_sequence(scale_factor):
            self.scale_factor = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"name": type(self).__name__}

    def forward(self, input: Tensor) -> Tensor:
        return interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


@functools.wraps(Upsample, assigned=(), updated=())  # which shows these parameters
def upsample(*args: Any, **kwargs: Any) -> Any:
    """`interpolate`, if given a tensor first or as `input`; else the layer `Upsample`.

    Args:
        args: the arguments of either.
        kwargs: likewise.

    Returns:
        The resized tensor, or the layer.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, 1, 2, 3)
        >>> flow.nn.functional.upsample(x, scale_factor=2).shape
        oneflow.Size([1, 1, 4, 6])
        >>> flow.nn.functional.upsample(scale_factor=2)(x).shape
        oneflow.Size([1, 1, 4, 6])
    """
    has_input = "input" in kwargs or (args and isinstance(args[0], Tensor))
    return (interpolate if has_input else Upsample)(*args, **kwargs)


class UpsamplingNearest2d(Upsample):
    """Resize ``[N, C, H, W]`` by repeating elements.

    Args:
        size: height and width of the output.
        scale_factor: factor of the size, instead of `size`.

    Shape:
        input: ``(N, C, H, W)``.
        output: ``(N, C, H_out, W_out)``: `size`, or the input's size times `scale_factor`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.UpsamplingNearest2d(scale_factor=2)(flow.randn(1, 1, 2, 3)).shape
        oneflow.Size([1, 1, 4, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize ``[N, C, H, W]`` by bilinear interpolation with aligned corners.

    Args:
        size: height and width of the output.
        scale_factor: factor of the size, instead of `size`.

    Shape:
        input: ``(N, C, H, W)``.
        output: ``(N, C, H_out, W_out)``: `size`, or the input's size times `scale_factor`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.UpsamplingBilinear2d(size=(4, 6))(flow.randn(1, 1, 2, 3)).shape
        oneflow.Size([1, 1, 4, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
