"""Marks of quantization in models, and what would make quantized kernels of them."""

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
