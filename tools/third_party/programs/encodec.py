"""The codec of encodec."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType
from typing import Any

from tools.third_party.measure import arrays, integers, numbers, set_values, step

# It imports torchaudio, of which only files and spectrograms need something.
sys.modules.setdefault("torchaudio", ModuleType("torchaudio"))

from encodec import EncodecModel, modules, quantization  # noqa: E402

_MODULES = {
    "SEANetEncoder": lambda: modules.SEANetEncoder(
        dimension=8, n_filters=2, ratios=[4, 2], norm="weight_norm", causal=True
    ),
    "SEANetEncoder group norm": lambda: modules.SEANetEncoder(
        dimension=8, n_filters=2, ratios=[4, 2], norm="time_group_norm", lstm=0
    ),
    "SEANetDecoder": lambda: modules.SEANetDecoder(dimension=8, n_filters=2, ratios=[4, 2]),
    "SLSTM": lambda: modules.SLSTM(8, 2),
    "StreamingTransformerEncoder": lambda: modules.StreamingTransformerEncoder(
        8, num_heads=2, num_layers=2, past_context=3, dropout=0.0
    ),
}


def _module(name: str) -> dict[str, Any]:
    module = _MODULES[name]()
    shape = {"SEANetEncoder": (2, 1, 64), "SEANetDecoder": (2, 8, 8), "SLSTM": (2, 8, 6)}
    x = numbers(*shape.get(name.partition(" ")[0], (2, 6, 8)))
    return step(module, lambda member: member(x), training=True)


def _codec() -> EncodecModel:
    codec = EncodecModel._get_model([1.5, 3.0], 24_000, 1, causal=True, model_norm="weight_norm")
    set_values(codec)
    for number, (name, member) in enumerate(sorted(codec.named_buffers())):
        if name.endswith("embed"):
            member.copy_(numbers(*member.shape, seed=number).to(member.dtype) * 0.1)
        if name.endswith("inited"):
            member.fill_(1)
    return codec.eval()


def _coded() -> dict[str, Any]:
    codec = _codec().double()
    codec.set_target_bandwidth(1.5)
    frames = codec.encode(numbers(1, 1, 1280) * 0.1)
    decoded = codec.decode(frames)
    return arrays([frames[0][0].double(), decoded])


def _quantizer() -> dict[str, Any]:
    quantizer = quantization.ResidualVectorQuantizer(8, n_q=3, bins=16).double().eval()
    for number, (name, member) in enumerate(sorted(quantizer.named_buffers())):
        if name.endswith("embed"):
            member.copy_(numbers(*member.shape, seed=number))
        if name.endswith("inited"):
            member.fill_(1)
    result = quantizer(numbers(2, 8, 5), 50)
    decoded = quantizer.decode(integers(3, 2, 5, below=16))
    return arrays([result.quantized, result.codes.double(), result.penalty, decoded])


CASES = {
    **{name: partial(_module, name) for name in _MODULES},
    "coded": _coded,
    "quantizer": _quantizer,
}
