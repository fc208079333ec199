"""Names of ``torch.ao.quantization``, for models that carry marks of quantization."""

from __future__ import annotations

from typing import Any, NoReturn

import oneflow as flow
from oneflow.mock_torch.missing import raise_missing


class QuantStub(flow.nn.Module):
    """The identity, which marks where a model's quantized part begins."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        """Return the input."""
        return x


class DeQuantStub(QuantStub):
    """The identity, which marks where a model's quantized part ends."""


class ObserverBase(flow.nn.Module):
    """The base of modules that watch what passes, and say how to quantize it.

    Args:
        dtype: the quantized type.
        is_dynamic: it watches while the quantized model runs.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        """Watch a tensor, and return it."""
        raise NotImplementedError(f"`{type(self).__name__}` needs `forward`")

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scale and zero point."""
        raise NotImplementedError(f"`{type(self).__name__}` needs `calculate_qparams`")


class FakeQuantizeBase(flow.nn.Module):
    """The base of modules that round values as their quantized types would, switched by buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", flow.tensor([1], dtype=flow.uint8))
        self.register_buffer("observer_enabled", flow.tensor([1], dtype=flow.uint8))

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Let it round, or not."""
        self.get_buffer("fake_quant_enabled")[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Let it not round."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Let it watch, or not."""
        self.get_buffer("observer_enabled")[0] = int(enabled)

    def disable_observer(self) -> None:
        """Let it not watch."""
        self.enable_observer(False)


def convert(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to make a model of quantized kernels.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.ao.quantization",
        "there are no quantized kernels; `oneflow.nn.FakeQuantization` and the `Qat` layers train"
        " for quantization elsewhere",
    )


prepare = prepare_qat = fuse_modules = fuse_modules_qat = convert

__all__ = [
    "DeQuantStub",
    "FakeQuantizeBase",
    "ObserverBase",
    "QuantStub",
    "convert",
    "fuse_modules",
    "fuse_modules_qat",
    "prepare",
    "prepare_qat",
]
