"""LiBai's loaders of Hugging Face checkpoints against transformers: equal outputs, same weights.

``{launch} libai_loaders.py data tensor pipeline [names]`` writes random checkpoints with
transformers, loads each with LiBai in that layout, and compares what the two models compute.
"""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hide_torchvision  # noqa: F401
import libai.utils.distributed as dist  # pyright: ignore[reportMissingImports]
import numpy as np
import torch
import transformers  # pyright: ignore[reportMissingImports]
from omegaconf import DictConfig  # pyright: ignore[reportMissingImports]

import oneflow as flow

FOLDER = Path("data_test/loaders")
LAYERS = 4
TOLERANCE = 1e-5
WORDS = np.random.default_rng(0).integers(5, 90, (4, 8))
ANSWERS = np.random.default_rng(1).integers(5, 90, (4, 6))
IMAGES = np.random.default_rng(2).standard_normal((2, 3, 56, 56)).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """A model that both have.

    Attributes:
        theirs: its class and the class of its configuration in transformers.
        sizes: the sizes of that configuration.
        loader: module and class of LiBai's loader.
        model: module and class of LiBai's model.
        settings: module of LiBai's configuration.
        expected: the outputs of transformers' model.
        output: those of LiBai's, in the same form.
        options: other settings of LiBai's model.
    """

    theirs: tuple[str, str]
    sizes: dict[str, Any]
    loader: str
    model: str
    settings: str
    expected: Callable[[Any], torch.Tensor]
    output: Callable[[Any], flow.Tensor]
    options: dict[str, Any] = field(default_factory=dict)


def ids(values: np.ndarray) -> flow.Tensor:
    """Numbers as a global tensor on all ranks of the first stage."""
    return shared(flow.tensor(values))


def shared(tensor: flow.Tensor) -> flow.Tensor:
    """A tensor that all ranks of the first stage hold."""
    sbp = dist.get_nd_sbp([flow.sbp.broadcast, flow.sbp.broadcast])
    return tensor.to_global(placement=dist.get_layer_placement(0), sbp=sbp)


def ones(*sizes: int) -> flow.Tensor:
    """A mask that hides nothing."""
    return shared(flow.ones(*sizes, dtype=flow.bool))


def text_to_text(model: Any) -> flow.Tensor:
    """The scores of an encoder with a decoder, the batch in front."""
    masks = ones(4, 8), ones(4, 6), ones(4, 6, 8)
    return model(ids(WORDS), ids(ANSWERS), *masks)["logits"].transpose(0, 1)


