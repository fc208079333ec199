"""Adapters of peft, on small random models of transformers."""

from __future__ import annotations

from functools import partial
from typing import Any

import peft
import torch
import transformers
from tools.third_party.measure import arrays, integers, keys, set_values, step, text

_LAYERS = ["q_proj", "v_proj"]
_ADAPTERS = {
    "lora": lambda: peft.LoraConfig(r=4, target_modules=_LAYERS),
    "lora of all": lambda: peft.LoraConfig(r=4, target_modules="all-linear", use_rslora=True),
    "dora": lambda: peft.LoraConfig(r=4, target_modules=_LAYERS, use_dora=True),
    "ia3": lambda: peft.IA3Config(
        target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]
    ),
    "loha": lambda: peft.LoHaConfig(r=4, target_modules=_LAYERS),
    "lokr": lambda: peft.LoKrConfig(r=4, target_modules=_LAYERS),
    "oft": lambda: peft.OFTConfig(oft_block_size=8, target_modules=_LAYERS),
    "boft": lambda: peft.BOFTConfig(boft_block_size=8, target_modules=_LAYERS),
    "prompt": lambda: peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
    "prefix": lambda: peft.PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
    "p tuning": lambda: peft.PromptEncoderConfig(
        num_virtual_tokens=3, encoder_hidden_size=8, task_type="CAUSAL_LM"
    ),
}


def _model() -> Any:
    configuration = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
    )
    return transformers.LlamaForCausalLM(configuration).double()


def _tokens() -> dict[str, torch.Tensor]:
    tokens = integers(2, 7, below=60) + 3
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens}


def _train(name: str) -> dict[str, Any]:
    model = peft.get_peft_model(_model(), _ADAPTERS[name]())
    trained = [parameter for parameter, p in model.named_parameters() if p.requires_grad]
    inputs = _tokens()
    return {"trained": text(trained), **step(model, lambda module: module(**inputs))}


def _merge(name: str) -> dict[str, Any]:
    model = peft.get_peft_model(_model(), _ADAPTERS[name]()).double()
    set_values(model)
    merged = model.eval().merge_and_unload()
    return {"keys": keys(merged), **arrays(merged(**_tokens()))}


def _save() -> dict[str, Any]:
    model = peft.get_peft_model(_model(), _ADAPTERS["lora"]()).double()
    set_values(model)
    model.save_pretrained("adapter")
    base = _model()
    base.load_state_dict(
        {
            k.replace(".base_layer", ""): v
            for k, v in model.get_base_model().state_dict().items()
            if "lora" not in k
        }
    )
    again = peft.PeftModel.from_pretrained(base, "adapter").double().eval()
    with again.disable_adapter():
        plain = arrays(again(**_tokens()), "base")
    return {"keys": keys(again), **arrays(again(**_tokens())), **plain}


CASES = {
    **{name: partial(_train, name) for name in _ADAPTERS},
    **{f"{name} merged": partial(_merge, name) for name in ("lora", "dora", "ia3", "loha")},
    "saved": _save,
}
