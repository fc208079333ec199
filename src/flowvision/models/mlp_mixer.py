"""MLP-Mixer and gMLP: perceptrons over channels and over positions, and no attention."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

from flowvision.layers.blocks.mlp import GatedMlp as GatedMlp, Mlp
from flowvision.layers.blocks.patch_embed import PatchEmbed, to_2tuple
from flowvision.layers.regularization.droppath import DropPath, drop_path_rates
from flowvision.layers.regularization.norm import layer_norm
from flowvision.layers.weight_init import lecun_normal_
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class MixerBlock(nn.Module):
    """A perceptron over the tokens and one over their features, each a residual branch.

    Input and output (N, num_patches, dim).

    Args:
        dim: the length of a token.
        num_patches: the number of tokens.
        mlp_ratio: the hidden features of the two perceptrons, as multiples of `dim`.
        mlp_layer: makes a perceptron from the features of its input and its hidden features.
        norm_layer: makes a normalisation from `dim`.
        act_layer: makes the activation of a perceptron.
        drop: the probability with which a feature is dropped.
        drop_path: the probability with which a branch is left out.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import MixerBlock
        >>> MixerBlock(8, num_patches=6)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_patches: int,
        mlp_ratio: tuple[float, float] = (0.5, 4.0),
        mlp_layer: Callable[..., nn.Module] = Mlp,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        drop: float = 0.0,
        drop_path: float = 0.0,
    ) -> None:
        super().__init__()
        tokens_dim, channels_dim = (int(ratio * dim) for ratio in mlp_ratio)
        self.norm1 = norm_layer(dim)
        self.mlp_tokens = mlp_layer(num_patches, tokens_dim, act_layer=act_layer, drop=drop)
        self.drop_path = DropPath(drop_path)
        self.norm2 = norm_layer(dim)
        self.mlp_channels = mlp_layer(dim, channels_dim, act_layer=act_layer, drop=drop)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.mlp_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2))
        return x + self.drop_path(self.mlp_channels(self.norm2(x)))


