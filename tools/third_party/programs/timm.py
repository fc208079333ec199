"""Small models and all optimizers of timm."""

from __future__ import annotations

from functools import partial
from typing import Any

import timm.optim
import torch
from tools.third_party.measure import numbers, set_values, step

_MODELS = {
    "resnet10t": {},
    "resnetv2_50": {"layers": (1, 1, 1, 1), "channels": (16, 32, 64, 128)},
    "convnext_atto": {"depths": (1, 1, 1, 1), "dims": (8, 16, 32, 64)},
    "efficientnet_lite0": {},
    "mobilenetv3_small_050": {},
    "regnetx_002": {},
    "densenet121": {"block_config": (1, 1, 1, 1)},
    "tinynet_e": {},
    "repvgg_a0": {},
    "ghostnet_050": {},
    "vit_tiny_patch16_224": {"depth": 2, "img_size": 32},
    "deit_tiny_distilled_patch16_224": {"depth": 2, "img_size": 32},
    "swin_tiny_patch4_window7_224": {
        "depths": (1, 1),
        "num_heads": (2, 4),
        "embed_dim": 16,
        "img_size": 56,
    },
    "beit_base_patch16_224": {"depth": 2, "img_size": 32, "embed_dim": 48, "num_heads": 4},
    "mixer_s32_224": {"img_size": 64},
    "poolformer_s12": {},
    "edgenext_xx_small": {"depths": (1, 1, 2, 1)},
    "xcit_nano_12_p16_224": {"depth": 2, "img_size": 32},
    "cait_xxs24_224": {"depth": 2, "img_size": 32},
    "maxvit_rmlp_pico_rw_256": {"img_size": 64},
    "eva02_tiny_patch14_224": {"depth": 2, "img_size": 28},
    "fastvit_t8": {"layers": (1, 1, 1, 1)},
}
_SIZES = {
    "vit_tiny_patch16_224": 32,
    "deit_tiny_distilled_patch16_224": 32,
    "swin_tiny_patch4_window7_224": 56,
    "beit_base_patch16_224": 32,
    "xcit_nano_12_p16_224": 32,
    "cait_xxs24_224": 32,
    "eva02_tiny_patch14_224": 28,
}
_TRAINED = ("resnet10t", "mobilenetv3_small_050", "convnext_atto", "vit_tiny_patch16_224")
#: They draw numbers, or need a second forward pass.
_LEFT_OUT = ("bnb", "fused", "kron", "adahessian")


def _model(name: str, *, training: bool = False) -> dict[str, Any]:
    model = timm.create_model(name, num_classes=5, **_MODELS[name])
    images = numbers(2, 3, *[_SIZES.get(name, 64)] * 2)
    return step(model, lambda module: module(images), training=training)


def _features(name: str) -> dict[str, Any]:
    model = timm.create_model(name, features_only=True)
    images = numbers(2, 3, 64, 64)
    return step(model, lambda module: module(images))


def _optimizer(name: str) -> dict[str, Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 5)
    ).double()
    set_values(model)
    optimizer = timm.optim.create_optimizer_v2(model, opt=name, lr=0.01, weight_decay=0.05)
    images = numbers(2, 3, 6, 6)
    for _ in range(3):
        loss = model(images).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {
        f"after: {name}": parameter.detach().numpy() for name, parameter in model.named_parameters()
    }


CASES = {
    **{name: partial(_model, name) for name in _MODELS},
    **{f"{name} training": partial(_model, name, training=True) for name in _TRAINED},
    "features": partial(_features, "resnet10t"),
    **{
        f"optim {name}": partial(_optimizer, name)
        for name in timm.optim.list_optimizers()
        if not any(part in name for part in _LEFT_OUT)
    },
}