WIDTHS = {
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
TEXT = {**WIDTHS, "vocab_size": 96, "max_position_embeddings": 40}
GPT = {
    "n_embd": 32,
    "n_layer": LAYERS,
    "n_head": 4,
    "n_positions": 32,
    "vocab_size": 96,
    "activation_function": "gelu",
}
T5 = {
    "vocab_size": 96,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": LAYERS // 2,
    "num_decoder_layers": LAYERS // 2,
    "num_heads": 4,
    "dropout_rate": 0.0,
    "decoder_start_token_id": 0,
}
PLAIN = {
    "bias_gelu_fusion": False,
    "bias_dropout_fusion": False,
    "scale_mask_softmax_fusion": False,
    "apply_query_key_layer_scaling": False,
    "apply_residual_post_layernorm": True,
    "amp_enabled": False,
}
CAUSAL = {
    **PLAIN,
    "scale_mask_softmax_fusion": True,
    "apply_query_key_layer_scaling": True,
    "attention_dropout_prob": 0.0,
    "apply_residual_post_layernorm": False,
}
PICTURES = {
    "image_size": 56,
    "patch_size": 4,
    "embed_dim": 16,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 7,
    "num_labels": 10,
    "drop_path_rate": 0.0,
}


def text(model: Any) -> torch.Tensor:
    """The output of transformers' model for the words."""
    return model(torch.tensor(WORDS))[0]


def answers(model: Any) -> torch.Tensor:
    """The output of an encoder with a decoder."""
    return model(input_ids=torch.tensor(WORDS), decoder_input_ids=torch.tensor(ANSWERS)).logits


def pictures(model: Any) -> torch.Tensor:
    """The output of transformers' model for the images."""
    return model(torch.tensor(IMAGES)).logits


def scores(model: Any) -> flow.Tensor:
    """The output of LiBai's model for the images."""
    return model(shared(flow.tensor(IMAGES)))["prediction_scores"]


LOADERS = "libai.models.utils"
CASES = {
    "BERT": Case(
        ("BertModel", "BertConfig"),
        TEXT,
        f"{LOADERS}:BertLoaderHuggerFace",
        "libai.models:BertModel",
        "configs.common.models.bert",
        text,
        lambda model: model(ids(WORDS), ones(4, 8))[0],
        PLAIN,
    ),
    "RoBERTa": Case(
        ("RobertaModel", "RobertaConfig"),
        {**TEXT, "type_vocab_size": 1},
        f"{LOADERS}:RobertaLoaderHuggerFace",
        "libai.models:RobertaModel",
        "configs.common.models.roberta",
        text,
        lambda model: model(ids(WORDS), ones(4, 8))[0],
        PLAIN,
    ),
    "GPT-2": Case(
        ("GPT2LMHeadModel", "GPT2Config"),
        GPT,
        f"{LOADERS}:GPT2LoaderHuggerFace",
        "libai.models:GPTModel",
        "configs.common.models.gpt",
        text,
        lambda model: model(ids(WORDS)),
        CAUSAL,
    ),
    "T5": Case(
        ("T5ForConditionalGeneration", "T5Config"),
        T5,
        "projects.MT5.utils.mt5_loader:T5LoaderHuggerFace",
        "projects.MT5.mt5_model:MT5Model",
        "projects.MT5.configs.mt5_base",
        answers,
        text_to_text,
        {"model_type": "t5"},
    ),
    "MT5": Case(
        ("MT5ForConditionalGeneration", "MT5Config"),
        T5,
        "projects.MT5.utils.mt5_loader:T5LoaderHuggerFace",
        "projects.MT5.mt5_model:MT5Model",
        "projects.MT5.configs.mt5_base",
        answers,
        text_to_text,
        {"model_type": "mt5"},
    ),
    "ViT": Case(
        ("ViTForImageClassification", "ViTConfig"),
        {**WIDTHS, "image_size": 56, "patch_size": 8, "num_labels": 10, "layer_norm_eps": 1e-5},
        f"{LOADERS}:ViTLoaderHuggerFace",
        "libai.models:VisionTransformer",
        "configs.common.models.vit.vit_tiny_patch16_224",
        pictures,
        scores,
        {"num_classes": 10, "mlp_ratio": 2.0},
    ),
    "Swin": Case(
        ("SwinForImageClassification", "SwinConfig"),
        PICTURES,
        f"{LOADERS}:SwinLoaderHuggerFace",
        "libai.models:SwinTransformer",
        "configs.common.models.swin.swin_tiny_patch4_window7_224",
        pictures,
        scores,
        {"num_classes": 10},
    ),
    "Swin V2": Case(
        ("Swinv2ForImageClassification", "Swinv2Config"),
        {**PICTURES, "pretrained_window_sizes": [0, 0]},
        f"{LOADERS}:SwinV2LoaderHuggerFace",
        "libai.models:SwinTransformerV2",
        "configs.common.models.swinv2.swinv2_tiny_patch4_window8_256",
        pictures,
        scores,
        {"num_classes": 10},
    ),
    "Llama": Case(
        ("LlamaForCausalLM", "LlamaConfig"),
        TEXT,
        "projects.Llama.utils.llama_loader:LlamaLoaderHuggerFace",
        "projects.Llama.llama:LlamaForCausalLM",
        "projects.Llama.configs.llama_config",
        text,
        lambda model: model(ids(WORDS))["logits"],
        {"amp_enabled": False},
    ),
    "Qwen2": Case(
        ("Qwen2ForCausalLM", "Qwen2Config"),
        {**TEXT, "num_key_value_heads": 4},
        "projects.Qwen.utils.qwen2_loader:Qwen2LoaderHuggerFace",
        "projects.Qwen.qwen2:Qwen2ForCausalLM",
        "projects.Qwen.configs.qwen_config",
        text,
        lambda model: model(ids(WORDS))["logits"],
        {"amp_enabled": False},
    ),
}


def attribute(path: str) -> Any:
    """The object at ``module:name``."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def write(name: str, case: Case) -> None:
    """Write a random checkpoint of transformers and what its model computes."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model_class, config_class = (getattr(transformers, class_name) for class_name in case.theirs)
    model = model_class(config_class(**case.sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        np.save(folder / "expected.npy", case.expected(model).numpy())
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def difference(name: str, case: Case) -> float:
    """The largest difference between the two models' outputs, relative to the largest output."""
    expected = np.load(FOLDER / name / "expected.npy")
    settings = copy.deepcopy(attribute(f"{case.settings}:cfg"))
    loader = attribute(case.loader)
    arguments = attribute(case.model), settings, str(FOLDER / name)
    model = loader(*arguments, **case.options).load().eval()
    with flow.no_grad():
        output = case.output(model)
    sbp = [flow.sbp.broadcast] * len(output.sbp)
    found = output.to_global(placement=dist.get_layer_placement(0), sbp=sbp).to_local().numpy()
    if not found.size:
        return 0.0
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main(data: int, tensor: int, pipeline: int, *names: str) -> None:
    """Compare the models of the names, or all, in a layout."""
    layout = {
        "data_parallel_size": data,
        "tensor_parallel_size": tensor,
        "pipeline_parallel_size": pipeline,
        "pipeline_num_layers": LAYERS,
        "device_type": "cpu",
    }
    dist.setup_dist_util(DictConfig(layout))
    failed = []
    for name, case in CASES.items():
        if names and name not in names:
            continue
        if dist.is_main_process():
            write(name, case)
        dist.synchronize()
        error = difference(name, case)
        print(f"{name}: {error:.1e}", flush=True)
        if not error <= TOLERANCE:
            failed.append(name)
    if failed:
        raise SystemExit(f"outputs differ: {', '.join(failed)}")


if __name__ == "__main__":
    data, tensor, pipeline = map(int, sys.argv[1:4])
    main(data, tensor, pipeline, *sys.argv[4:])
