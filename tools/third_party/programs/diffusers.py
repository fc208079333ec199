"""Small random models, schedules and pipelines of diffusers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from tools.third_party.measure import array, arrays, integers, keys, numbers, set_values, step

_BLOCKS = {"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1}
_CROSS = {
    **_BLOCKS,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
    "attention_head_dim": 4,
    "cross_attention_dim": 16,
    "sample_size": 8,
}
_VAE = {
    **_BLOCKS,
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
}


def _conditions() -> dict[str, torch.Tensor]:
    return {"timestep": torch.tensor([3, 5]), "encoder_hidden_states": numbers(2, 5, 16)}


#: By model: its type, its settings, and what it reads.
_MODELS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "unet": (
        "UNet2DModel",
        {**_BLOCKS, "down_block_types": ("DownBlock2D", "AttnDownBlock2D")}
        | {"up_block_types": ("AttnUpBlock2D", "UpBlock2D"), "attention_head_dim": 4},
        lambda: (numbers(2, 3, 8, 8), torch.tensor([3, 5])),
    ),
    "unet with conditions": (
        "UNet2DConditionModel",
        _CROSS,
        lambda: (numbers(2, 4, 8, 8), *_conditions().values()),
    ),
    "vae": ("AutoencoderKL", _VAE, lambda: (numbers(2, 3, 8, 8),)),
    "vq": ("VQModel", {**_VAE, "num_vq_embeddings": 16}, lambda: (numbers(2, 3, 8, 8),)),
    "dit": (
        "DiTTransformer2DModel",
        {"num_attention_heads": 2, "attention_head_dim": 8, "in_channels": 4, "num_layers": 2}
        | {"sample_size": 8, "norm_num_groups": 4, "num_embeds_ada_norm": 8},
        lambda: (numbers(2, 4, 8, 8), torch.tensor([3, 5]), torch.tensor([1, 2])),
    ),
    "sd3 transformer": (
        "SD3Transformer2DModel",
        {"sample_size": 8, "patch_size": 2, "in_channels": 4, "num_layers": 2}
        | {"attention_head_dim": 8, "num_attention_heads": 2, "joint_attention_dim": 16}
        | {"caption_projection_dim": 16, "pooled_projection_dim": 12, "out_channels": 4}
        | {"pos_embed_max_size": 8},
        lambda: (numbers(2, 4, 8, 8), numbers(2, 5, 16), numbers(2, 12), torch.tensor([3, 5])),
    ),
    "controlnet": (
        "ControlNetModel",
        {k: v for k, v in _CROSS.items() if k not in ("up_block_types", "sample_size")}
        | {"conditioning_embedding_out_channels": (4, 8)},
        lambda: (numbers(2, 4, 8, 8), *_conditions().values(), numbers(2, 3, 16, 16)),
    ),
}
_SCHEDULES = (
    "DDPMScheduler",
    "DDIMScheduler",
    "PNDMScheduler",
    "LMSDiscreteScheduler",
    "EulerDiscreteScheduler",
    "HeunDiscreteScheduler",
    "DPMSolverMultistepScheduler",
    "DPMSolverSinglestepScheduler",
    "UniPCMultistepScheduler",
    "DEISMultistepScheduler",
    "KDPM2DiscreteScheduler",
    "FlowMatchEulerDiscreteScheduler",
)
_RANDOM = ("DDPMScheduler",)


def _train(name: str) -> dict[str, Any]:
    kind, settings, inputs = _MODELS[name]
    model = getattr(diffusers, kind)(**settings)
    given = inputs()
    return step(model, lambda module: module(*given, return_dict=False))


def _save(name: str) -> dict[str, Any]:
    kind, settings, inputs = _MODELS[name]
    model = getattr(diffusers, kind)(**settings)
    set_values(model)
    model.save_pretrained(Path("models") / name)
    again = type(model).from_pretrained(Path("models") / name).double().eval()
    return {"keys": keys(again), **arrays(again(*inputs(), return_dict=False))}


def _schedule(name: str) -> dict[str, Any]:
    schedule = getattr(diffusers, name)()
    schedule.set_timesteps(6)
    sample = numbers(1, 3, 4, 4, dtype=torch.float32)
    measured = {"times": array(schedule.timesteps)}
    if hasattr(schedule, "add_noise"):
        noise = numbers(1, 3, 4, 4, seed=2, dtype=torch.float32)
        measured["noisy"] = array(schedule.add_noise(sample, noise, schedule.timesteps[:1]))
    for time in schedule.timesteps if name not in _RANDOM else schedule.timesteps[-1:]:
        sample = schedule.step(sample * 0.5, time, sample).prev_sample
    return {**measured, "sample": array(sample)}


def _pipeline() -> dict[str, Any]:
    text = transformers.CLIPTextConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=8,
    )
    parts = {
        "unet": diffusers.UNet2DConditionModel(**_CROSS),
        "vae": diffusers.AutoencoderKL(**{**_VAE, "latent_channels": 4}),
        "text_encoder": transformers.CLIPTextModel(text),
    }
    for part in parts.values():
        set_values(part.eval())
    made = diffusers.StableDiffusionPipeline(
        **parts,
        tokenizer=None,
        scheduler=diffusers.DDIMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    made.save_pretrained("pipeline")
    again = diffusers.StableDiffusionPipeline.from_pretrained("pipeline", tokenizer=None).to(
        torch.float64
    )
    again.set_progress_bar_config(disable=True)
    embeddings = again.text_encoder(integers(1, 6, below=60)).last_hidden_state
    images = again(
        prompt_embeds=embeddings,
        negative_prompt_embeds=embeddings * 0.5,
        num_inference_steps=3,
        latents=numbers(1, 4, 8, 8),
        output_type="pt",
    ).images
    return {"images": array(images)}


CASES = {
    **{name: partial(_train, name) for name in _MODELS},
    "saved": partial(_save, "unet"),
    **{name: partial(_schedule, name) for name in _SCHEDULES},
    "pipeline": _pipeline,
}
