"""Image and text models of open_clip, and its losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import open_clip
import torch
from open_clip.loss import ClipLoss, CoCaLoss, DistillClipLoss, SigLipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg, CustomTextCLIP
from tools.third_party.measure import array, arrays, integers, numbers, step

_TEXT = {"context_length": 8, "vocab_size": 40, "width": 16, "heads": 2, "layers": 2}
_VISION = {"image_size": 16, "patch_size": 8, "width": 16, "head_width": 8, "layers": 2}
_MODELS: dict[str, Callable[[], torch.nn.Module]] = {
    "CLIP": lambda: CLIP(8, CLIPVisionCfg(**_VISION), CLIPTextCfg(**_TEXT)),
    "CLIP quick gelu": lambda: CLIP(
        8, CLIPVisionCfg(**_VISION), CLIPTextCfg(**_TEXT), quick_gelu=True
    ),
    "ResNet": lambda: CLIP(
        8,
        CLIPVisionCfg(layers=(1, 1, 1, 1), width=8, image_size=32, head_width=8),
        CLIPTextCfg(**_TEXT),
    ),
    "CustomTextCLIP": lambda: CustomTextCLIP(8, CLIPVisionCfg(**_VISION), CLIPTextCfg(**_TEXT)),
    "pooled": lambda: CustomTextCLIP(
        8,
        CLIPVisionCfg(**_VISION, attentional_pool=True, attn_pooler_heads=2),
        CLIPTextCfg(**_TEXT, pool_type="last"),
    ),
}
_FEATURES = ("image", "text", "teacher image", "teacher text")


def _images(size: int) -> torch.Tensor:
    return numbers(3, 3, size, size)


def _model(name: str) -> dict[str, Any]:
    model = _MODELS[name]()
    images, tokens = _images(32 if name == "ResNet" else 16), integers(3, 8, below=40)

    def call(module: Any) -> Any:
        image, text, scale = module(images, tokens)[:3]
        return ClipLoss()(image, text, scale), image, text

    return step(model, call, training=True)


def _features() -> list[torch.Tensor]:
    return [
        torch.nn.functional.normalize(numbers(4, 6, seed=seed), dim=1).requires_grad_()
        for seed, _ in enumerate(_FEATURES)
    ]


_LOSSES: dict[str, Callable[..., Any]] = {
    "contrastive": lambda i, t, *_: ClipLoss()(i, t, torch.tensor(10.0)),
    "sigmoid": lambda i, t, *_: SigLipLoss()(i, t, torch.tensor(10.0), torch.tensor(-5.0)),
    "distillation": lambda i, t, di, dt: DistillClipLoss()(
        i, t, torch.tensor(10.0), di, dt, torch.tensor(20.0)
    ),
    "caption": lambda i, t, *_: CoCaLoss(1.0, 1.0)(
        i, t, numbers(4, 5, 9, seed=9), integers(4, 5, below=9), torch.tensor(10.0)
    ),
}


def _loss(name: str) -> dict[str, Any]:
    features = _features()
    value = _LOSSES[name](*features)
    parts = list(value) if isinstance(value, tuple) else [value]
    torch.stack(parts).sum().backward()
    gradients = [member.grad for member in features if member.grad is not None]
    return {**arrays(parts), **arrays(gradients, "gradient")}


def _tokens() -> dict[str, Any]:
    tokenizer = open_clip.get_tokenizer("RN50")
    return {"tokens": array(tokenizer(["a photograph of a cat", "two dogs"]))}


CASES = {
    **{name: partial(_model, name) for name in _MODELS},
    **{f"loss {name}": partial(_loss, name) for name in _LOSSES},
    "tokens": _tokens,
}
