"""Generation by LiBai's models against transformers': the same numbers of words.

``{launch} libai_generation.py data tensor pipeline [names]`` loads random checkpoints of
transformers in that layout, as `libai_loaders.py` does, and lets both libraries go on with the same
words: greedily, with beams, without repetitions, up to an end.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from typing import Any

import hide_torchvision  # noqa: F401
import libai.utils.distributed as dist  # pyright: ignore[reportMissingImports]
import numpy as np
import torch
import transformers  # pyright: ignore[reportMissingImports]
from libai_loaders import (
    CASES,
    FOLDER,
    LAYERS,
    WORDS,
    Case,
    attribute,
    ids,
    write,
)
from omegaconf import DictConfig  # pyright: ignore[reportMissingImports]

import oneflow as flow

# A word that no model here writes: LiBai ends all sequences with the first one that ends.
END = 95
# Settings of generation that LiBai's configurations of other projects have, with transformers'
# values; `use_cache` is taken by the models.
SETTINGS = {
    "is_encoder_decoder": False,
    "max_length": 20,
    "min_length": 0,
    "do_sample": False,
    "early_stopping": False,
    "num_beams": 1,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "num_return_sequences": 1,
    "chunk_size_feed_forward": 0,
    "output_scores": False,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "remove_invalid_values": False,
    "exponential_decay_length_penalty": None,
    "use_cache": True,
    "pad_token_id": 0,
    "eos_token_id": END,
    "bos_token_id": 1,
    "sep_token_id": None,
    "decoder_start_token_id": 0,
}
WAYS = {
    "greedy": {},
    "without a cache": {"use_cache": False},
    "3 beams": {"num_beams": 3},
    "no pair twice": {"no_repeat_ngram_size": 2},
    "penalty of repetitions": {"repetition_penalty": 1.7},
    "at least 15 words": {"min_length": 15},
}
# Models with an encoder. LiBai's cache of these holds the batch where the words are, so that they
# take one sequence, and no beams; without a cache it looks for the words that the encoder has read.
WITH_ENCODER = ("T5", "MT5")
# LiBai puts beams on all ranks, and compares the last stage's numbers with words on the first one.
IN_ONE_STAGE = ("3 beams", "penalty of repetitions")
GENERATING = (*WITH_ENCODER, "Llama", "Qwen2", "GPT-2")
GPT = dataclasses.replace(
    CASES["GPT-2"],
    model="projects.MagicPrompt.gpt2:GPTModel",
    settings="projects.MagicPrompt.configs.gpt2_inference",
    options={},
)


def case_of(name: str) -> Case:
    """The model of a name; GPT-2's is the one of LiBai's that generates."""
    return GPT if name == "GPT-2" else CASES[name]


def words_of(name: str) -> np.ndarray:
    """The words that a model goes on with, or translates."""
    return WORDS[:1] if name in WITH_ENCODER else WORDS


def expected(name: str, way: str) -> np.ndarray:
    """The numbers of the words that transformers' model gives."""
    case = case_of(name)
    model = getattr(transformers, case.theirs[0]).from_pretrained(FOLDER / name).eval()
    options = {"pad_token_id": 0, "eos_token_id": END, "bos_token_id": 1, "max_length": 20}
    if name in WITH_ENCODER:
        options["decoder_start_token_id"] = 0
    words = torch.tensor(words_of(name))
    with torch.no_grad():
        return model.generate(
            words,
            attention_mask=torch.ones_like(words),
            do_sample=False,
            **{**options, **WAYS[way]},
        ).numpy()


def load(name: str) -> Any:
    """LiBai's model with the checkpoint of transformers."""
    case = case_of(name)
    settings = copy.deepcopy(attribute(f"{case.settings}:cfg"))
    settings.update({**SETTINGS, "is_encoder_decoder": name in WITH_ENCODER})
    loader = attribute(case.loader)
    return loader(attribute(case.model), settings, str(FOLDER / name), **case.options).load().eval()


def main(data: int, tensor: int, pipeline: int, *names: str) -> None:
    """Compare what the models of the names, or all, generate in a layout."""
    layout = {
        "data_parallel_size": data,
        "tensor_parallel_size": tensor,
        "pipeline_parallel_size": pipeline,
        "pipeline_num_layers": LAYERS,
        "device_type": "cpu",
    }
    dist.setup_dist_util(DictConfig(layout))
    failed = []
    for name in names or GENERATING:
        if dist.is_main_process():
            write(name, case_of(name))
        dist.synchronize()
        model = load(name)
        for way, options in WAYS.items():
            if name in WITH_ENCODER and way in ("3 beams", "without a cache"):
                continue
            if pipeline > 1 and way in IN_ONE_STAGE:
                continue
            with flow.no_grad():
                words = model.generate(ids(words_of(name)), **{"max_length": 20, **options})
            sbp = [flow.sbp.broadcast] * len(words.sbp)
            words = words.to_global(placement=dist.get_layer_placement(0), sbp=sbp).to_local()
            if not dist.is_main_process():
                continue
            same = np.array_equal(words.numpy(), expected(name, way))
            print(f"{name}, {way}: {'equal' if same else 'DIFFERENT'}", flush=True)
            if not same:
                failed.append(f"{name}, {way}")
                print(words.numpy()[0], expected(name, way)[0], flush=True)
    if failed:
        raise SystemExit(f"generated words differ: {'; '.join(failed)}")


if __name__ == "__main__":
    data, tensor, pipeline = map(int, sys.argv[1:4])
    main(data, tensor, pipeline, *sys.argv[4:])