class SpatialGatingUnit(nn.Module):
    """A gate: one half of the features, mixed over the positions, is multiplied with the other.

    Input (N, num_patches, dim), output (N, num_patches, dim / 2).

    Args:
        dim: the length of a token, an even number.
        num_patches: the number of tokens.
        norm_layer: makes a normalisation from ``dim / 2``.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SpatialGatingUnit
        >>> SpatialGatingUnit(8, num_patches=6)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 4])
    """

    def __init__(
        self, dim: int, num_patches: int, norm_layer: Callable[[int], nn.Module] = nn.LayerNorm
    ) -> None:
        super().__init__()
        self.norm = norm_layer(dim // 2)
        self.proj = nn.Linear(num_patches, num_patches)

    def init_weights(self) -> None:
        """Open the gate: every factor becomes almost 1."""
        nn.init.normal_(self.proj.weight, std=1e-6)
        assert self.proj.bias is not None
        nn.init.ones_(self.proj.bias)

    def forward(self, x: Tensor) -> Tensor:
        values, gate = x.chunk(2, dim=-1)
        gate = self.proj(self.norm(gate).transpose(1, 2)).transpose(1, 2)
        return values * gate


class SpatialGatingBlock(nn.Module):
    """The block of gMLP: a perceptron with a gate that mixes tokens, as a residual branch.

    Input and output (N, num_patches, dim).

    Args:
        dim: the length of a token.
        num_patches: the number of tokens.
        mlp_ratio: the hidden features of the perceptron, as a multiple of `dim`.
        mlp_layer: makes the perceptron from `dim` and its hidden features.
        norm_layer: makes a normalisation from `dim`.
        act_layer: makes the activation of the perceptron.
        drop: the probability with which a feature is dropped.
        drop_path: the probability with which the branch is left out.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SpatialGatingBlock
        >>> SpatialGatingBlock(8, num_patches=6)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_patches: int,
        mlp_ratio: float = 4.0,
        mlp_layer: Callable[..., nn.Module] = GatedMlp,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        drop: float = 0.0,
        drop_path: float = 0.0,
    ) -> None:
        super().__init__()
        self.norm = norm_layer(dim)
        self.mlp_channels = mlp_layer(
            dim,
            int(dim * mlp_ratio),
            act_layer=act_layer,
            gate_layer=functools.partial(SpatialGatingUnit, num_patches=num_patches),
            drop=drop,
        )
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.drop_path(self.mlp_channels(self.norm(x)))


class MlpMixer(ImageClassifier):
    """MLP-Mixer (https://arxiv.org/abs/2105.01601); gMLP (https://arxiv.org/abs/2105.08050).

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

    Args:
        num_classes: the number of classes; 0 gives features.
        img_size: height and width of the images.
        in_chans: the number of channels of the images.
        patch_size: height and width of a patch.
        num_blocks: the number of blocks.
        embed_dim: the length of a token.
        mlp_ratio: see the block.
        block_layer: `MixerBlock`, or `SpatialGatingBlock` for gMLP.
        mlp_layer: makes a perceptron of a block, by default the block's own.
        norm_layer: makes a normalisation from `embed_dim`.
        act_layer: makes the activation of a perceptron.
        drop_rate: the probability with which a feature is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        nlhb: whether all classes are equally probable at first if each is judged on its own: the
            head's biases begin at the negative logarithm of their number.
        stem_norm: whether patches are normalised, too.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.mlp_mixer import MlpMixer
        >>> model = MlpMixer(5, img_size=32, patch_size=8, num_blocks=2, embed_dim=16)
        >>> model(flow.randn(2, 3, 32, 32)).shape
        oneflow.Size([2, 5])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        img_size: int = 224,
        in_chans: int = 3,
        patch_size: int = 16,
        num_blocks: int = 8,
        embed_dim: int = 512,
        mlp_ratio: float | tuple[float, float] = (0.5, 4.0),
        block_layer: Callable[..., nn.Module] = MixerBlock,
        mlp_layer: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        nlhb: bool = False,
        stem_norm: bool = False,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim
        self.stem = PatchEmbed(
            img_size, patch_size, in_chans, embed_dim, norm_layer if stem_norm else None
        )
        if mlp_layer is not None:
            block_layer = functools.partial(block_layer, mlp_layer=mlp_layer)
        self.blocks = nn.Sequential(
            *[
                block_layer(
                    embed_dim,
                    self.stem.num_patches,
                    mlp_ratio,
                    norm_layer=norm_layer,
                    act_layer=act_layer,
                    drop=drop_rate,
                    drop_path=rate,
                )
                for rate in drop_path_rates(drop_path_rate, num_blocks)
            ]
        )
        self.norm = norm_layer(embed_dim)
        self.head = make_head(embed_dim, num_classes)
        self.init_weights(nlhb)

    def init_weights(self, nlhb: bool = False) -> None:
        """Draw all weights afresh; the head begins at zero, or with the biases of `nlhb`."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Conv2d):
                lecun_normal_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if "mlp" in name:
                    nn.init.normal_(module.bias, std=1e-6)
                else:
                    nn.init.zeros_(module.weight)
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, SpatialGatingUnit):
                module.init_weights()
        if nlhb and isinstance(self.head, nn.Linear):
            nn.init.constant_(self.head.bias, -math.log(self.head.out_features))

    def forward_features(self, x: Tensor) -> Tensor:
        return self.norm(self.blocks(self.stem(x))).mean(1)


pair = to_2tuple  # upstream's name
_SMALL: dict[str, Any] = {"num_blocks": 8, "embed_dim": 512}
_BASE: dict[str, Any] = {"num_blocks": 12, "embed_dim": 768}
_LARGE: dict[str, Any] = {"num_blocks": 24, "embed_dim": 1024}
_GATED: dict[str, Any] = {"num_blocks": 30, "mlp_ratio": 6.0, "block_layer": SpatialGatingBlock}

_mixer = ModelFamily(
    __name__,
    MlpMixer,
    paper="2105.01601",
    weights="https://github.com/rwightman/pytorch-image-models/releases/download/{}.pth",
)
_gmlp = dataclasses.replace(_mixer, paper="2105.08050")

# fmt: off
mlp_mixer_s16_224 = _mixer("mlp_mixer_s16_224", "Mixer-S/16.", **_SMALL)
mlp_mixer_s32_224 = _mixer("mlp_mixer_s32_224", "Mixer-S/32.", **_SMALL, patch_size=32)
mlp_mixer_b16_224 = _mixer("mlp_mixer_b16_224", "Mixer-B/16.",
    **_BASE, weights="v0.1-vitjx/jx_mixer_b16_224-76587d61")
mlp_mixer_b32_224 = _mixer("mlp_mixer_b32_224", "Mixer-B/32.", **_BASE, patch_size=32)
mlp_mixer_b16_224_in21k = _mixer("mlp_mixer_b16_224_in21k", "Mixer-B/16, trained on ImageNet-21k.",
    **_BASE, num_classes=21843, weights="v0.1-vitjx/jx_mixer_b16_224_in21k-617b3de2")
mlp_mixer_l16_224 = _mixer("mlp_mixer_l16_224", "Mixer-L/16.",
    **_LARGE, weights="v0.1-vitjx/jx_mixer_l16_224-92f9adc4")
mlp_mixer_l32_224 = _mixer("mlp_mixer_l32_224", "Mixer-L/32.", **_LARGE, patch_size=32)
mlp_mixer_l16_224_in21k = _mixer("mlp_mixer_l16_224_in21k", "Mixer-L/16, trained on ImageNet-21k.",
    **_LARGE, num_classes=21843, weights="v0.1-vitjx/jx_mixer_l16_224_in21k-846aa33c")
mlp_mixer_b16_224_miil = _mixer("mlp_mixer_b16_224_miil", "Mixer-B/16, trained by Alibaba MIIL.",
    **_BASE, weights="v0.1-tresnet/mixer_b16_224_miil-9229a591")
mlp_mixer_b16_224_miil_in21k = _mixer("mlp_mixer_b16_224_miil_in21k",
    "Mixer-B/16, trained by Alibaba MIIL on ImageNet-21k.",
    **_BASE, num_classes=11221, weights="v0.1-tresnet/mixer_b16_224_miil_in21k-2a558a71")
gmlp_ti16_224 = _gmlp("gmlp_ti16_224", "gMLP-Ti/16.", **_GATED, embed_dim=128)
gmlp_s16_224 = _gmlp("gmlp_s16_224", "gMLP-S/16.",
    **_GATED, embed_dim=256, weights="v0.1-weights/gmlp_s16_224_raa-10536d42")
gmlp_b16_224 = _gmlp("gmlp_b16_224", "gMLP-B/16.", **_GATED, embed_dim=512)
