"""ConvNeXt: a convolutional network in the manner of vision transformers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import oneflow as flow
from flowvision.layers.regularization import DropPath
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

_EPS = 1e-6


class LayerNorm(nn.LayerNorm):
    """Layer normalization of channels, which are the last dimension or the second one.

    Args:
        normalized_shape: the number of channels.
        eps: added to the variance.
        data_format: "channels_last" for inputs (..., C), "channels_first" for (N, C, ...).

    Raises:
        ValueError: if `data_format` is neither.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LayerNorm
        >>> norm = LayerNorm(8, data_format="channels_first")
        >>> norm(flow.rand(2, 8, 3, 3)).mean(1).abs().max().item() < 1e-5
        True
    """

    def __init__(
        self,
        normalized_shape: int,
        eps: float = _EPS,
        data_format: Literal["channels_last", "channels_first"] = "channels_last",
    ) -> None:
        if data_format not in ("channels_last", "channels_first"):
            raise ValueError(
                f"`data_format` must be 'channels_last' or 'channels_first', got {data_format!r}"
            )
        super().__init__(normalized_shape, eps=eps)
        self.data_format = data_format

    def forward(self, input: Tensor) -> Tensor:
        if self.data_format == "channels_last":
            return super().forward(input)
        return super().forward(input.movedim(1, -1)).movedim(-1, 1)


class ConvNeXtBlock(nn.Module):
    """A depthwise 7 x 7 convolution and a perceptron over channels, beside a shortcut.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        drop_path: the probability with which a sample skips the block in training.
        layer_scale_init_value: the first value of the factors of the branch; 0 for none.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ConvNeXtBlock
        >>> ConvNeXtBlock(4)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 4, 8, 8])
    """

    def __init__(
        self, dim: int, drop_path: float = 0.0, layer_scale_init_value: float = 1e-6
    ) -> None:
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = LayerNorm(dim)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.act = nn.GELU()
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = None
        if layer_scale_init_value > 0:
            self.gamma = nn.Parameter(layer_scale_init_value * flow.ones(dim))
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        branch = self.pwconv2(self.act(self.pwconv1(branch)))
        if self.gamma is not None:
            branch = self.gamma * branch
        return x + self.drop_path(branch.permute(0, 3, 1, 2))


def _initialize(model: nn.Module, head: nn.Linear, head_init_scale: float) -> None:
    """Draw the weights; the head's weights are multiplied by `head_init_scale`."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)
    with flow.no_grad():
        head.weight.mul_(head_init_scale)


class ConvNeXt(nn.Module):
    """ConvNeXt (https://arxiv.org/abs/2201.03545).

    Input (N, in_chans, H, W), at least 32 pixels high and wide; output (N, num_classes).

    Args:
        in_chans: channels of the input.
        num_classes: the number of classes.
        depths: the number of blocks of each of the four stages.
        dims: channels of each stage.
        drop_path_rate: the probability with which a sample skips the last block in training; it
            grows linearly from the first block, where it is 0.
        layer_scale_init_value: see `ConvNeXtBlock`.
        head_init_scale: a factor of the classifier's first weights.
    """

    def __init__(
        self,
        in_chans: int = 3,
        num_classes: int = 1000,
        depths: Sequence[int] = (3, 3, 9, 3),
        dims: Sequence[int] = (96, 192, 384, 768),
        drop_path_rate: float = 0.0,
        layer_scale_init_value: float = 1e-6,
        head_init_scale: float = 1.0,
    ) -> None:
        super().__init__()
        stem = nn.Sequential(
            nn.Conv2d(in_chans, dims[0], 4, stride=4),
            LayerNorm(dims[0], data_format="channels_first"),
        )
        between = [
            nn.Sequential(
                LayerNorm(before, data_format="channels_first"),
                nn.Conv2d(before, after, 2, stride=2),
            )
            for before, after in itertools.pairwise(dims)
        ]
        self.downsample_layers = nn.ModuleList([stem, *between])
        rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
        self.stages = nn.ModuleList(
            nn.Sequential(
                *(ConvNeXtBlock(dim, next(rates), layer_scale_init_value) for _ in range(depth))
            )
            for depth, dim in zip(depths, dims, strict=True)
        )
        self.norm = LayerNorm(dims[-1])
        self.head = nn.Linear(dims[-1], num_classes)
        _initialize(self, self.head, head_init_scale)

    def forward_features(self, x: Tensor) -> Tensor:
        """Return the mean features of each image, (N, dims[-1])."""
        for downsample, stage in zip(self.downsample_layers, self.stages, strict=True):
            x = stage(downsample(x))
        return self.norm(x.mean((2, 3)))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.forward_features(x))


