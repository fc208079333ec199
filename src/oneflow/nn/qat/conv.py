"""Convolution layers for quantization-aware training."""

from oneflow.nn.modules.quantized_conv import (
    QatConv1d as QatConv1d,
    QatConv2d as QatConv2d,
    QatConv3d as QatConv3d,
)

__all__ = ["QatConv1d", "QatConv2d", "QatConv3d"]
