"""Modules that watch what passes, and say how to quantize it."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.base.dtype import qint8, quint8
from oneflow.mock_torch.pytorch.ao.quantization.base import ObserverBase
from oneflow.mock_torch.pytorch.ao.quantization.schemes import (
    is_per_channel,
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qscheme as QuantizationScheme,
)

#: The numbers that quantized types hold.
_RANGES = {
    "qint8": (-128, 127),
    "int8": (-128, 127),
    "quint8": (0, 255),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "qint32": (-(2**31), 2**31 - 1),
    "int32": (-(2**31), 2**31 - 1),
}
_UNSIGNED = ("quint8", "uint8")


class UniformQuantizationObserverBase(ObserverBase):
    """The base of observers of a smallest and a largest value.

    Args:
        dtype: the quantized type.
        qscheme: one scale and zero point for all, or for each channel; symmetric around 0 or not.
        reduce_range: leave out a bit, half of the numbers.
        quant_min: the smallest quantized number, default the type's.
        quant_max: the largest quantized number, default the type's.
        factory_kwargs: `device` and `dtype` of the buffers.
        eps: the smallest scale.
        is_dynamic: it watches while the quantized model runs.

    Raises:
        AssertionError: the type or the scheme is no quantized one, or the range does not hold 0.
    """

    min_val: Tensor
    max_val: Tensor
    eps: Tensor
    _resized = ("min_val", "max_val")

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: QuantizationScheme = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = 2.0**-23,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        if dtype.name not in _RANGES:
            raise AssertionError(f"dtype must be one of {', '.join(_RANGES)}, got {dtype}")
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.quant_min, self.quant_max = self._range(quant_min, quant_max)
        options = factory_kwargs or {}
        self.register_buffer("eps", flow.tensor([eps], **options))
        self.register_buffer("min_val", flow.tensor(float("inf"), **options))
        self.register_buffer("max_val", flow.tensor(float("-inf"), **options))

    def _range(self, smallest: int | None, largest: int | None) -> tuple[int, int]:
        if smallest is None or largest is None:
            smallest, largest = _RANGES[self.dtype.name]
        elif not smallest <= 0 <= largest or smallest == largest:
            raise AssertionError(
                f"quant_min and quant_max must be a range that holds 0, got {smallest}, {largest}"
            )
        return (smallest // 2, largest // 2) if self.reduce_range else (smallest, largest)

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return scale and zero point; 1 and 0 before anything has passed."""
        if self.min_val.numel() == 0:
            device = self.min_val.device
            return flow.ones(1, device=device), flow.zeros(1, dtype=flow.int64, device=device)
        has_passed = (self.min_val <= self.max_val).reshape(-1)
        low, high = self.min_val.clamp(max=0).reshape(-1), self.max_val.clamp(min=0).reshape(-1)
        width = self.quant_max - self.quant_min
        if self.qscheme in (per_tensor_symmetric, per_channel_symmetric):
            scale = (flow.maximum(-low, high) / (width / 2)).maximum(self.eps)
            zero_point = flow.full_like(low, self._middle(), dtype=flow.int64)
        else:
            scale = ((high - low) / width).maximum(self.eps)
            zero_point = self.quant_min - (low / scale).round().to(flow.int32)
            zero_point = zero_point.clamp(self.quant_min, self.quant_max)
        return flow.where(has_passed, scale, 1), flow.where(has_passed, zero_point, 0)

    def _middle(self) -> int:
        """The zero point of symmetric schemes."""
        if self.dtype.name not in _UNSIGNED:
            return 0
        return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128

    def reset_min_max_vals(self) -> None:
        """Forget what has passed."""
        self.min_val = flow.full_like(self.min_val, float("inf"))
        self.max_val = flow.full_like(self.max_val, float("-inf"))

    def extra_repr(self) -> str:
        """Return the range that has passed."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def forward(self, x: Tensor) -> Tensor:
        """Watch a tensor, and return it."""
        if x.numel():
            with flow.no_grad():
                low, high = self._min_max(x.detach().to(self.min_val.dtype))
                self.min_val, self.max_val = self._merged(low, high)
        return x

    def _min_max(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return flow.aminmax(x)

    def _merged(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Merge the present range with the range of a tensor."""
        if self.min_val.shape != low.shape:
            return low, high
        return flow.minimum(self.min_val, low), flow.maximum(self.max_val, high)


class MinMaxObserver(UniformQuantizationObserverBase):
    """An observer of the smallest and the largest value of all that has passed.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.ao.quantization import MinMaxObserver
        >>> observer = MinMaxObserver(quant_min=0, quant_max=15)
        >>> x = observer(flow.tensor([-1.0, 2.0]))
        >>> [parameter.tolist() for parameter in observer.calculate_qparams()]
        [[0.20000000298023224], [5]]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_per_channel(self.qscheme):
            raise NotImplementedError(
                f"{type(self).__name__} has one range for all channels, got {self.qscheme}: take "
                "PerChannelMinMaxObserver"
            )


class _Averaging(UniformQuantizationObserverBase):
    """An observer that moves its range towards the range of each tensor."""

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _merged(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        if self.min_val.shape != low.shape:
            return low, high
        is_first, step = self.min_val > self.max_val, self.averaging_constant
        average_low = self.min_val + step * (low - self.min_val)
        average_high = self.max_val + step * (high - self.max_val)
        return flow.where(is_first, low, average_low), flow.where(is_first, high, average_high)


class MovingAverageMinMaxObserver(_Averaging, MinMaxObserver):
    """An observer of moving averages of the smallest and the largest values."""


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """An observer of the smallest and the largest value of each channel.

    Args:
        ch_axis: the dimension of the channels.
        args: the arguments of `UniformQuantizationObserverBase`.
        qscheme: see there.
        kwargs: the arguments of `UniformQuantizationObserverBase`.
    """

    def __init__(
        self,
        ch_axis: int = 0,
        *args: Any,
        qscheme: QuantizationScheme = per_channel_affine,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, qscheme=qscheme, **kwargs)
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def _min_max(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return flow.aminmax(x.transpose(0, self.ch_axis).flatten(1), dim=1)

    def reset_min_max_vals(self) -> None:
        """Forget what has passed."""
        self.min_val, self.max_val = self.min_val.new_empty(0), self.max_val.new_empty(0)


class MovingAveragePerChannelMinMaxObserver(_Averaging, PerChannelMinMaxObserver):
    """An observer of moving averages of the smallest and the largest values of each channel."""

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(averaging_constant, ch_axis, *args, **kwargs)


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric
)
