"""Small random models of transformers, and its trainer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tools.third_party.measure import array, arrays, integers, keys, numbers, set_values, step, text

_TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_DECODER = {**_TEXT, "num_key_value_heads": 2}
_BART = {
    "vocab_size": 64,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
_IMAGE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
#: By model: its configuration's type, its own, what it reads, and the settings.
_MODELS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "BertForMaskedLM", "text", _TEXT),
    "bert classification": ("BertConfig", "BertForSequenceClassification", "class", _TEXT),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", "text", _TEXT),
    "distilbert": (
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        "text",
        {"vocab_size": 64, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4},
    ),
    "electra": (
        "ElectraConfig",
        "ElectraForPreTraining",
        "tokens",
        {**_TEXT, "embedding_size": 16},
    ),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", "text", {**_TEXT, "embedding_size": 16}),
    "deberta v2": (
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        "text",
        {**_TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "gpt2": (
        "GPT2Config",
        "GPT2LMHeadModel",
        "text",
        {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    ),
    "gpt neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", "text", _TEXT),
    "opt": ("OPTConfig", "OPTForCausalLM", "text", {**_TEXT, "ffn_dim": 48}),
    "bloom": (
        "BloomConfig",
        "BloomForCausalLM",
        "text",
        {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4},
    ),
    "llama": ("LlamaConfig", "LlamaForCausalLM", "text", _DECODER),
    "mistral": ("MistralConfig", "MistralForCausalLM", "text", {**_DECODER, "sliding_window": 4}),
    "mixtral": (
        "MixtralConfig",
        "MixtralForCausalLM",
        "text",
        {**_DECODER, "num_local_experts": 4},
    ),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", "text", _DECODER),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", "text", {**_DECODER, "head_dim": 8}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", "text", {**_DECODER, "head_dim": 8}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", "text", _DECODER),
    "mamba": (
        "MambaConfig",
        "MambaForCausalLM",
        "text",
        {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
    ),
    "t5": (
        "T5Config",
        "T5ForConditionalGeneration",
        "text",
        {"vocab_size": 64, "d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 2, "num_heads": 4}
        | {"decoder_start_token_id": 0, "feed_forward_proj": "gated-gelu"},
    ),
    "bart": ("BartConfig", "BartForConditionalGeneration", "text", _BART),
    "vit": ("ViTConfig", "ViTForImageClassification", "image", _IMAGE),
    "dinov2": ("Dinov2Config", "Dinov2ForImageClassification", "image", _IMAGE),
    "swin": (
        "SwinConfig",
        "SwinForImageClassification",
        "image",
        {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}
        | {"window_size": 4},
    ),
    "convnext": (
        "ConvNextConfig",
        "ConvNextForImageClassification",
        "image",
        {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    ),
    "resnet": (
        "ResNetConfig",
        "ResNetForImageClassification",
        "image",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    ),
    "segformer": (
        "SegformerConfig",
        "SegformerForSemanticSegmentation",
        "pixels",
        {"num_encoder_blocks": 2, "depths": [1, 1], "hidden_sizes": [16, 32], "sr_ratios": [2, 1]}
        | {"num_attention_heads": [2, 4], "strides": [4, 2], "patch_sizes": [7, 3]}
        | {"mlp_ratios": [2, 2], "decoder_hidden_size": 16},
    ),
    "wav2vec2": (
        "Wav2Vec2Config",
        "Wav2Vec2ForCTC",
        "sound",
        {**_TEXT, "conv_dim": [16, 16], "conv_kernel": [10, 3], "conv_stride": [5, 2]}
        | {"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4}
        | {"num_feat_extract_layers": 2},
    ),
    "whisper": (
        "WhisperConfig",
        "WhisperForConditionalGeneration",
        "spectrum",
        {**_BART, "num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32},
    ),
}


def _inputs(reads: str) -> dict[str, torch.Tensor]:
    tokens = integers(2, 9, below=60) + 3
    mask = torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    images = {"pixel_values": numbers(2, 3, 32, 32)}
    return {
        "text": {"input_ids": tokens, "attention_mask": mask, "labels": tokens},
        "tokens": {"input_ids": tokens, "labels": integers(2, 9, below=2)},
        "class": {"input_ids": tokens, "attention_mask": mask, "labels": torch.tensor([0, 1])},
        "image": {**images, "labels": torch.tensor([0, 1])},
        "pixels": {**images, "labels": integers(2, 32, 32, below=2)},
        "sound": {"input_values": numbers(2, 400), "labels": integers(2, 3, below=60) + 3},
        "spectrum": {"input_features": numbers(2, 8, 32), "labels": tokens},
    }[reads]


def _make(name: str) -> Any:
    configuration, model, _, settings = _MODELS[name]
    made = getattr(transformers, model)(getattr(transformers, configuration)(**settings))
    return made.double()


#: PyTorch multiplies groups in single precision only, and gives this loss the dtype of the labels.
_SINGLE = ("mixtral", "electra")


def _train(name: str) -> dict[str, Any]:
    dtype = torch.float32 if name in _SINGLE else torch.float64
    inputs = _inputs(_MODELS[name][2])
    return step(_make(name), lambda model: model(**inputs), dtype=dtype)


def _generate(name: str, **options: Any) -> dict[str, Any]:
    model = _make(name).eval()
    set_values(model)
    tokens = integers(1, 5, below=60) + 3
    return {"tokens": array(model.generate(tokens, max_new_tokens=8, pad_token_id=0, **options))}


def _save_and_load(name: str) -> dict[str, Any]:
    model = _make(name).eval()
    set_values(model)
    folder = Path("saved") / name
    model.save_pretrained(folder)
    again = type(model).from_pretrained(folder, dtype=torch.float64).eval()
    outputs = again(**_inputs(_MODELS[name][2]))
    return {"keys": keys(again), **arrays(outputs)}


class _Samples(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = integers(8, below=60, seed=index) + 3
        return {"input_ids": tokens, "labels": tokens}


def _arguments(folder: str, **options: Any) -> transformers.TrainingArguments:
    return transformers.TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        logging_steps=1,
        save_steps=3,
        max_steps=6,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        **options,
    )


def _trainer(folder: str) -> transformers.Trainer:
    model = _make("gpt2")
    model.config.resid_pdrop = 0.0
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    set_values(model)
    in_order = _arguments(folder, train_sampling_strategy="sequential")
    return transformers.Trainer(model, in_order, train_dataset=_Samples())


def _losses(trainer: transformers.Trainer) -> Any:
    return torch.tensor([x["loss"] for x in trainer.state.log_history if "loss" in x])


def _train_and_resume() -> dict[str, Any]:
    first = _trainer("trained")
    first.train()
    second = _trainer("trained")
    second.train(resume_from_checkpoint="trained/checkpoint-3")
    measured = {"losses: first": array(_losses(first)), "losses: second": array(_losses(second))}
    for name, parameter in second.model.named_parameters():
        measured[f"after: {name}"] = array(parameter)
    return {
        **measured,
        "files": text(sorted(x.name for x in Path("trained/checkpoint-3").iterdir())),
    }


CASES = {
    **{name: partial(_train, name) for name in _MODELS},
    **{f"{name} saved": partial(_save_and_load, name) for name in ("bert", "llama", "t5", "vit")},
    "generate": partial(_generate, "llama"),
    "generate with beams": partial(_generate, "gpt2", num_beams=3),
    "generate with encoder": partial(_generate, "bart"),
    "trainer": _train_and_resume,
}
