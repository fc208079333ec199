"""LiBai's GLM: what it computes of a text at once is what it computes token by token.

``{launch} libai_glm.py data tensor pipeline losses`` makes a small model in that layout, compares
its logits with those of single tokens behind a memory of the earlier ones, and writes the loss of
each token, so that layouts can be compared.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import libai.utils.distributed as dist  # pyright: ignore[reportMissingImports]
import numpy as np
from omegaconf import DictConfig  # pyright: ignore[reportMissingImports]
from projects.GLM.configs.glm_inference import cfg  # pyright: ignore[reportMissingImports]
from projects.GLM.modeling_glm import (  # pyright: ignore[reportMissingImports]
    GLMForConditionalGeneration,
)

import oneflow as flow

LENGTH, WORDS, TOLERANCE = 10, 128, 1e-4
SIZES = {
    "num_layers": 4,
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "max_sequence_length": 32,
    "amp_enabled": False,
}


def shared(values: np.ndarray) -> flow.Tensor:
    """Numbers as a global tensor on all ranks of the first stage."""
    sbp = dist.get_nd_sbp([flow.sbp.broadcast, flow.sbp.broadcast])
    return flow.tensor(values).to_global(placement=dist.get_layer_placement(0), sbp=sbp)


def everywhere(values: flow.Tensor) -> np.ndarray:
    """A global tensor's numbers, on every rank."""
    ranks = flow.env.all_device_placement("cpu")
    return values.to_global(placement=ranks, sbp=flow.sbp.broadcast).to_local().numpy()


def main(data: int, tensor: int, pipeline: int, file: Path) -> None:
    """Compute and compare."""
    dist.setup_dist_util(
        DictConfig(
            {
                "data_parallel_size": data,
                "tensor_parallel_size": tensor,
                "pipeline_parallel_size": pipeline,
                "pipeline_num_layers": SIZES["num_layers"],
                "device_type": "cpu",
            }
        )
    )
    flow.manual_seed(0)
    model = GLMForConditionalGeneration(DictConfig({**cfg, **SIZES})).eval()
    rng = np.random.default_rng(0)
    for name, parameter in sorted(model.named_parameters()):
        values = rng.normal(size=parameter.shape).astype(np.float32) * 0.2 + ("norm" in name)
        place = {"placement": parameter.placement, "sbp": parameter.sbp}
        parameter.data.copy_(flow.tensor(values, **place))
    words = rng.integers(0, WORDS, (2, LENGTH))
    positions = np.stack([np.arange(LENGTH), np.zeros(LENGTH, np.int64)])[None].repeat(2, 0)
    one = shared(np.zeros(1, np.int64))
    with flow.no_grad():
        whole = model(shared(words), shared(positions), one)
        logits, memory = everywhere(whole["logits"]), None
        for at in range(LENGTH):
            part = shared(words[:, at : at + 1]), shared(positions[:, :, at : at + 1])
            single = model(*part, one, memory_states=memory)
            memory = single["mems"]
            error = np.abs(everywhere(single["logits"])[:, 0] - logits[:, at]).max()
            if not error <= TOLERANCE * np.abs(logits).max():
                raise SystemExit(f"token {at} differs by {error:.1e}")
    likely = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(likely[:, :-1], words[:, 1:, None], 2).mean((0, 2))
    if flow.env.get_rank() == 0:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps({"loss": float(loss)}) + "\n" for loss in losses))


if __name__ == "__main__":
    ranks = [int(size) for size in sys.argv[1:4]]
    main(ranks[0], ranks[1], ranks[2], Path(sys.argv[4]))
