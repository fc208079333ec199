"""Swin Transformer: attention within windows that shift from block to block."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.attention.self_attention import SelfAttention, merge_heads
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.stage import Stage
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.blocks.window import (
    relative_position_index,
    window_partition as window_partition,
    window_reverse as window_reverse,
)
from flowvision.layers.regularization.droppath import drop_path as drop_path, drop_path_rates
from flowvision.layers.weight_init import init_transformer_, learned_tokens
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class WindowAttention(SelfAttention):
    """Attention within windows; the scores know how far tokens are from one another.

    Input and output (N * windows, height * width, dim), the windows of an image one after another.

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        window_size: height and width of a window.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        proj_drop: the probability with which a feature of the output is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import WindowAttention
        >>> WindowAttention(8, (2, 2), num_heads=2)(flow.rand(3, 4, 8)).shape
        oneflow.Size([3, 4, 8])
    """

    def __init__(
        self,
        dim: int,
        window_size: tuple[int, int],
        num_heads: int,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
    ) -> None:
        super().__init__(dim, num_heads, qkv_bias, attn_drop, proj_drop, qk_scale)
        height, width = window_size
        offsets = (2 * height - 1) * (2 * width - 1)
        self.relative_position_bias_table = nn.Parameter(flow.zeros(offsets, num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)
        self.register_buffer(
            "relative_position_index", flow.tensor(relative_position_index(height, width))
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix the tokens of each window.

        Args:
            x: the tokens.
            mask: added to the scores, of shape (windows, tokens, tokens).
        """
        heads = self.queries_keys_values(x)
        bias = self.relative_position_bias_table[self.relative_position_index].permute(2, 0, 1)
        if mask is not None:
            bias = bias + mask.unsqueeze(1)
            heads = [tokens.unflatten(0, (-1, len(mask))) for tokens in heads]
        mixed = self.attend(*heads, mask=bias)
        if mask is not None:
            mixed = mixed.flatten(0, 1)
        return self.proj_drop(self.proj(merge_heads(mixed)))


def shift_mask(resolution: tuple[int, int], window_size: int, shift_size: int) -> Tensor:
    """Return what keeps tokens apart that only the shift has brought into one window.

    Returns:
        Tensor of shape (windows, tokens, tokens), 0 where two tokens are neighbours in the image,
        -100 where they come from opposite edges.

    Example:
        >>> from flowvision.models import shift_mask
        >>> shift_mask((4, 4), window_size=2, shift_size=1).shape
        oneflow.Size([4, 4, 4])
    """
    slices = (slice(-window_size), slice(-window_size, -shift_size), slice(-shift_size, None))
    regions = flow.zeros(1, *resolution, 1)
    for region, (rows, columns) in enumerate(itertools.product(slices, slices)):
        regions[:, rows, columns] = region
    windows = window_partition(regions, window_size).flatten(1)
    return (windows.unsqueeze(1) != windows.unsqueeze(2)).float() * -100.0


class SwinTransformerBlock(TransformerBlock):
    """A transformer block whose attention is confined to windows, shifted in every other block.

    Input and output (N, height * width, dim).

    Args:
        dim: the length of a token.
        input_resolution: height and width of the grid of tokens, multiples of the window's. A grid
            no larger than a window is one window.
        num_heads: the number of heads.
        window_size: height and width of a window.
        shift_size: by how much the windows are shifted, less than their size.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        drop: the probability with which a feature is dropped.
        **options: see `TransformerBlock`.

    Raises:
        ValueError: if windows do not tile the grid.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SwinTransformerBlock
        >>> block = SwinTransformerBlock(8, (4, 4), num_heads=2, window_size=2, shift_size=1)
        >>> block(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 16, 8])
    """

    def __init__(
        self,
        dim: int,
        input_resolution: tuple[int, int],
        num_heads: int,
        window_size: int = 7,
        shift_size: int = 0,
        *,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        drop: float = 0.0,
        **options: Any,
    ) -> None:
        if min(input_resolution) <= window_size:
            window_size, shift_size = min(input_resolution), 0
        if any(size % window_size for size in input_resolution):
            raise ValueError(
                f"windows of {window_size} tokens do not tile a grid of {input_resolution}; choose "
                "another `img_size` or `window_size`"
            )
        attention = WindowAttention(
            dim, (window_size, window_size), num_heads, qkv_bias, qk_scale, attn_drop, drop
        )
        super().__init__(dim, attention, drop=drop, **options)
        self.input_resolution = input_resolution
        self.window_size = window_size
        self.shift_size = shift_size
        self.register_buffer(
            "attn_mask",
            shift_mask(input_resolution, window_size, shift_size) if shift_size else None,
        )

    def attend(self, x: Tensor) -> Tensor:
        x = self.norm1(x).unflatten(1, self.input_resolution)
        if self.shift_size:
            x = flow.roll(x, (-self.shift_size, -self.shift_size), (1, 2))
        windows = window_partition(x, self.window_size).flatten(1, 2)
        assert self.attn is not None
        windows = self.attn(windows, self.attn_mask)
        windows = windows.unflatten(1, (self.window_size, self.window_size))
        x = window_reverse(windows, self.window_size, *self.input_resolution)
        if self.shift_size:
            x = flow.roll(x, (self.shift_size, self.shift_size), (1, 2))
        return x.flatten(1, 2)


