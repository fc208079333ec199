"""RegionViT: regional tokens attend to one another, then to the local tokens they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.layers.attention.self_attention import SelfAttention, merge_heads
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.blocks.window import window_partition, window_reverse
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.layers.regularization.norm import LayerNorm2d, layer_norm
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

_MASKED = -1e9


class AttentionWithRelPos(SelfAttention):
    """Attention with a learned addend for each offset between two local tokens.

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        window_size: height and width of a window of local tokens.
        **options: see `SelfAttention`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import AttentionWithRelPos
        >>> attention = AttentionWithRelPos(8, num_heads=2, window_size=2)
        >>> attention.local_attention(flow.rand(1, 3, 1 + 4, 8), mask=None).shape
        oneflow.Size([1, 3, 5, 8])
    """

    def __init__(self, dim: int, num_heads: int, window_size: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        offsets = 2 * window_size - 1
        self.rel_pos = nn.Parameter(flow.zeros(num_heads, offsets**2))
        nn.init.trunc_normal_(self.rel_pos, std=0.02)
        rows, columns = np.indices((window_size, window_size)).reshape(2, -1)
        # Published weights count offsets from half a window below zero, and wrap around.
        down, right = (
            (positions[None, :] - positions[:, None] + window_size // 2) % offsets
            for positions in (rows, columns)
        )
        self.rel_pos_index = down * offsets + right

    def local_attention(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Mix each regional token with the local tokens of its window.

        Args:
            x: a tensor of shape (N, windows, 1 + tokens, dim), the regional token first.
            mask: added to the scores, of shape (windows, 1, 1, 1 + tokens).
        """
        bias = nn.functional.pad(self.rel_pos[:, flow.tensor(self.rel_pos_index)], (1, 0, 1, 0))
        if mask is not None:
            bias = bias + mask
        heads = self.queries_keys_values(x.flatten(0, 1))
        mixed = self.attend(*(tokens.unflatten(0, x.shape[:2]) for tokens in heads), mask=bias)
        mixed = merge_heads(mixed.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.proj_drop(self.proj(mixed))


class R2LAttentionPlusFFN(TransformerBlock):
    """Attention among regional tokens, attention of each with its local tokens, and a perceptron.

    Input and output (N, windows, 1 + tokens, dim), the regional token first.

    Args:
        dim: the length of a token.
        num_heads: the number of heads.
        window_size: height and width of a window of local tokens.
        qkv_bias: whether queries, keys and values have biases.
        attn_drop: the probability with which a weight of attention is dropped.
        drop: the probability with which a feature is dropped.
        norm_layer: makes a normalisation from `dim`.
        **options: see `TransformerBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import R2LAttentionPlusFFN
        >>> block = R2LAttentionPlusFFN(8, num_heads=2, window_size=2)
        >>> block(flow.rand(1, 3, 1 + 4, 8)).shape
        oneflow.Size([1, 3, 5, 8])
    """

    attn: AttentionWithRelPos

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: int,
        *,
        qkv_bias: bool = True,
        attn_drop: float = 0.0,
        drop: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        **options: Any,
    ) -> None:
        attention = AttentionWithRelPos(
            dim, num_heads, window_size, qkv_bias=qkv_bias, attn_drop=attn_drop, proj_drop=drop
        )
        super().__init__(dim, attention, drop=drop, norm_layer=norm_layer, **options)
        self.norm0 = norm_layer(dim)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        regional = x[:, :, 0]
        regional = self.add(regional, self.attn(self.norm0(regional)), None)
        x = flow.cat([regional.unsqueeze(2), x[:, :, 1:]], dim=2)
        x = self.add(x, self.attn.local_attention(self.norm1(x), mask), None)
        return self.add(x, self.mlp(self.norm2(x)), None)


