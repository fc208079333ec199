"""CrossFormer: patches of several sizes, and attention to near and far tokens in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.layers.attention.self_attention import SelfAttention, merge_heads
from flowvision.layers.blocks.patch_embed import check_image_size
from flowvision.layers.blocks.stage import Stage as Stage
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.blocks.window import (
    relative_position_index,
    window_partition,
    window_reverse,
)
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class DynamicPosBias(nn.Module):
    """A network that turns the offset between two tokens into a summand of their scores.

    Input (offsets, 2), output (offsets, num_heads).

    Args:
        dim: four times the number of hidden features.
        num_heads: the number of heads.
        residual: whether the hidden layers are residual branches.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import DynamicPosBias
        >>> DynamicPosBias(16, num_heads=2)(flow.rand(9, 2)).shape
        oneflow.Size([9, 2])
    """

    def __init__(self, dim: int, num_heads: int, residual: bool = False) -> None:
        super().__init__()
        self.residual = residual
        hidden = dim // 4
        self.pos_proj = nn.Linear(2, hidden)
        self.pos1 = _hidden_layer(hidden, hidden)
        self.pos2 = _hidden_layer(hidden, hidden)
        self.pos3 = _hidden_layer(hidden, num_heads)

    def forward(self, biases: Tensor) -> Tensor:
        x = self.pos_proj(biases)
        for layer in (self.pos1, self.pos2):
            x = x + layer(x) if self.residual else layer(x)
        return self.pos3(x)


def _hidden_layer(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.LayerNorm(inputs), nn.ReLU(), nn.Linear(inputs, outputs))


class GroupAttention(SelfAttention):
    """Attention within groups of tokens, whose scores depend on their offsets.

    Input and output (N * groups, group_size * group_size, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        group_size: height and width of a group.
        num_heads: the number of heads.
        **options: see `SelfAttention`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import GroupAttention
        >>> GroupAttention(8, group_size=2, num_heads=2)(flow.rand(3, 4, 8)).shape
        oneflow.Size([3, 4, 8])
    """

    def __init__(self, dim: int, group_size: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.pos = DynamicPosBias(dim // 4, num_heads)
        axis = np.arange(1 - group_size, group_size, dtype=np.float32)
        offsets = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        self.register_buffer("biases", flow.tensor(offsets))
        self.register_buffer(
            "relative_position_index", flow.tensor(relative_position_index(group_size, group_size))
        )

    def forward(self, x: Tensor) -> Tensor:
        bias = self.pos(self.biases)[self.relative_position_index].permute(2, 0, 1)
        heads = self.attend(*self.queries_keys_values(x), mask=bias)
        return self.proj_drop(self.proj(merge_heads(heads)))


class CrossFormerBlock(TransformerBlock):
    """A transformer block whose tokens attend to near ones or to far ones.

    Input and output (N, height * width, dim).

    Args:
        dim: the length of a token.
        input_resolution: height and width of the grid of tokens, multiples of `group_size`. A grid
            no larger than a group is one group.
        num_heads: the number of heads.
        group_size: height and width of a group.
        lsda_flag: 0 for groups of neighbours, 1 for groups spread evenly over the grid.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        drop: the probability with which a feature is dropped.
        **options: see `TransformerBlock`.

    Raises:
        ValueError: if groups do not tile the grid.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CrossFormerBlock
        >>> CrossFormerBlock(8, (4, 4), num_heads=2, group_size=2)(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 16, 8])
    """

    def __init__(
        self,
        dim: int,
        input_resolution: tuple[int, int],
        num_heads: int,
        group_size: int = 7,
        lsda_flag: int = 0,
        *,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        drop: float = 0.0,
        **options: Any,
    ) -> None:
        if min(input_resolution) <= group_size:
            group_size, lsda_flag = min(input_resolution), 0
        if any(size % group_size for size in input_resolution):
            raise ValueError(
                f"groups of {group_size} tokens do not tile a grid of {input_resolution}; choose "
                "another `img_size` or `group_size`"
            )
        attention = GroupAttention(
            dim,
            group_size,
            num_heads,
            qkv_bias=qkv_bias,
            qk_scale=qk_scale,
            attn_drop=attn_drop,
            proj_drop=drop,
        )
        super().__init__(dim, attention, drop=drop, **options)
        self.input_resolution = input_resolution
        self.group_size = group_size
        self.lsda_flag = lsda_flag

    def attend(self, x: Tensor) -> Tensor:
        height, width = self.input_resolution
        size = self.group_size
        # Tokens a fixed interval apart become neighbours by turning the two factors of each side.
        inner = (size, height // size, size, width // size)
        x = self.norm1(x)
        if self.lsda_flag:
            x = x.unflatten(1, inner).permute(0, 2, 1, 4, 3, 5).flatten(1, 4)
        groups = window_partition(x.unflatten(1, (height, width)), size).flatten(1, 2)
        assert self.attn is not None
        groups = self.attn(groups).unflatten(1, (size, size))
        x = window_reverse(groups, size, height, width).flatten(1, 2)
        if self.lsda_flag:
            transposed = (inner[1], inner[0], inner[3], inner[2])
            x = x.unflatten(1, transposed).permute(0, 2, 1, 4, 3, 5).flatten(1, 4)
        return x


class CrossScaleConvs(nn.ModuleList):
    """Convolutions of several kernel sizes with a common stride, each giving a part of a token.

    The first gives half of the token, the next a quarter and so on; the last as much as the one
    before it. Input (N, in_channels, H, W), output (N, H / stride * W / stride, dim).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CrossScaleConvs
        >>> CrossScaleConvs(3, 16, kernel_sizes=(4, 8), stride=4)(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 16, 16])
    """

    def __init__(
        self, in_channels: int, dim: int, kernel_sizes: Sequence[int], stride: int
    ) -> None:
        parts = [dim >> (index + 1) for index in range(len(kernel_sizes) - 1)]
        parts.append(dim - sum(parts))
        super().__init__(
            nn.Conv2d(in_channels, part, size, stride=stride, padding=(size - stride) // 2)
            for part, size in zip(parts, kernel_sizes, strict=True)
        )

    def forward(self, x: Tensor) -> Tensor:
        return flow.cat([convolution(x) for convolution in self], dim=1).flatten(2).transpose(1, 2)


class CrossScaleEmbedding(nn.Module):
    """Patches of several sizes around the same centres, embedded together.

    Input (N, in_chans, H, W), output (N, H / s * W / s, embed_dim), s the first patch size.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CrossScaleEmbedding
        >>> CrossScaleEmbedding((4, 8), 3, 16, norm_layer=None)(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 16, 16])
    """

    def __init__(
        self,
        patch_size: Sequence[int],
        in_chans: int,
        embed_dim: int,
        norm_layer: Callable[[int], nn.Module] | None,
    ) -> None:
        super().__init__()
        self.projs = CrossScaleConvs(in_chans, embed_dim, patch_size, patch_size[0])
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.projs(x))


class PatchMerging(nn.Module):
    """Joins neighbouring tokens to one that is twice as long, from squares of several sizes.

    Input (N, height * width, dim), output (N, height / s * width / s, 2 * dim), s the first size.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import PatchMerging
        >>> PatchMerging((4, 4), 8, patch_size=(2, 4))(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 4, 16])
    """

    def __init__(
        self,
        input_resolution: tuple[int, int],
        dim: int,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        patch_size: Sequence[int] = (2,),
    ) -> None:
        super().__init__()
        self.input_resolution = input_resolution
        self.norm = norm_layer(dim)
        self.reductions = CrossScaleConvs(dim, 2 * dim, patch_size, patch_size[0])

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x).transpose(1, 2)
        return self.reductions(x.unflatten(2, self.input_resolution))


class CrossFormer(ImageClassifier):
    """CrossFormer (https://arxiv.org/abs/2108.00154).

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

    Args:
        img_size: height and width of the images.
        patch_size: heights and widths of the patches around each centre; centres are as far apart
            as the first is long.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token in the first stage; it doubles from stage to stage.
        depths: the number of blocks of each stage.
        num_heads: the number of heads of each stage.
        group_size: height and width of a group of tokens.
        mlp_ratio: the hidden features of a perceptron, as a multiple of the length of a token.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        norm_layer: makes a normalisation from the length of a token.
        patch_norm: whether patches are normalised.
        use_checkpoint: whether blocks run again in the backward pass, which saves memory.
        merge_size: heights and widths of the squares of tokens that are joined after each stage.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.crossformer import CrossFormer
        >>> model = CrossFormer(32, [4, 8], embed_dim=16, depths=[2, 1], num_heads=[1, 2],
        ...                     group_size=4, merge_size=[[2, 4]])
        >>> model(flow.randn(1, 3, 32, 32)).shape
        oneflow.Size([1, 1000])
    """

    def __init__(
        self,
        img_size: int = 224,
        patch_size: Sequence[int] = (4,),
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 96,
        depths: Sequence[int] = (2, 2, 6, 2),
        num_heads: Sequence[int] = (3, 6, 12, 24),
        group_size: int = 7,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.1,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        patch_norm: bool = True,
        use_checkpoint: bool = False,
        merge_size: Sequence[Sequence[int]] = ((2,), (2,), (2,)),
    ) -> None:
        super().__init__()
        self.img_size = img_size
        self.num_features = embed_dim << (len(depths) - 1)
        self.patch_embed = CrossScaleEmbedding(
            patch_size, in_chans, embed_dim, norm_layer if patch_norm else None
        )
        self.pos_drop = nn.Dropout(drop_rate)
        options: dict[str, Any] = {"qkv_bias": qkv_bias, "qk_scale": qk_scale}
        options |= {"attn_drop": attn_drop_rate, "drop": drop_rate}
        options |= {"mlp_ratio": mlp_ratio, "norm_layer": norm_layer}
        rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
        self.layers = nn.ModuleList()
        side = img_size // patch_size[0]
        for stage, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            grid, dim = (side, side), embed_dim << stage
            blocks = [
                CrossFormerBlock(
                    dim, grid, heads, group_size, index % 2, drop_path=next(rates), **options
                )
                for index in range(depth)
            ]
            merging = None
            if stage < len(depths) - 1:
                merging = PatchMerging(grid, dim, norm_layer, merge_size[stage])
                side //= merge_size[stage][0]
            self.layers.append(Stage(blocks, merging, use_checkpoint))
        self.norm = norm_layer(self.num_features)
        self.head = make_head(self.num_features, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        check_image_size(x, (self.img_size, self.img_size))
        x = self.pos_drop(self.patch_embed(x))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x).mean(1)


_CROSS_SCALE: dict[str, Any] = {"patch_size": (4, 8, 16, 32), "merge_size": ((2, 4),) * 3}

_crossformer = ModelFamily(__name__, CrossFormer, paper="2108.00154")

# fmt: off
crossformer_tiny_patch4_group7_224 = _crossformer("crossformer_tiny_patch4_group7_224",
    "CrossFormer-T.", **_CROSS_SCALE, embed_dim=64, depths=(1, 1, 8, 6), num_heads=(2, 4, 8, 16))
crossformer_small_patch4_group7_224 = _crossformer("crossformer_small_patch4_group7_224",
    "CrossFormer-S.", **_CROSS_SCALE, drop_path_rate=0.2)
crossformer_base_patch4_group7_224 = _crossformer("crossformer_base_patch4_group7_224",
    "CrossFormer-B.", **_CROSS_SCALE, depths=(2, 2, 18, 2), drop_path_rate=0.3)
crossformer_large_patch4_group7_224 = _crossformer("crossformer_large_patch4_group7_224",
    "CrossFormer-L.",
    **_CROSS_SCALE, embed_dim=128, depths=(2, 2, 18, 2), num_heads=(4, 8, 16, 32),
    drop_path_rate=0.5)