class ConvNeXtIsotropic(nn.Module):
    """ConvNeXt at one resolution (the paper's section 3.3).

    Input (N, in_chans, H, W), at least 16 pixels high and wide; output (N, num_classes).

    Args:
        in_chans: channels of the input.
        num_classes: the number of classes.
        depth: the number of blocks.
        dim: the number of channels.
        drop_path_rate: see `ConvNeXt`.
        layer_scale_init_value: see `ConvNeXtBlock`.
        head_init_scale: a factor of the classifier's first weights.
    """

    def __init__(
        self,
        in_chans: int = 3,
        num_classes: int = 1000,
        depth: int = 18,
        dim: int = 384,
        drop_path_rate: float = 0.0,
        layer_scale_init_value: float = 0.0,
        head_init_scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.stem = nn.Conv2d(in_chans, dim, 16, stride=16)
        self.blocks = nn.Sequential(
            *(
                ConvNeXtBlock(dim, rate, layer_scale_init_value)
                for rate in drop_path_rates(drop_path_rate, depth)
            )
        )
        self.norm = LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)
        _initialize(self, self.head, head_init_scale)

    def forward_features(self, x: Tensor) -> Tensor:
        """Return the mean features of each image, (N, dim)."""
        return self.norm(self.blocks(self.stem(x)).mean((2, 3)))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.forward_features(x))


_TINY: dict[str, Any] = {"depths": (3, 3, 9, 3), "dims": (96, 192, 384, 768)}
_SMALL: dict[str, Any] = {"depths": (3, 3, 27, 3), "dims": (96, 192, 384, 768)}
_BASE: dict[str, Any] = {"depths": (3, 3, 27, 3), "dims": (128, 256, 512, 1024)}
_LARGE: dict[str, Any] = {"depths": (3, 3, 27, 3), "dims": (192, 384, 768, 1536)}
_XLARGE: dict[str, Any] = {"depths": (3, 3, 27, 3), "dims": (256, 512, 1024, 2048)}
_convnext = ModelFamily(__name__, ConvNeXt, paper="2201.03545")
_isotropic = ModelFamily(__name__, ConvNeXtIsotropic, paper="2201.03545")

# fmt: off
convnext_tiny_224 = _convnext("convnext_tiny_224", "ConvNeXt-T: 29 million parameters.", **_TINY)
convnext_small_224 = _convnext("convnext_small_224", "ConvNeXt-S: 50 million parameters.", **_SMALL)
convnext_base_224 = _convnext("convnext_base_224", "ConvNeXt-B: 89 million parameters.", **_BASE)
convnext_base_224_22k = _convnext("convnext_base_224_22k",
    "ConvNeXt-B and the 21,841 classes of ImageNet-22K: 110 million parameters.",
    **_BASE, num_classes=21841)
convnext_base_224_22k_to_1k = _convnext("convnext_base_224_22k_to_1k",
    "ConvNeXt-B, trained on ImageNet-22K first: 89 million parameters.", **_BASE)
convnext_base_384 = _convnext("convnext_base_384",
    "ConvNeXt-B for 384 x 384 pixels: 89 million parameters.", **_BASE, image_size=384)
convnext_base_384_22k_to_1k = _convnext("convnext_base_384_22k_to_1k",
    "ConvNeXt-B for 384 x 384 pixels, trained on ImageNet-22K first: 89 million parameters.",
    **_BASE, image_size=384)
convnext_large_224 = _convnext("convnext_large_224", "ConvNeXt-L: 198 million parameters.",
    **_LARGE)
convnext_large_224_22k = _convnext("convnext_large_224_22k",
    "ConvNeXt-L and the 21,841 classes of ImageNet-22K: 230 million parameters.",
    **_LARGE, num_classes=21841)
convnext_large_224_22k_to_1k = _convnext("convnext_large_224_22k_to_1k",
    "ConvNeXt-L, trained on ImageNet-22K first: 198 million parameters.", **_LARGE)
convnext_large_384 = _convnext("convnext_large_384",
    "ConvNeXt-L for 384 x 384 pixels: 198 million parameters.", **_LARGE, image_size=384)
convnext_large_384_22k_to_1k = _convnext("convnext_large_384_22k_to_1k",
    "ConvNeXt-L for 384 x 384 pixels, trained on ImageNet-22K first: 198 million parameters.",
    **_LARGE, image_size=384)
convnext_xlarge_224_22k = _convnext("convnext_xlarge_224_22k",
    "ConvNeXt-XL and the 21,841 classes of ImageNet-22K: 393 million parameters.",
    **_XLARGE, num_classes=21841)
convnext_xlarge_224_22k_to_1k = _convnext("convnext_xlarge_224_22k_to_1k",
    "ConvNeXt-XL, trained on ImageNet-22K first: 350 million parameters.", **_XLARGE)
convnext_xlarge_384_22k_to_1k = _convnext("convnext_xlarge_384_22k_to_1k",
    "ConvNeXt-XL for 384 x 384 pixels, trained on ImageNet-22K first: 350 million parameters.",
    **_XLARGE, image_size=384)
convnext_iso_base_224 = _isotropic("convnext_iso_base_224",
    "ConvNeXt at one resolution, base: 87 million parameters.", depth=18, dim=768)
convnext_iso_large_224 = _isotropic("convnext_iso_large_224",
    "ConvNeXt at one resolution, large: 306 million parameters.",
    depth=36, dim=1024, layer_scale_init_value=1e-6)
convnext_iso_small_224 = _isotropic("convnext_iso_small_224",
    "ConvNeXt at one resolution, small: 22 million parameters.", depth=18, dim=384)
