"""Layers for quantization-aware training, by their path in upstream."""

from oneflow.nn.modules.quantized_conv import (
    QatConv1d as QatConv1d,
    QatConv2d as QatConv2d,
    QatConv3d as QatConv3d,
)
from oneflow.nn.qat import conv as conv

__all__ = ["QatConv1d", "QatConv2d", "QatConv3d", "conv"]
