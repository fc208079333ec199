"""Convolutions whose names PyTorch alone has."""

from __future__ import annotations

from oneflow import Tensor
from oneflow.nn.functional import conv1d


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Return the convolution of sequences whose first dimension is time.

    Args:
        input: ``[T, N, C]``.
        weight: ``[kernel, C, out channels]``.
        bias: ``[out channels]``.
        pad: the number of steps of zeros at each end.

    Returns:
        ``[T + 2 * pad - kernel + 1, N, out channels]``.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.conv import conv_tbc
        >>> conv_tbc(flow.ones(5, 2, 3), flow.ones(2, 3, 1), flow.zeros(1), pad=1).shape
        oneflow.Size([6, 2, 1])
    """
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)


__all__ = ["conv_tbc"]
