"""CSWin Transformer: attention within stripes, half of the heads along rows, half along columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.attention.self_attention import merge_heads, split_heads
from flowvision.layers.blocks.patch_embed import check_image_size
from flowvision.layers.blocks.stage import run_blocks
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.blocks.window import window_partition, window_reverse
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


def img2windows(img: Tensor, H_sp: int, W_sp: int) -> Tensor:
    """Cut feature maps into windows of `H_sp` x `W_sp` tokens.

    Args:
        img: a tensor of shape (N, C, H, W), H and W multiples of the window's.
        H_sp: height of a window.
        W_sp: width of a window.

    Returns:
        Tensor of shape (N * windows, H_sp * W_sp, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import img2windows
        >>> img2windows(flow.rand(1, 8, 4, 4), 2, 4).shape
        oneflow.Size([2, 8, 8])
    """
    return window_partition(img.permute(0, 2, 3, 1), (H_sp, W_sp)).flatten(1, 2)


def windows2img(img_splits_hw: Tensor, H_sp: int, W_sp: int, H: int, W: int) -> Tensor:
    """Put windows together again: the inverse of `img2windows`, but with the channels last.

    Returns:
        Tensor of shape (N, H, W, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.cswin import img2windows, windows2img
        >>> x = flow.randn(2, 3, 4, 6)
        >>> flow.equal(windows2img(img2windows(x, 4, 2), 4, 2, 4, 6), x.permute(0, 2, 3, 1))
        True
    """
    return window_reverse(img_splits_hw.unflatten(1, (H_sp, W_sp)), (H_sp, W_sp), H, W)


class LePEAttention(nn.Module):
    """Attention within stripes; a convolution of the values tells their positions.

    Input (3, N, resolution * resolution, dim): queries, keys and values; output
    (N, resolution * resolution, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        resolution: height and width of the grid of tokens.
        idx: 0 for stripes as high as the grid, 1 for stripes as wide as it, -1 for one window.
        split_size: the other side of a stripe, a divisor of `resolution`.
        num_heads: the number of heads.
        attn_drop: the probability with which a weight of attention is dropped.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.

    Raises:
        ValueError: if stripes do not tile the grid.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LePEAttention
        >>> attention = LePEAttention(8, resolution=4, idx=0, split_size=2, num_heads=2)
        >>> attention(flow.rand(3, 1, 16, 8)).shape
        oneflow.Size([1, 16, 8])
    """

    def __init__(
        self,
        dim: int,
        resolution: int,
        idx: int,
        split_size: int = 7,
        num_heads: int = 8,
        attn_drop: float = 0.0,
        qk_scale: float | None = None,
    ) -> None:
        super().__init__()
        if idx != -1 and resolution % split_size:
            raise ValueError(f"stripes of {split_size} tokens do not tile a grid of {resolution}")
        self.resolution = resolution
        self.window_size = {
            -1: (resolution, resolution),
            0: (resolution, split_size),
            1: (split_size, resolution),
        }[idx]
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.scale = qk_scale
        self.get_v = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)

    def forward(self, qkv: Tensor) -> Tensor:
        grid = (self.resolution, self.resolution)
        query, key, value = (
            window_partition(tokens.unflatten(1, grid), self.window_size) for tokens in qkv.unbind()
        )
        positions = self.get_v(value.permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
        heads = nn.functional.scaled_dot_product_attention(
            *(split_heads(tokens.flatten(1, 2), self.num_heads) for tokens in (query, key, value)),
            dropout_p=self.attn_drop if self.training else 0.0,
            scale=self.scale,
        )
        windows = (merge_heads(heads) + positions).unflatten(1, self.window_size)
        return window_reverse(windows, self.window_size, *grid).flatten(1, 2)


class CSWinBlock(TransformerBlock):
    """A transformer block with attention along rows and along columns.

    Input and output (N, reso * reso, dim).

    Args:
        dim: the length of a token.
        reso: height and width of the grid of tokens.
        num_heads: the number of heads of both directions together.
        split_size: the width of a stripe; stripes as wide as the grid are one window.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        **options: see `TransformerBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CSWinBlock
        >>> CSWinBlock(8, reso=4, num_heads=2, split_size=2)(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 16, 8])
    """

    def __init__(
        self,
        dim: int,
        reso: int,
        num_heads: int,
        split_size: int = 7,
        *,
        qkv_bias: bool = False,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(dim, None, **options)
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        directions = (-1,) if reso == split_size else (0, 1)
        parts = len(directions)
        self.attns = nn.ModuleList(
            LePEAttention(
                dim // parts, reso, idx, split_size, num_heads // parts, attn_drop, qk_scale
            )
            for idx in directions
        )

    def attend(self, x: Tensor) -> Tensor:
        qkv = self.qkv(self.norm1(x)).unflatten(-1, (3, -1)).permute(2, 0, 1, 3)
        parts = qkv.chunk(len(self.attns), dim=-1)
        mixed = [attention(part) for attention, part in zip(self.attns, parts, strict=True)]
        return self.proj(flow.cat(mixed, dim=-1))


class Merge_Block(nn.Module):
    """A convolution that halves the grid.

    Input (N, H * W, dim) of a square grid, output (N, H / 2 * W / 2, dim_out).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Merge_Block
        >>> Merge_Block(8, 16)(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 4, 16])
    """

    def __init__(
        self, dim: int, dim_out: int, norm_layer: Callable[[int], nn.Module] = nn.LayerNorm
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(dim, dim_out, 3, stride=2, padding=1)
        self.norm = norm_layer(dim_out)

    def forward(self, x: Tensor) -> Tensor:
        side = math.isqrt(x.shape[1])
        x = self.conv(x.transpose(1, 2).unflatten(2, (side, side)))
        return self.norm(x.flatten(2).transpose(1, 2))


class Rearrange(nn.Module):
    """Feature maps (N, C, H, W) as tokens (N, H * W, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Rearrange
        >>> Rearrange()(flow.rand(1, 8, 2, 3)).shape
        oneflow.Size([1, 6, 8])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).transpose(1, 2)


class CSWinTransformer(ImageClassifier):
    """CSWin Transformer (https://arxiv.org/abs/2107.00652).

    Input (N, in_chans, img_size, img_size); output (N, num_classes). The grid of the first stage is
    4 times smaller than the image, and that of each further stage half as high and wide.

    Args:
        img_size: height and width of the images.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token in the first stage; it doubles from stage to stage.
        depth: the number of blocks of each stage.
        split_size: the width of a stripe in each stage.
        num_heads: the number of heads of each stage.
        mlp_ratio: the hidden features of a perceptron, as a multiple of the length of a token.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        norm_layer: makes a normalisation from the length of a token.
        use_chk: whether blocks run again in the backward pass, which saves memory.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.cswin import CSWinTransformer
        >>> model = CSWinTransformer(64, embed_dim=8, depth=(1, 1, 1, 1), split_size=(1, 2, 4, 2),
        ...                          num_heads=(2, 2, 2, 2))
        >>> model(flow.randn(1, 3, 64, 64)).shape
        oneflow.Size([1, 1000])
    """

    def __init__(
        self,
        img_size: int = 224,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 96,
        depth: Sequence[int] = (2, 2, 6, 2),
        split_size: Sequence[int] = (3, 5, 7, 7),
        num_heads: Sequence[int] = (2, 4, 8, 16),
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        use_chk: bool = False,
    ) -> None:
        super().__init__()
        self.img_size = img_size
        self.use_chk = use_chk
        self.num_stages = len(depth)
        self.num_features = embed_dim << (self.num_stages - 1)
        self.stage1_conv_embed = nn.Sequential(
            nn.Conv2d(in_chans, embed_dim, 7, stride=4, padding=2),
            Rearrange(),
            nn.LayerNorm(embed_dim),
        )
        options: dict[str, Any] = {"qkv_bias": qkv_bias, "qk_scale": qk_scale, "drop": drop_rate}
        options |= {"attn_drop": attn_drop_rate, "mlp_ratio": mlp_ratio, "norm_layer": norm_layer}
        rates = iter(drop_path_rates(drop_path_rate, sum(depth)))
        for stage, blocks in enumerate(depth):
            dim, grid = embed_dim << stage, img_size >> (2 + stage)
            heads, width = num_heads[stage], split_size[stage]
            modules = [
                CSWinBlock(dim, grid, heads, width, drop_path=next(rates), **options)
                for _ in range(blocks)
            ]
            setattr(self, f"stage{stage + 1}", nn.Sequential(*modules))
            if stage < self.num_stages - 1:
                setattr(self, f"merge{stage + 1}", Merge_Block(dim, 2 * dim))
        self.norm = norm_layer(self.num_features)
        self.head = make_head(self.num_features, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        check_image_size(x, (self.img_size, self.img_size))
        x = self.stage1_conv_embed(x)
        for stage in range(1, self.num_stages + 1):
            x = run_blocks(getattr(self, f"stage{stage}"), x, self.use_chk)
            if stage < self.num_stages:
                x = getattr(self, f"merge{stage}")(x)
        return self.norm(x).mean(1)


_TINY: dict[str, Any] = {"embed_dim": 64, "depth": (1, 2, 21, 1), "num_heads": (2, 4, 8, 16)}
_SMALL: dict[str, Any] = {"embed_dim": 64, "depth": (2, 4, 32, 2), "num_heads": (2, 4, 8, 16)}
_BASE: dict[str, Any] = {"embed_dim": 96, "depth": (2, 4, 32, 2), "num_heads": (4, 8, 16, 32)}
_LARGE: dict[str, Any] = {"embed_dim": 144, "depth": (2, 4, 32, 2), "num_heads": (6, 12, 24, 24)}
_224: dict[str, Any] = {"split_size": (1, 2, 7, 7)}
_384: dict[str, Any] = {"img_size": 384, "split_size": (1, 2, 12, 12)}

_cswin = ModelFamily(__name__, CSWinTransformer, paper="2107.00652")

# fmt: off
cswin_tiny_224 = _cswin("cswin_tiny_224", "CSWin-T.", **_TINY, **_224)
cswin_small_224 = _cswin("cswin_small_224", "CSWin-S.", **_SMALL, **_224)
cswin_base_224 = _cswin("cswin_base_224", "CSWin-B.", **_BASE, **_224)
cswin_large_224 = _cswin("cswin_large_224", "CSWin-L.", **_LARGE, **_224)
cswin_base_384 = _cswin("cswin_base_384", "CSWin-B for images of 384 x 384 pixels.",
    **_BASE, **_384, image_size=384)
cswin_large_384 = _cswin("cswin_large_384", "CSWin-L for images of 384 x 384 pixels.",
    **_LARGE, **_384, image_size=384)