class ChannelNorm(nn.Module):
    """Layer normalisation of the channels. Input and output (N, channels, H, W).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ChannelNorm
        >>> ChannelNorm(8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = LayerNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


class Projection(nn.Module):
    """The way from one stage to the next: grids of regional and local tokens half as high and wide.

    The same convolution serves both.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output; with as many as the input there is
            nothing to do.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Projection
        >>> regional, local = Projection(4, 8)(flow.rand(1, 4, 4, 4), flow.rand(1, 4, 8, 8))
        >>> regional.shape, local.shape
        (oneflow.Size([1, 8, 2, 2]), oneflow.Size([1, 8, 4, 4]))
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Identity()]
        if in_channels != out_channels:
            convolution = nn.Conv2d(
                in_channels, out_channels, 3, stride=2, padding=1, groups=in_channels
            )
            layers = [ChannelNorm(in_channels), nn.GELU(), convolution]
        self.proj = nn.Sequential(*layers)
        self.proj_cls = self.proj

    def forward(self, regional: Tensor, local: Tensor) -> tuple[Tensor, Tensor]:
        return self.proj_cls(regional), self.proj(local)


def convert_to_flatten_layout(
    regional: Tensor, local: Tensor, window_size: int
) -> tuple[Tensor, Tensor | None]:
    """Put each regional token before the local tokens that it stands for.

    Args:
        regional: a tensor of shape (N, C, rows, columns).
        local: a tensor of shape (N, C, H, W), padded at the bottom and on the right where windows
            overhang.
        window_size: height and width of a window.

    Returns:
        Tensor of shape (N, rows * columns, 1 + tokens, C), and what hides the padding, which
        is None or addends of the scores, of shape (rows * columns, 1, 1, 1 + tokens).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import convert_to_flatten_layout
        >>> regional, local = flow.rand(1, 8, 2, 2), flow.rand(1, 8, 4, 4)
        >>> tokens, mask = convert_to_flatten_layout(regional, local, window_size=2)
        >>> tokens.shape, mask is None
        (oneflow.Size([1, 4, 5, 8]), True)
    """
    height, width = local.shape[2:]
    rows, columns = regional.shape[2:]
    missing = (rows * window_size - height, columns * window_size - width)
    mask = None
    if any(missing):
        hidden = np.zeros((1, rows * window_size, columns * window_size, 1), np.float32)
        hidden[:, height:] = hidden[:, :, width:] = _MASKED
        windows = window_partition(flow.tensor(hidden), window_size)
        mask = nn.functional.pad(windows.flatten(1), (1, 0))[:, None, None].to(local)
        local = nn.functional.pad(local, (0, missing[1], 0, missing[0]))
    windows = window_partition(local.permute(0, 2, 3, 1), window_size).flatten(1, 2)
    windows = windows.unflatten(0, (-1, rows * columns))
    first = regional.flatten(2).transpose(1, 2).unsqueeze(2)
    return flow.cat([first, windows], dim=2), mask


def convert_to_spatial_layout(
    tokens: Tensor, regions: tuple[int, int], size: tuple[int, int], window_size: int
) -> tuple[Tensor, Tensor]:
    """Undo `convert_to_flatten_layout`.

    Args:
        tokens: a tensor of shape (N, rows * columns, 1 + tokens, C).
        regions: rows and columns of regional tokens.
        size: height and width of the grid of local tokens.
        window_size: height and width of a window.

    Returns:
        The regional tokens (N, C, rows, columns) and the local ones (N, C, H, W).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import convert_to_spatial_layout
        >>> tokens = flow.rand(1, 4, 1 + 4, 8)
        >>> regional, local = convert_to_spatial_layout(tokens, (2, 2), (4, 4), window_size=2)
        >>> regional.shape, local.shape
        (oneflow.Size([1, 8, 2, 2]), oneflow.Size([1, 8, 4, 4]))
    """
    rows, columns = regions
    regional = tokens[:, :, 0].transpose(1, 2).unflatten(2, regions)
    windows = tokens[:, :, 1:].flatten(0, 1).unflatten(1, (window_size, window_size))
    local = window_reverse(windows, window_size, rows * window_size, columns * window_size)
    return regional, local[:, : size[0], : size[1]].permute(0, 3, 1, 2)


