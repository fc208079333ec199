"""Names of ``torch.ao.quantization``: modules that watch values, and round them in training."""

from oneflow.mock_torch.pytorch.ao.quantization.base import (
    FakeQuantizeBase as FakeQuantizeBase,
    ObserverBase as ObserverBase,
)
from oneflow.mock_torch.pytorch.ao.quantization.fake_quantize import (
    FakeQuantize as FakeQuantize,
    default_fake_quant as default_fake_quant,
    default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant,
    default_weight_fake_quant as default_weight_fake_quant,
    disable_fake_quant as disable_fake_quant,
    disable_observer as disable_observer,
    enable_fake_quant as enable_fake_quant,
    enable_observer as enable_observer,
)
from oneflow.mock_torch.pytorch.ao.quantization.models import (
    DeQuantStub as DeQuantStub,
    QuantStub as QuantStub,
    convert as convert,
    fuse_modules as fuse_modules,
    fuse_modules_qat as fuse_modules_qat,
    prepare as prepare,
    prepare_qat as prepare_qat,
)
from oneflow.mock_torch.pytorch.ao.quantization.observer import (
    MinMaxObserver as MinMaxObserver,
    MovingAverageMinMaxObserver as MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver as PerChannelMinMaxObserver,
    UniformQuantizationObserverBase as UniformQuantizationObserverBase,
    default_observer as default_observer,
    default_per_channel_weight_observer as default_per_channel_weight_observer,
    default_weight_observer as default_weight_observer,
)
from oneflow.mock_torch.pytorch.ao.quantization.qconfig import QConfig as QConfig

__all__ = [
    "DeQuantStub",
    "FakeQuantize",
    "FakeQuantizeBase",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "QConfig",
    "QuantStub",
    "UniformQuantizationObserverBase",
    "convert",
    "default_fake_quant",
    "default_observer",
    "default_per_channel_weight_fake_quant",
    "default_per_channel_weight_observer",
    "default_weight_fake_quant",
    "default_weight_observer",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
    "fuse_modules",
    "fuse_modules_qat",
    "prepare",
    "prepare_qat",
]
