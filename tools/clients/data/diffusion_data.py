"""A small Stable Diffusion with random weights, as diffusers and transformers write it on PyTorch.

Its folder is ``made/diffusion``; ``made/photographs`` has images with captions, and
``made/portraits`` the same without.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image

# Its operators are of one build of PyTorch alone, and nothing here needs them.
sys.modules["torchvision"] = None  # pyright: ignore[reportArgumentType]

import diffusers  # noqa: E402  # pyright: ignore[reportMissingImports]
import transformers  # noqa: E402  # pyright: ignore[reportMissingImports]

FOLDER = Path("made/diffusion")
WIDTH, WORDS = 32, 16
CHANNELS = {"block_out_channels": (16, 32), "norm_num_groups": 8}


def write_tokenizer() -> int:
    """Write a tokenizer of single characters; return the size of its vocabulary."""
    folder = FOLDER / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(number) for number in range(33, 127)]
    words = [*letters, *(f"{letter}</w>" for letter in letters)]
    words += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    transformers.CLIPTokenizer(*files, model_max_length=WORDS).save_pretrained(folder)
    return len(words)


def main() -> None:
    """Write the parts of the pipeline, and photographs."""
    torch.manual_seed(0)
    settings = transformers.CLIPTextConfig(
        vocab_size=write_tokenizer(),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=WORDS,
    )
    parts = {
        "text_encoder": transformers.CLIPTextModel(settings),
        "vae": diffusers.AutoencoderKL(
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            **CHANNELS,
        ),
        "unet": diffusers.UNet2DConditionModel(
            sample_size=16,
            layers_per_block=1,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=WIDTH,
            attention_head_dim=4,
            **CHANNELS,
        ),
        "scheduler": diffusers.DDPMScheduler(beta_schedule="scaled_linear", clip_sample=False),
    }
    names = {"tokenizer": ("transformers", "CLIPTokenizer")}
    for name, part in parts.items():
        part.save_pretrained(FOLDER / name)
        names[name] = type(part).__module__.partition(".")[0], type(part).__name__
    for name in ("feature_extractor", "safety_checker"):
        names[name] = None, None  # pyright: ignore[reportArgumentType]
    index = {"_class_name": "StableDiffusionPipeline", "requires_safety_checker": False, **names}
    (FOLDER / "model_index.json").write_text(json.dumps(index))
    photographs, portraits = Path("made/photographs"), Path("made/portraits")
    photographs.mkdir(exist_ok=True)
    portraits.mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    for number in range(8):
        pixels = random.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        for folder in (photographs, portraits):
            Image.fromarray(pixels).save(folder / f"{number}.jpg")
        (photographs / f"{number}.txt").write_text("a photo of a dog")


if __name__ == "__main__":
    main()
    # LiBai's `setup.py` makes this link.
    Path("libai/config/configs").symlink_to("../../configs")