class ConvAttBlock(nn.Module):
    """A stage of RegionViT: a projection, then blocks.

    Args:
        in_channels: the number of channels of the grids.
        out_channels: the length of a token.
        window_size: height and width of a window of local tokens.
        blocks: the blocks.
        peg: whether a convolution after the first block tells the tokens where they are.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ConvAttBlock, R2LAttentionPlusFFN
        >>> stage = ConvAttBlock(4, 8, 2, [R2LAttentionPlusFFN(8, num_heads=2, window_size=2)])
        >>> regional, local = stage(flow.rand(1, 4, 4, 4), flow.rand(1, 4, 8, 8))
        >>> regional.shape, local.shape
        (oneflow.Size([1, 8, 2, 2]), oneflow.Size([1, 8, 4, 4]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window_size: int,
        blocks: Sequence[R2LAttentionPlusFFN],
        peg: bool = False,
    ) -> None:
        super().__init__()
        self.window_size = window_size
        self.block = nn.ModuleList([Projection(in_channels, out_channels), *blocks])
        self.peg = None
        if peg:
            self.peg = nn.Conv2d(
                out_channels, out_channels, 3, padding=1, groups=out_channels, bias=False
            )

    def forward(self, regional: Tensor, local: Tensor) -> tuple[Tensor, Tensor]:
        projection, *blocks = self.block
        regional, local = projection(regional, local)
        regions = (regional.shape[2], regional.shape[3])
        size = (local.shape[2], local.shape[3])
        tokens, mask = convert_to_flatten_layout(regional, local, self.window_size)
        for index, block in enumerate(blocks):
            tokens = block(tokens, mask)
            if self.peg is not None and index == 0:
                grids = convert_to_spatial_layout(tokens, regions, size, self.window_size)
                regional, local = (grid + self.peg(grid) for grid in grids)
                tokens, mask = convert_to_flatten_layout(regional, local, self.window_size)
        return convert_to_spatial_layout(tokens, regions, size, self.window_size)


class OverlappingPatches(nn.Module):
    """Patches every 4 pixels, by three 3 x 3 convolutions or by a single one of 8 x 8.

    Input (N, in_chans, H, W), output (N, embed_dim, H / 4, W / 4).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import OverlappingPatches
        >>> OverlappingPatches(3, 8, conv_stem=True)(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(self, in_chans: int, embed_dim: int, conv_stem: bool) -> None:
        super().__init__()
        width, half = embed_dim // 4, embed_dim // 2
        self.proj: nn.Module = nn.Conv2d(in_chans, embed_dim, 8, stride=4, padding=2)
        if conv_stem:
            self.proj = nn.Sequential(
                nn.Conv2d(in_chans, width, 3, stride=2, padding=1),
                ChannelNorm(width),
                nn.GELU(),
                nn.Conv2d(width, half, 3, stride=2, padding=1),
                ChannelNorm(half),
                nn.GELU(),
                nn.Conv2d(half, embed_dim, 3, padding=1),
            )

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x)


