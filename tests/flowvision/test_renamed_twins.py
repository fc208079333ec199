"""Models that timm has under other parameter names, or only with large images, against it."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest
import torch

from flowvision import models
from tests.flowvision.zoo import assert_equal_to_twin, timm_module

# A regular expression in timm's names, and what stands for it in ours.
Renaming = dict[str, str]

SWIN: Renaming = {
    r"layers\.1\.downsample": "layers.0.downsample",
    r"layers\.2\.downsample": "layers.1.downsample",
    r"layers\.3\.downsample": "layers.2.downsample",
    r"head\.fc": "head",
}
DEIT3: Renaming = {r"\.ls(\d)\.gamma": r".gamma_\1"}
RES_MLP: Renaming = {
    "^stem": "patch_embed",
    r"\.ls(\d)": r".gamma_\1",
    "linear_tokens": "attn",
    "mlp_channels": "mlp",
}


def levit(*depths: int) -> Renaming:
    """Return the renaming of a LeViT with these numbers of blocks, which we count through."""
    renaming = {rf"^stem\.conv{layer}\.": f"patch_embed.{2 * layer - 2}." for layer in range(1, 5)}
    index = 0
    for stage, depth in enumerate(depths):
        if stage:
            before = rf"stages\.{stage}\.downsample\."
            renaming[before + "attn_downsample"] = f"blocks.{index}"
            renaming[before + "mlp"] = f"blocks.{index + 1}.m"
            index += 2
        for block in range(depth):
            before = rf"stages\.{stage}\.blocks\.{block}\."
            renaming[before + "attn"] = f"blocks.{index}.m"
            renaming[before + "mlp"] = f"blocks.{index + 1}.m"
            index += 2
    layers = {r"\.ln1\.": ".0.", r"\.ln2\.": ".2.", r"\.ln\.": ".1."}
    return renaming | layers | {r"^(head\w*)\.linear": r"\1.l", r"\.linear": ".c"}


# Twins by our name: timm's, its renaming, and the arguments for small images, which are the same.
TWINS: dict[str, tuple[str, Renaming, dict[str, Any]]] = {
    "swin_tiny_patch4_window7_224": (
        "swin_tiny_patch4_window7_224",
        SWIN,
        {"img_size": 56, "window_size": 7, "depths": (2, 2), "num_heads": (3, 6)},
    ),
    "swin_base_patch4_window12_384": (
        "swin_base_patch4_window12_384",
        SWIN,
        {"img_size": 64, "window_size": 4, "depths": (1, 2), "num_heads": (4, 8)},
    ),
    "vit_tiny_patch16_224": ("vit_tiny_patch16_224", {}, {"img_size": 64, "depth": 3}),
    "deit_tiny_distilled_patch16_224": (
        "deit_tiny_distilled_patch16_224",
        {},
        {"img_size": 64, "depth": 3},
    ),
    "mlp_mixer_s16_224": ("mixer_s16_224", {}, {"img_size": 64}),
    "gmlp_ti16_224": ("gmlp_ti16_224", {}, {"img_size": 64}),
    "cait_XS24_384": ("cait_xs24_384", {}, {"img_size": 32, "depth": 3}),
    "deit_small_patch16_LS_224": (
        "deit3_small_patch16_224",
        DEIT3,
        {"img_size": 64, "depth": 3},
    ),
    "levit_128s": ("levit_128s", levit(1, 2, 1), {"depth": (1, 2, 1)}),
    "resmlp_12_224": ("resmlp_12_224", RES_MLP, {"img_size": 64}),
}


def renamed(renaming: Renaming, parameter: str) -> str:
    """Our name of a parameter of timm's."""
    for pattern, replacement in renaming.items():
        parameter = re.sub(pattern, replacement, parameter)
    return parameter


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TWINS)
def test_equals_twin(name: str) -> None:
    timm_name, renaming, options = TWINS[name]

    model = models.ModelCreator.create_model(name, **options)
    size = options.get("img_size", 224)
    torch.manual_seed(0)
    images = torch.randn(2, 3, size, size)
    reference = timm_module("models").create_model(timm_name, **options)
    assert_equal_to_twin(model, reference, images, functools.partial(renamed, renaming))
