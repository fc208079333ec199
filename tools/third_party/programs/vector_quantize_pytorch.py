"""Quantizers of vector_quantize_pytorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import vector_quantize_pytorch as quantizers
from tools.third_party.measure import arrays, numbers, set_values, step

_QUANTIZERS = {
    "VectorQuantize": {"dim": 8, "codebook_size": 16},
    "VectorQuantize cosine": {"dim": 8, "codebook_size": 16, "use_cosine_sim": True},
    "VectorQuantize heads": {
        "dim": 8,
        "codebook_size": 16,
        "heads": 2,
        "codebook_dim": 4,
        "separate_codebook_per_head": True,
    },
    "VectorQuantize learned": {
        "dim": 8,
        "codebook_size": 16,
        "learnable_codebook": True,
        "ema_update": False,
    },
    "VectorQuantize orthogonal": {"dim": 8, "codebook_size": 16, "orthogonal_reg_weight": 10.0},
    "VectorQuantize rotation": {"dim": 8, "codebook_size": 16, "rotation_trick": True},
    "ResidualVQ": {"dim": 8, "codebook_size": 16, "num_quantizers": 3},
    "ResidualVQ shared": {
        "dim": 8,
        "codebook_size": 16,
        "num_quantizers": 2,
        "shared_codebook": True,
    },
    "GroupedResidualVQ": {"dim": 8, "codebook_size": 16, "num_quantizers": 2, "groups": 2},
    "FSQ": {"levels": [8, 5, 5, 5], "dim": 8},
    "ResidualFSQ": {"dim": 8, "levels": [8, 5, 5], "num_quantizers": 2},
    "LFQ": {"codebook_size": 16, "dim": 8, "entropy_loss_weight": 0.1},
    "ResidualLFQ": {"dim": 8, "codebook_size": 16, "num_quantizers": 2},
    "SimVQ": {"dim": 8, "codebook_size": 16},
    "ResidualSimVQ": {"dim": 8, "codebook_size": 16, "num_quantizers": 2},
    "LatentQuantize": {"levels": [5, 5, 8], "dim": 6},
    "RandomProjectionQuantizer": {
        "dim": 8,
        "codebook_size": 16,
        "codebook_dim": 4,
        "num_codebooks": 2,
    },
}
#: In training these draw numbers, or their state depends on numbers that they drew.
_EVALUATED = ("ResidualSimVQ", "SimVQ", "RandomProjectionQuantizer")


def _set_state(module: Any) -> None:
    """Give codebooks, which are drawn, the same numbers everywhere."""
    for number, (name, member) in enumerate(sorted(module.named_buffers())):
        if name.rpartition(".")[2] in ("embed", "embed_avg", "codebook", "frozen_codebook"):
            member.copy_(numbers(*member.shape, seed=number).to(member.dtype))
        if name.endswith("rand_projs"):
            member.copy_(numbers(*member.shape, seed=number).to(member.dtype))


def _quantizer(name: str, *, training: bool) -> dict[str, Any]:
    module = getattr(quantizers, name.partition(" ")[0])(**_QUANTIZERS[name])
    _set_state(module)
    x = numbers(2, 6, 8).requires_grad_()
    measured = step(module, lambda module: list(_flat(module(x))), training=training)
    return measured if x.grad is None else {**measured, **arrays([x.grad], "gradient of x")}


def _flat(output: Any) -> Any:
    members = output if isinstance(output, list | tuple) else [output]
    for member in members:
        if isinstance(member, list | tuple):
            yield from _flat(member)
        elif member is not None:
            yield member if member.is_floating_point() else member.double()


def _codes() -> dict[str, Any]:
    module = quantizers.ResidualVQ(dim=8, codebook_size=16, num_quantizers=3)
    _set_state(module)
    set_values(module)
    module.double().eval()
    quantized, indices, losses = module(numbers(2, 6, 8))
    back = module.get_output_from_indices(indices)
    return arrays([quantized, indices.double(), losses, back])


CASES = {
    **{name: partial(_quantizer, name, training=False) for name in _QUANTIZERS},
    **{
        f"{name} training": partial(_quantizer, name, training=True)
        for name in _QUANTIZERS
        if name not in _EVALUATED
    },
    "codes": _codes,
}
