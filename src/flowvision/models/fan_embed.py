"""From images to the tokens of FAN, and their positions."""

from __future__ import annotations

import itertools
import math

import numpy as np

import oneflow as flow
from oneflow import Tensor, nn


class PositionalEncodingFourier(nn.Module):
    """A linear map of sines and cosines of the position.

    Output (1, height * width, dim).

    Args:
        hidden_dim: the number of sines and cosines of each coordinate.
        dim: the length of a token.
        temperature: the longest wavelength, as a multiple of the shortest.

    Example:
        >>> from flowvision.models import PositionalEncodingFourier
        >>> PositionalEncodingFourier(dim=16)(2, 3).shape
        oneflow.Size([1, 6, 16])
    """

    def __init__(self, hidden_dim: int = 32, dim: int = 768, temperature: float = 10000.0) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.temperature = temperature
        self.token_projection = nn.Conv2d(2 * hidden_dim, dim, 1)

    def position_features(self, height: int, width: int) -> np.ndarray:
        """Return the sines and cosines, of shape (1, 2 * hidden_dim, height, width)."""
        scales = self.temperature ** (2 * np.arange(self.hidden_dim // 2) / self.hidden_dim)
        rows, columns = (
            2 * math.pi * np.arange(1, size + 1)[:, None] / (size + 1e-6) / scales
            for size in (height, width)
        )
        encoded = [
            np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(
                len(angles), self.hidden_dim
            )
            for angles in (rows, columns)
        ]
        grid = np.concatenate(
            [
                np.broadcast_to(encoded[0][:, None], (height, width, self.hidden_dim)),
                np.broadcast_to(encoded[1][None], (height, width, self.hidden_dim)),
            ],
            axis=-1,
        )
        return grid.transpose(2, 0, 1)[None]

    def forward(self, height: int, width: int) -> Tensor:
        weight = self.token_projection.weight
        features = flow.tensor(
            self.position_features(height, width), dtype=weight.dtype, device=weight.device
        )
        return self.token_projection(features).flatten(2).transpose(1, 2)


def conv3x3(in_planes: int, out_planes: int, stride: int = 1) -> nn.Sequential:
    """Return a 3 x 3 convolution that keeps the size at a stride of 1, and a normalisation.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import conv3x3
        >>> conv3x3(3, 8, stride=2)(flow.rand(1, 3, 6, 6)).shape
        oneflow.Size([1, 8, 3, 3])
    """
    convolution = nn.Conv2d(in_planes, out_planes, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out_planes))


class ConvPatchEmbed(nn.Module):
    """Patches of 16 x 16 pixels, by four 3 x 3 convolutions with stride 2.

    Input (N, in_chans, H, W), output (N, embed_dim, H / 16, W / 16).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ConvPatchEmbed
        >>> ConvPatchEmbed(embed_dim=16)(flow.rand(1, 3, 32, 32)).shape
        oneflow.Size([1, 16, 2, 2])
    """

    def __init__(self, in_chans: int = 3, embed_dim: int = 768) -> None:
        super().__init__()
        channels = [in_chans, *(embed_dim >> shift for shift in (3, 2, 1, 0))]
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(channels):
            layers += [conv3x3(before, after, 2), nn.GELU()]
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x)


class HybridEmbed(nn.Module):
    """Patches of what a convolutional network makes of the image.

    Input (N, in_chans, H, W), output (N, embed_dim, H / stride, W / stride).

    Args:
        backbone: the network, whose output has `channels` channels.
        channels: the number of channels in between.
        patch_size: height and width of a patch of the output of the network.
        embed_dim: the length of a token.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridBackbone, HybridEmbed
        >>> backbone = HybridBackbone(depths=(1,), dims=(8,), use_head=False)
        >>> embed = HybridEmbed(backbone, 8, patch_size=2, embed_dim=16)
        >>> embed(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 16, 2, 2])
    """

    def __init__(self, backbone: nn.Module, channels: int, patch_size: int, embed_dim: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.proj = nn.Conv2d(channels, embed_dim, patch_size, stride=patch_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.backbone(x))


class OverlapPatchEmbed(nn.Module):
    """Tokens of a smaller grid, by a convolution whose windows overlap.

    Input (N, H * W, in_chans), `H` and `W`; output (N, H' * W', embed_dim), H' and W', which are
    H / stride and W / stride rounded up.

    Args:
        img_size: height and width of the whole image.
        patch_size: height and width of a window, an odd number.
        stride: the stride of the windows.
        in_chans: the length of an input token.
        embed_dim: the length of an output token.

    Attributes:
        num_patches: the number of tokens of a whole image.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import OverlapPatchEmbed
        >>> tokens, H, W = OverlapPatchEmbed(in_chans=3, embed_dim=8)(flow.rand(1, 64, 3), 8, 8)
        >>> tokens.shape, H, W
        (oneflow.Size([1, 4, 8]), 2, 2)
    """

    def __init__(
        self,
        img_size: int = 224,
        patch_size: int = 7,
        stride: int = 4,
        in_chans: int = 3,
        embed_dim: int = 768,
    ) -> None:
        super().__init__()
        self.num_patches = (-(-img_size // stride)) ** 2
        self.proj = nn.Conv2d(
            in_chans, embed_dim, patch_size, stride=stride, padding=patch_size // 2
        )
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, x: Tensor, H: int, W: int) -> tuple[Tensor, int, int]:
        grid = self.proj(x.transpose(1, 2).unflatten(2, (H, W)))
        return self.norm(grid.flatten(2).transpose(1, 2)), grid.shape[2], grid.shape[3]
