"""Pooling layers over windows at random places."""

from __future__ import annotations

from typing import Any

from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn.fractional_pooling import fractional_max_pool
from oneflow.functional.nn.spatial import per_dimension
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class _FractionalMaxPool(Module):
    """Maximum over windows at random places."""

    _random_samples: Tensor | None
    _count: int

    def __init__(
        self,
        kernel_size: IntOrInts,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name} requires either `output_size` or `output_ratio`, one of them")
        if output_ratio is not None:
            ratios = output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,)
            output_ratio = tuple(ratios) * (self._count // len(ratios))
            if not all(0 < ratio < 1 for ratio in output_ratio):
                raise ValueError(f"{name}: output_ratio must be between 0 and 1 (got {ratios})")
        self.kernel_size = per_dimension(kernel_size, self._count, "kernel_size")
        self.output_size = output_size
        self.output_ratio, self.return_indices = output_ratio, return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        values, indices = fractional_max_pool(
            type(self).__name__,
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self._random_samples,
            self._count,
        )
        return (values, indices) if self.return_indices else values


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maximum over windows at random places of ``[N, C, H, W]`` or ``[C, H, W]``.

    Graham, "Fractional max-pooling" (2014).

    Args:
        kernel_size: size of the windows, one number or one per spatial dimension.
        output_size: height and width of the output: one number, or two.
        output_ratio: in its place, the factors by which the input shrinks, between 0 and 1.
        return_indices: also return where the maxima are, for `MaxUnpool2d`.
        _random_samples: the random numbers, see `nn.functional.fractional_max_pool2d`.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``: `output_size`, or the input's
            size times `output_ratio`, rounded down.

    Raises:
        ValueError: not one of `output_size` and `output_ratio`, or a ratio out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FractionalMaxPool2d(3, output_ratio=(0.7, 0.5))(flow.randn(2, 3, 20, 20)).shape
        oneflow.Size([2, 3, 14, 10])
    """

    _count = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maximum over windows at random places of ``[N, C, D, H, W]``; see `FractionalMaxPool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FractionalMaxPool3d(2, output_size=3)(flow.randn(2, 3, 5, 6, 7)).shape
        oneflow.Size([2, 3, 3, 3, 3])
    """

    _count = 3
