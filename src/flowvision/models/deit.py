"""DeiT: Vision Transformers that learn from ImageNet alone, and from a teacher."""

from __future__ import annotations

from typing import Any

from flowvision.models.registry import ModelFamily
from flowvision.models.vision_transformer import VisionTransformer

_TINY: dict[str, Any] = {"embed_dim": 192, "num_heads": 3}
_SMALL: dict[str, Any] = {"embed_dim": 384, "num_heads": 6}
_BASE: dict[str, Any] = {"embed_dim": 768, "num_heads": 12}

_deit = ModelFamily(
    __name__,
    VisionTransformer,
    paper="2012.12877",
    weights="https://dl.fbaipublicfiles.com/deit/{}.pth",
)

# fmt: off
deit_tiny_patch16_224 = _deit("deit_tiny_patch16_224", "DeiT-Ti for images of 224 x 224 pixels.",
    **_TINY, weights="deit_tiny_patch16_224-a1311bcf")
deit_tiny_distilled_patch16_224 = _deit("deit_tiny_distilled_patch16_224",
    "DeiT-Ti with a token for distillation for images of 224 x 224 pixels.",
    **_TINY, distilled=True, weights="deit_tiny_distilled_patch16_224-b40b3cf7")
deit_small_patch16_224 = _deit("deit_small_patch16_224", "DeiT-S for images of 224 x 224 pixels.",
    **_SMALL, weights="deit_small_patch16_224-cd65a155")
deit_small_distilled_patch16_224 = _deit("deit_small_distilled_patch16_224",
    "DeiT-S with a token for distillation for images of 224 x 224 pixels.",
    **_SMALL, distilled=True, weights="deit_small_distilled_patch16_224-649709d9")
deit_base_patch16_224 = _deit("deit_base_patch16_224", "DeiT-B for images of 224 x 224 pixels.",
    **_BASE, weights="deit_base_patch16_224-b5f2ef4d")
deit_base_patch16_384 = _deit("deit_base_patch16_384", "DeiT-B for images of 384 x 384 pixels.",
    **_BASE, img_size=384, weights="deit_base_patch16_384-8de9b5d1")
deit_base_distilled_patch16_224 = _deit("deit_base_distilled_patch16_224",
    "DeiT-B with a token for distillation for images of 224 x 224 pixels.",
    **_BASE, distilled=True, weights="deit_base_distilled_patch16_224-df68dfff")
deit_base_distilled_patch16_384 = _deit("deit_base_distilled_patch16_384",
    "DeiT-B with a token for distillation for images of 384 x 384 pixels.",
    **_BASE, distilled=True, img_size=384, weights="deit_base_distilled_patch16_384-d0272ac0")
