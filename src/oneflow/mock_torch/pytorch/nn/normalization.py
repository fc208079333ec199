"""Layers whose defaults are PyTorch's where OneFlow's differ."""

from oneflow import nn
from oneflow.mock_torch.default_arguments import with_defaults


@with_defaults(eps=None)
class RMSNorm(nn.RMSNorm):
    """`oneflow.nn.RMSNorm` with PyTorch's default of `eps`."""


__all__ = ["RMSNorm"]
