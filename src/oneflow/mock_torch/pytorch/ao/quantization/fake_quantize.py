"""Modules that round values as their quantized types would."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.base.dtype import qint8, quint8
from oneflow.mock_torch.pytorch.ao.quantization.base import FakeQuantizeBase
from oneflow.mock_torch.pytorch.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
)
from oneflow.mock_torch.pytorch.ao.quantization.schemes import (
    is_per_channel,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)


class FakeQuantize(FakeQuantizeBase):
    """A module that watches the tensors that pass, and rounds them as the quantized type would.

    Gradients pass where nothing is cut off.

    Args:
        observer: the class of the module that watches, or a factory of such modules.
        quant_min: the smallest quantized number.
        quant_max: the largest quantized number.
        is_dynamic: it watches while the quantized model runs.
        observer_kwargs: arguments of the observer.

    Attributes:
        activation_post_process: the observer.
        scale: the distance between neighbouring numbers, of the tensor or of each channel.
        zero_point: the quantized number of 0.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.ao.quantization import FakeQuantize, MinMaxObserver
        >>> rounded = FakeQuantize(MinMaxObserver, quant_min=0, quant_max=3)
        >>> rounded(flow.tensor([0.0, 1.0, 2.4, 3.0]))
        tensor([0., 1., 2., 3.], dtype=oneflow.float32)
    """

    scale: Tensor
    zero_point: Tensor
    _resized = ("scale", "zero_point")

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        instance = observer(**observer_kwargs, is_dynamic=is_dynamic)
        self.activation_post_process = instance
        self.quant_min, self.quant_max = instance.quant_min, instance.quant_max
        self.dtype, self.qscheme, self.is_dynamic = instance.dtype, instance.qscheme, is_dynamic
        self.ch_axis = getattr(instance, "ch_axis", -1)
        self.is_per_channel = is_per_channel(instance.qscheme)
        self.register_buffer("scale", flow.ones(1))
        self.register_buffer("zero_point", flow.zeros(1, dtype=flow.int32))

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the observer's scale and zero point."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, x: Tensor) -> Tensor:
        """Watch a tensor and round it, as far as both are enabled."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(x.detach())
            scale, zero_point = self.calculate_qparams()
            self.scale = scale.to(self.scale.device)
            self.zero_point = zero_point.to(self.zero_point.device, flow.int32)
        if self.fake_quant_enabled[0] == 0:
            return x
        numbers = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        if self.is_per_channel:
            return flow.fake_quantize_per_channel_affine(
                x, self.scale, self.zero_point, self.ch_axis, *numbers
            )
        return flow.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, *numbers)

    def extra_repr(self) -> str:
        """Return its settings."""
        names = "fake_quant_enabled observer_enabled quant_min quant_max dtype qscheme ch_axis"
        return ", ".join(
            f"{name}={getattr(self, name)}" for name in (*names.split(), "scale", "zero_point")
        )


def disable_fake_quant(mod: Any) -> None:
    """Disable a module's rounding if it rounds; for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """Enable a module's rounding if it can round; for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """Disable a module's observer if it has one; for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """Enable a module's observer if it has one; for ``model.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=0,
    quant_max=255,
    dtype=quint8,
    qscheme=per_tensor_affine,
    reduce_range=True,
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_tensor_symmetric,
    reduce_range=False,
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_channel_symmetric,
    reduce_range=False,
    ch_axis=0,
)
