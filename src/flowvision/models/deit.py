"""DeiT: Vision Transformers that learn from ImageNet alone, and from a teacher."""

from __future__ import annotations

from typing import Any

from flowvision.models.image_classifier import configure
from flowvision.models.registry import register_model
from flowvision.models.vision_transformer import VisionTransformer

_PAPER = "2012.12877"
_WEIGHTS = "https://dl.fbaipublicfiles.com/deit"
_TINY: dict[str, Any] = {"embed_dim": 192, "num_heads": 3}
_SMALL: dict[str, Any] = {"embed_dim": 384, "num_heads": 6}
_BASE: dict[str, Any] = {"embed_dim": 768, "num_heads": 12}


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_tiny_patch16_224-a1311bcf.pth")
def deit_tiny_patch16_224(**kwargs: Any) -> VisionTransformer:
    """DeiT-Ti for images of 224 x 224 pixels."""
    return configure(VisionTransformer, kwargs, _TINY)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_tiny_distilled_patch16_224-b40b3cf7.pth")
def deit_tiny_distilled_patch16_224(**kwargs: Any) -> VisionTransformer:
    """DeiT-Ti with a token for distillation for images of 224 x 224 pixels."""
    return configure(VisionTransformer, kwargs, _TINY, distilled=True)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_small_patch16_224-cd65a155.pth")
def deit_small_patch16_224(**kwargs: Any) -> VisionTransformer:
    """DeiT-S for images of 224 x 224 pixels."""
    return configure(VisionTransformer, kwargs, _SMALL)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_small_distilled_patch16_224-649709d9.pth")
def deit_small_distilled_patch16_224(**kwargs: Any) -> VisionTransformer:
    """DeiT-S with a token for distillation for images of 224 x 224 pixels."""
    return configure(VisionTransformer, kwargs, _SMALL, distilled=True)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_base_patch16_224-b5f2ef4d.pth")
def deit_base_patch16_224(**kwargs: Any) -> VisionTransformer:
    """DeiT-B for images of 224 x 224 pixels."""
    return configure(VisionTransformer, kwargs, _BASE)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_base_patch16_384-8de9b5d1.pth", image_size=384)
def deit_base_patch16_384(**kwargs: Any) -> VisionTransformer:
    """DeiT-B for images of 384 x 384 pixels."""
    return configure(VisionTransformer, kwargs, _BASE, img_size=384)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/deit_base_distilled_patch16_224-df68dfff.pth")
def deit_base_distilled_patch16_224(**kwargs: Any) -> VisionTransformer:
    """DeiT-B with a token for distillation for images of 224 x 224 pixels."""
    return configure(VisionTransformer, kwargs, _BASE, distilled=True)


@register_model(
    paper=_PAPER, url=f"{_WEIGHTS}/deit_base_distilled_patch16_384-d0272ac0.pth", image_size=384
)
def deit_base_distilled_patch16_384(**kwargs: Any) -> VisionTransformer:
    """DeiT-B with a token for distillation for images of 384 x 384 pixels."""
    return configure(VisionTransformer, kwargs, _BASE, distilled=True, img_size=384)