class PatchReduction(nn.Module):
    """Joins four neighbouring tokens to one that is twice as long.

    Input (N, height * width, dim), output (N, height / 2 * width / 2, 2 * dim).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import PatchReduction
        >>> PatchReduction((4, 4), 8)(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 4, 16])
    """

    def __init__(
        self,
        input_resolution: tuple[int, int],
        dim: int,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.input_resolution = input_resolution
        self.norm = norm_layer(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        height, width = self.input_resolution
        x = x.reshape(x.shape[0], height // 2, 2, width // 2, 2, -1)
        x = x.permute(0, 1, 3, 4, 2, 5)  # column by column within each square
        return self.reduction(self.norm(x.flatten(3).flatten(1, 2)))


class BasicLayer(Stage):
    """A stage: blocks whose windows are shifted in every other one, and the way to the next grid.

    Input (N, height * width, dim); output the same, or what `downsample` makes of it.

    Args:
        dim: the length of a token.
        input_resolution: height and width of the grid of tokens.
        depth: the number of blocks.
        num_heads: the number of heads.
        window_size: height and width of a window, in tokens.
        drop_path: the probability with which a branch of each block is left out.
        norm_layer: makes a normalisation from the length of a token.
        downsample: makes what follows the blocks, such as `PatchReduction`; None in the last stage.
        use_checkpoint: see `Stage`.
        **options: see `SwinTransformerBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import BasicLayer
        >>> layer = BasicLayer(8, (4, 4), depth=2, num_heads=2, window_size=2)
        >>> layer(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 16, 8])
    """

    def __init__(
        self,
        dim: int,
        input_resolution: tuple[int, int],
        depth: int,
        num_heads: int,
        window_size: int,
        *,
        drop_path: Sequence[float] = (),
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        downsample: Callable[..., nn.Module] | None = None,
        use_checkpoint: bool = False,
        **options: Any,
    ) -> None:
        options["norm_layer"] = norm_layer
        blocks = [
            SwinTransformerBlock(
                dim,
                input_resolution,
                num_heads,
                window_size,
                window_size // 2 if index % 2 else 0,
                drop_path=drop_path[index] if drop_path else 0.0,
                **options,
            )
            for index in range(depth)
        ]
        last = downsample and downsample(input_resolution, dim, norm_layer)
        super().__init__(blocks, last, use_checkpoint)


class SwinTransformer(ImageClassifier):
    """Swin Transformer (https://arxiv.org/abs/2103.14030).

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

    Args:
        img_size: height and width of the images.
        patch_size: height and width of a patch.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token in the first stage; it doubles from stage to stage.
        depths: the number of blocks of each stage.
        num_heads: the number of heads of each stage.
        window_size: height and width of a window, in tokens.
        mlp_ratio: the hidden features of a perceptron, as a multiple of the length of a token.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        norm_layer: makes a normalisation from the length of a token.
        ape: whether an embedding of the absolute position is added to each patch.
        patch_norm: whether patches are normalised.
        use_checkpoint: whether blocks run again in the backward pass, which saves memory.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.swin_transformer import SwinTransformer
        >>> model = SwinTransformer(32, 4, embed_dim=8, depths=[2], num_heads=[2], window_size=4)
        >>> model(flow.randn(1, 3, 32, 32)).shape
        oneflow.Size([1, 1000])
    """

    def __init__(
        self,
        img_size: int = 224,
        patch_size: int = 4,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 96,
        depths: Sequence[int] = (2, 2, 6, 2),
        num_heads: Sequence[int] = (3, 6, 12, 24),
        window_size: int = 7,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.1,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        ape: bool = False,
        patch_norm: bool = True,
        use_checkpoint: bool = False,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim * 2 ** (len(depths) - 1)
        norm = norm_layer if patch_norm else None
        self.patch_embed = PatchEmbed(img_size, patch_size, in_chans, embed_dim, norm)
        patches = self.patch_embed.num_patches
        self.absolute_pos_embed = learned_tokens(patches, embed_dim) if ape else None
        self.pos_drop = nn.Dropout(drop_rate)
        options: dict[str, Any] = {"qkv_bias": qkv_bias, "qk_scale": qk_scale, "drop": drop_rate}
        options |= {"attn_drop": attn_drop_rate, "mlp_ratio": mlp_ratio, "norm_layer": norm_layer}
        options["use_checkpoint"] = use_checkpoint
        self.layers = nn.ModuleList()
        rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
        rows, columns = self.patch_embed.grid_size
        for stage, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            self.layers.append(
                BasicLayer(
                    embed_dim << stage,
                    (rows >> stage, columns >> stage),
                    depth,
                    heads,
                    window_size,
                    drop_path=list(itertools.islice(rates, depth)),
                    downsample=PatchReduction if stage < len(depths) - 1 else None,
                    **options,
                )
            )
        self.norm = norm_layer(self.num_features)
        self.head = make_head(self.num_features, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x)
        if self.absolute_pos_embed is not None:
            x = x + self.absolute_pos_embed
        x = self.pos_drop(x)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x).mean(1)


_BASE: dict[str, Any] = {"embed_dim": 128, "depths": (2, 2, 18, 2), "num_heads": (4, 8, 16, 32)}
_LARGE: dict[str, Any] = {"embed_dim": 192, "depths": (2, 2, 18, 2), "num_heads": (6, 12, 24, 48)}
_384: dict[str, Any] = {"img_size": 384, "window_size": 12}

_swin = ModelFamily(__name__, SwinTransformer, paper="2103.14030")

# fmt: off
swin_tiny_patch4_window7_224 = _swin("swin_tiny_patch4_window7_224", "Swin-T.", drop_path_rate=0.2)
swin_small_patch4_window7_224 = _swin("swin_small_patch4_window7_224", "Swin-S.",
    depths=(2, 2, 18, 2), drop_path_rate=0.3)
swin_base_patch4_window7_224 = _swin("swin_base_patch4_window7_224", "Swin-B.",
    **_BASE, drop_path_rate=0.5)
swin_base_patch4_window12_384 = _swin("swin_base_patch4_window12_384",
    "Swin-B for images of 384 x 384 pixels.", **_BASE, **_384, image_size=384)
swin_base_patch4_window7_224_in22k_to_1k = _swin("swin_base_patch4_window7_224_in22k_to_1k",
    "Swin-B, pretrained on ImageNet-22k.", **_BASE)
swin_base_patch4_window12_384_in22k_to_1k = _swin("swin_base_patch4_window12_384_in22k_to_1k",
    "Swin-B for images of 384 x 384 pixels, pretrained on ImageNet-22k.",
    **_BASE, **_384, image_size=384)
swin_large_patch4_window7_224_in22k_to_1k = _swin("swin_large_patch4_window7_224_in22k_to_1k",
    "Swin-L, pretrained on ImageNet-22k.", **_LARGE)
swin_large_patch4_window12_384_in22k_to_1k = _swin("swin_large_patch4_window12_384_in22k_to_1k",
    "Swin-L for images of 384 x 384 pixels, pretrained on ImageNet-22k.",
    **_LARGE, **_384, image_size=384)
