"""Variants of transformers, each a small library of its own, and a diffusion model."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import vit_pytorch
from denoising_diffusion_pytorch import Unet
from linformer import Linformer, LinformerLM
from local_attention import LocalAttention
from perceiver_pytorch import Perceiver, PerceiverIO
from performer_pytorch import SelfAttention
from rotary_embedding_torch import RotaryEmbedding
from tools.third_party.measure import arrays, integers, numbers, step
from vit_pytorch import (
    cait,
    cct,
    cvt,
    deepvit,
    max_vit,
    mobile_vit,
    nest,
    pit,
    simple_vit,
    t2t,
    twins_svt,
    xcit,
)
from x_transformers import (
    ContinuousTransformerWrapper,
    CrossAttender,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

_SMALL = {"dim": 16, "depth": 2, "heads": 2}
_DECODERS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True},
    "relative positions": {"rel_pos_bias": True},
    "rms norm": {"use_rmsnorm": True},
    "gated": {"ff_glu": True, "ff_swish": True},
    "no mask of positions": {"attn_qk_norm": True, "attn_qk_norm_scale": 10},
    "one key": {"attn_one_kv_head": True},
    "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
    "sandwich": {"sandwich_norm": True},
    "macaron": {"macaron": True},
    "sparse top": {"attn_sparse_topk": 3},
    "shift tokens": {"shift_tokens": 1},
    "residual attention": {"residual_attn": True},
    "memory keys": {"attn_num_mem_kv": 2},
    "flash": {"attn_flash": True},
}


def _tokens() -> torch.Tensor:
    return integers(2, 8, below=20)


def _decoder(options: dict[str, Any]) -> dict[str, Any]:
    model = TransformerWrapper(
        num_tokens=20, max_seq_len=16, attn_layers=Decoder(**_SMALL, **options)
    )
    return step(model, lambda module: module(_tokens()))


def _continuous() -> dict[str, Any]:
    model = ContinuousTransformerWrapper(
        dim_in=6, dim_out=5, max_seq_len=16, attn_layers=Encoder(**_SMALL)
    )
    return step(model, lambda module: module(numbers(2, 8, 6)))


def _pictures_encoder() -> dict[str, Any]:
    model = ViTransformerWrapper(
        image_size=16, patch_size=8, num_classes=5, attn_layers=Encoder(**_SMALL)
    )
    return step(model, lambda module: module(numbers(2, 3, 16, 16)))


def _cross() -> dict[str, Any]:
    model = CrossAttender(**_SMALL)
    return step(model, lambda module: module(numbers(2, 5, 16), context=numbers(2, 7, 16, seed=1)))


def _encoder_and_decoder() -> dict[str, Any]:
    sizes = {"num_tokens": 20, "depth": 1, "heads": 2, "max_seq_len": 16}
    model = XTransformer(
        dim=16, **{f"{end}_{name}": size for end in ("enc", "dec") for name, size in sizes.items()}
    )
    mask = torch.ones(2, 8, dtype=torch.bool)
    return step(model, lambda module: module(_tokens(), _tokens(), mask=mask))


def _sequence(module: torch.nn.Module) -> dict[str, Any]:
    return step(module, lambda module: module(numbers(2, 8, 16)))


def _generalized() -> dict[str, Any]:
    module = SelfAttention(dim=16, heads=2, dim_head=8, causal=False, generalized_attention=True)
    # It draws it.
    projection = module.fast_attention.projection_matrix
    projection.copy_(numbers(*projection.shape, dtype=projection.dtype))
    return _sequence(module)


def _local() -> dict[str, Any]:
    attention = LocalAttention(dim=8, window_size=4, causal=True, autopad=True, look_backward=1)
    operands = [numbers(2, 10, 8, seed=seed).requires_grad_() for seed in range(3)]
    output = attention(*operands, mask=torch.ones(2, 10, dtype=torch.bool))
    output.square().sum().backward()
    return arrays(output) | arrays([x.grad for x in operands], "gradient")


def _rotary() -> dict[str, Any]:
    found = {}
    for name, options in {"plain": {}, "xpos": {"use_xpos": True}}.items():
        embedding = RotaryEmbedding(dim=8, **options).double()
        q, k = (numbers(1, 2, 6, 16, seed=seed).requires_grad_() for seed in range(2))
        turned = (
            embedding.rotate_queries_and_keys(q, k)
            if options
            else (embedding.rotate_queries_or_keys(q), embedding.rotate_queries_or_keys(k))
        )
        sum(x.square().sum() + x.sum() for x in turned).backward()
        found |= arrays(turned, name) | arrays([q.grad, k.grad], f"gradient {name}")
    return found


def _perceiver(kind: Any) -> dict[str, Any]:
    shared = {"depth": 2, "num_latents": 4, "latent_dim": 12, "latent_heads": 2, "cross_heads": 1}
    if kind is Perceiver:
        model = Perceiver(
            input_channels=3, input_axis=2, num_freq_bands=3, max_freq=4.0, num_classes=5, **shared
        )
        return step(model, lambda module: module(numbers(2, 6, 6, 3)))
    model = PerceiverIO(dim=8, queries_dim=10, logits_dim=5, **shared)
    queries = numbers(3, 10, seed=1)
    return step(model, lambda module: module(numbers(2, 7, 8), queries=queries))


def _diffusion() -> dict[str, Any]:
    model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    times = torch.tensor([3, 7])
    # Its embedding of times is in float32.
    images = numbers(2, 3, 8, 8, dtype=torch.float32)
    return step(model, lambda module: module(images, times), dtype=torch.float32)


def _pictures(module: torch.nn.Module, size: int = 32) -> dict[str, Any]:
    return step(module, lambda module: module(numbers(2, 3, size, size)))


_VIT = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 16, "depth": 2, "heads": 2}
_VIT["mlp_dim"] = 24

_PICTURES = {
    "ViT": lambda: vit_pytorch.ViT(**_VIT),
    "SimpleViT": lambda: simple_vit.SimpleViT(**_VIT),
    "DeepViT": lambda: deepvit.DeepViT(**_VIT),
    "CaiT": lambda: cait.CaiT(cls_depth=1, **_VIT),
    "XCiT": lambda: xcit.XCiT(cls_depth=1, **_VIT),
    "T2TViT": lambda: t2t.T2TViT(
        image_size=32, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=24, t2t_layers=((7, 4),)
    ),
    "CCT": lambda: cct.CCT(
        img_size=32, embedding_dim=16, n_conv_layers=1, num_layers=2, num_heads=2, num_classes=5
    ),
    "PiT": lambda: pit.PiT(
        image_size=32, patch_size=8, dim=16, num_classes=5, depth=(1, 1), heads=2, mlp_dim=24
    ),
    "CvT": lambda: cvt.CvT(
        num_classes=5,
        **{
            f"s{n}_{name}": value
            for n in (1, 2, 3)
            for name, value in {"emb_dim": 8 * n, "heads": n, "depth": 1, "mlp_mult": 2}.items()
        },
    ),
    "NesT": lambda: nest.NesT(
        image_size=32,
        patch_size=4,
        dim=16,
        heads=2,
        num_hierarchies=2,
        block_repeats=(1, 1),
        num_classes=5,
    ),
    "TwinsSVT": lambda: twins_svt.TwinsSVT(
        num_classes=5,
        **{f"s{n}_emb_dim": 8 * n for n in (1, 2, 3, 4)},
        **{f"s{n}_depth": 1 for n in (1, 2, 3, 4)},
        **{f"s{n}_patch_size": 2 for n in (1, 2, 3, 4)},
        **{f"s{n}_local_patch_size": 2 for n in (1, 2, 3)},
        **{f"s{n}_global_k": 2 for n in (1, 2, 3, 4)},
    ),
    "MobileViT": lambda: mobile_vit.MobileViT(
        image_size=(64, 64),
        dims=[12, 16, 20],
        channels=[8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 32],
        num_classes=5,
    ),
    "MaxViT": lambda: max_vit.MaxViT(
        num_classes=5, dim=16, dim_conv_stem=8, depth=(1, 1), window_size=4, dim_head=8
    ),
}

CASES = {
    **{f"decoder, {name}": partial(_decoder, row) for name, row in _DECODERS.items()},
    "continuous": _continuous,
    "encoder of pictures": _pictures_encoder,
    "cross attention": _cross,
    "encoder and decoder": _encoder_and_decoder,
    "Linformer": lambda: _sequence(Linformer(dim=16, seq_len=8, depth=2, heads=2, k=4)),
    "LinformerLM": lambda: step(
        LinformerLM(num_tokens=20, dim=16, seq_len=8, depth=1, heads=2, k=4),
        lambda module: module(_tokens()),
    ),
    "generalized attention": _generalized,
    "LocalAttention": _local,
    "RotaryEmbedding": _rotary,
    "Perceiver": partial(_perceiver, Perceiver),
    "PerceiverIO": partial(_perceiver, PerceiverIO),
    "diffusion Unet": _diffusion,
    **{
        name: lambda name=name, make=make: _pictures(make(), 64 if name == "MobileViT" else 32)
        for name, make in _PICTURES.items()
    },
}