class RegionViT(ImageClassifier):
    """RegionViT (https://arxiv.org/abs/2106.02689).

    Input (N, in_chans, img_size, img_size); output (N, num_classes). A regional token stands for a
    window of local tokens, which stand for patches of 4 x 4 pixels; from stage to stage both grids
    become half as high and wide.

    Args:
        img_size: height and width of the images, a multiple of ``4 * window_size``.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token in each stage.
        depth: the number of blocks of each stage.
        num_heads: the number of heads of each stage.
        window_size: height and width of a window of local tokens.
        mlp_ratio: the hidden features of a perceptron, as a multiple of the length of a token.
        qkv_bias: whether queries, keys and values have biases.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        norm_layer: makes a normalisation from the length of a token.
        peg: whether a convolution in each stage tells the tokens where they are.
        conv_stem: whether three convolutions make the patches, or a single one.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.regionvit import RegionViT
        >>> model = RegionViT(32, embed_dim=(8, 16), depth=(1, 1), num_heads=(2, 2), window_size=4)
        >>> model(flow.randn(2, 3, 32, 32)).shape
        oneflow.Size([2, 1000])
    """

    def __init__(
        self,
        img_size: int = 224,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: Sequence[int] = (64, 128, 256, 512),
        depth: Sequence[int] = (2, 2, 8, 2),
        num_heads: Sequence[int] = (2, 4, 8, 16),
        window_size: int = 7,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        peg: bool = False,
        conv_stem: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim[-1]
        self.patch_embed = OverlappingPatches(in_chans, embed_dim[0], conv_stem)
        self.cls_token = PatchEmbed(
            img_size, 4 * window_size, in_chans, embed_dim[0], flatten=False
        )
        self.pos_drop = nn.Dropout(drop_rate)
        options: dict[str, Any] = {"qkv_bias": qkv_bias, "attn_drop": attn_drop_rate}
        options |= {"mlp_ratio": mlp_ratio, "norm_layer": norm_layer, "drop": drop_rate}
        rates = iter(drop_path_rates(drop_path_rate, sum(depth)))
        self.layers = nn.ModuleList()
        before = embed_dim[0]
        for dim, heads, count in zip(embed_dim, num_heads, depth, strict=True):
            blocks = [
                R2LAttentionPlusFFN(dim, heads, window_size, drop_path=next(rates), **options)
                for _ in range(count)
            ]
            self.layers.append(ConvAttBlock(before, dim, window_size, blocks, peg))
            before = dim
        self.norm = norm_layer(self.num_features)
        self.head = make_head(self.num_features, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        regional, local = self.cls_token(x), self.pos_drop(self.patch_embed(x))
        for layer in self.layers:
            regional, local = layer(regional, local)
        return self.norm(regional.flatten(2).transpose(1, 2)).mean(1)


_SMALL: dict[str, Any] = {"embed_dim": (96, 192, 384, 768), "num_heads": (3, 6, 12, 24)}
_BASE: dict[str, Any] = {
    "embed_dim": (128, 256, 512, 1024),
    "num_heads": (4, 8, 16, 32),
    "depth": (2, 2, 14, 2),
    "conv_stem": False,
}

_regionvit = ModelFamily(__name__, RegionViT, paper="2106.02689")

# fmt: off
regionvit_tiny_224 = _regionvit("regionvit_tiny_224", "RegionViT-Ti.")
regionvit_small_224 = _regionvit("regionvit_small_224", "RegionViT-S.", **_SMALL)
regionvit_small_w14_224 = _regionvit("regionvit_small_w14_224",
    "RegionViT-S with windows of 14 x 14 tokens.", **_SMALL, window_size=14)
regionvit_small_w14_peg_224 = _regionvit("regionvit_small_w14_peg_224",
    "RegionViT-S with windows of 14 x 14 tokens and convolutions that tell positions.",
    **_SMALL, window_size=14, peg=True)
regionvit_medium_224 = _regionvit("regionvit_medium_224", "RegionViT-M.",
    **_SMALL, depth=(2, 2, 14, 2), conv_stem=False)
regionvit_base_224 = _regionvit("regionvit_base_224", "RegionViT-B.", **_BASE)
regionvit_base_w14_224 = _regionvit("regionvit_base_w14_224",
    "RegionViT-B with windows of 14 x 14 tokens.", **_BASE, window_size=14)
regionvit_base_w14_peg_224 = _regionvit("regionvit_base_w14_peg_224",
    "RegionViT-B with windows of 14 x 14 tokens and convolutions that tell positions.",
    **_BASE, window_size=14, peg=True)
