"""ResMLP: residual perceptrons; positions are mixed by a single linear map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class Affine(nn.Module):
    """``alpha * x + beta`` with a factor and an addend for each feature.

    Input and output (..., dim).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Affine
        >>> Affine(8)(flow.rand(2, 5, 8)).shape
        oneflow.Size([2, 5, 8])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(flow.ones(dim))
        self.beta = nn.Parameter(flow.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.alpha * x + self.beta


class CrossPatchLinear(nn.Linear):
    """A linear map over the tokens, the same for each feature.

    Input (N, in_features, C), output (N, out_features, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CrossPatchLinear
        >>> CrossPatchLinear(6, 3)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 3, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.transpose(1, 2)).transpose(1, 2)


class layers_scale_mlp_blocks(TransformerBlock):
    """A linear map over the tokens and a perceptron, each a branch with learned factors.

    Input and output (N, num_patches, dim).

    Args:
        dim: the length of a token.
        drop: the probability with which a feature is dropped in the perceptron.
        drop_path: the probability with which a branch is left out.
        act_layer: makes the activation of the perceptron.
        init_values: what the learned factors begin with.
        num_patches: the number of tokens.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import layers_scale_mlp_blocks
        >>> layers_scale_mlp_blocks(8, num_patches=6)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        drop: float = 0.0,
        drop_path: float = 0.0,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        init_values: float = 1e-4,
        num_patches: int = 196,
    ) -> None:
        super().__init__(
            dim,
            CrossPatchLinear(num_patches, num_patches),
            drop=drop,
            drop_path=drop_path,
            norm_layer=Affine,
            act_layer=act_layer,
            layer_scale=init_values,
        )


class ResMLP(ImageClassifier):
    """ResMLP (https://arxiv.org/abs/2105.03404).

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

    Args:
        img_size: height and width of the images.
        patch_size: height and width of a patch.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token.
        depth: the number of blocks.
        drop_rate: the probability with which a feature is dropped.
        Patch_layer: makes the embedding; see `PatchEmbed`.
        act_layer: makes the activation of a perceptron.
        drop_path_rate: the probability with which a branch is left out, in each block.
        init_scale: what the learned factors of the branches begin with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.res_mlp import ResMLP
        >>> ResMLP(32, 8, num_classes=5, embed_dim=16, depth=2)(flow.randn(2, 3, 32, 32)).shape
        oneflow.Size([2, 5])
    """

    def __init__(
        self,
        img_size: int = 224,
        patch_size: int = 16,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 768,
        depth: int = 12,
        drop_rate: float = 0.0,
        Patch_layer: Callable[..., PatchEmbed] = PatchEmbed,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        drop_path_rate: float = 0.0,
        init_scale: float = 1e-4,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim
        self.patch_embed = Patch_layer(img_size, patch_size, in_chans, embed_dim)
        patches = self.patch_embed.num_patches
        self.blocks = nn.ModuleList(
            layers_scale_mlp_blocks(
                embed_dim, drop_rate, drop_path_rate, act_layer, init_scale, patches
            )
            for _ in range(depth)
        )
        self.norm = Affine(embed_dim)
        self.head = make_head(embed_dim, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x).mean(1)


_12: dict[str, Any] = {"embed_dim": 384, "depth": 12, "init_scale": 0.1}
_24: dict[str, Any] = {"embed_dim": 384, "depth": 24, "init_scale": 1e-5}
_36: dict[str, Any] = {"embed_dim": 384, "depth": 36, "init_scale": 1e-6}
_BIG_24: dict[str, Any] = {"patch_size": 8, "embed_dim": 768, "depth": 24, "init_scale": 1e-6}

_res_mlp = ModelFamily(__name__, ResMLP, paper="2105.03404")

# fmt: off
resmlp_12_224 = _res_mlp("resmlp_12_224", "ResMLP-S12.", **_12, aliases=("resmlp_12",))
resmlp_12_distilled_224 = _res_mlp("resmlp_12_distilled_224", "ResMLP-S12, trained with a teacher.",
    **_12, aliases=("resmlp_12_dist",))
resmlp_12_224_dino = _res_mlp("resmlp_12_224_dino", "ResMLP-S12, trained without labels by DINO.",
    **_12)
resmlp_24_224 = _res_mlp("resmlp_24_224", "ResMLP-S24.", **_24, aliases=("resmlp_24",))
resmlp_24_distilled_224 = _res_mlp("resmlp_24_distilled_224", "ResMLP-S24, trained with a teacher.",
    **_24, aliases=("resmlp_24_dist",))
resmlp_24_224_dino = _res_mlp("resmlp_24_224_dino", "ResMLP-S24, trained without labels by DINO.",
    **_24, aliases=("resmlp_24_dino",))
resmlp_36_224 = _res_mlp("resmlp_36_224", "ResMLP-S36.", **_36, aliases=("resmlp_36",))
resmlp_36_distilled_224 = _res_mlp("resmlp_36_distilled_224", "ResMLP-S36, trained with a teacher.",
    **_36, aliases=("resmlp_36_dist",))
resmlp_big_24_224 = _res_mlp("resmlp_big_24_224", "ResMLP-B24.", **_BIG_24, aliases=("resmlpB_24",))
resmlp_big_24_distilled_224 = _res_mlp("resmlp_big_24_distilled_224",
    "ResMLP-B24, trained with a teacher.", **_BIG_24, aliases=("resmlpB_24_dist",))
resmlp_big_24_224_in22k_to_1k = _res_mlp("resmlp_big_24_224_in22k_to_1k",
    "ResMLP-B24, pretrained on ImageNet-22k.", **_BIG_24, aliases=("resmlpB_24_in22k",))
