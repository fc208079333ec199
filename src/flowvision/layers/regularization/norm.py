"""Layer normalisation of feature maps."""

from __future__ import annotations

from oneflow import Tensor, nn


class LayerNorm2d(nn.LayerNorm):
    """Normalises the channels at each position of a feature map.

    Input and output (N, num_channels, H, W).

    Args:
        num_channels: the number of channels of the input.
        eps: added to the variance.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import LayerNorm2d
        >>> y = LayerNorm2d(8)(flow.randn(2, 8, 3, 3))
        >>> y.mean(1).abs().max().item() < 1e-5
        True
    """

    def __init__(self, num_channels: int, eps: float = 1e-5) -> None:
        super().__init__(num_channels, eps=eps)

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def layer_norm(dim: int) -> nn.LayerNorm:
    """Return the layer normalisation of most vision transformers, whose `eps` is 1e-6."""
    return nn.LayerNorm(dim, eps=1e-6)
