"""Layers whose defaults are PyTorch's where OneFlow's differ."""

from oneflow.mock_torch.pytorch.nn.normalization import (
    RMSNorm as RMSNorm,
)
