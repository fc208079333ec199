"""Modules of ``torch.ao.quantization`` that watch values and round them, beside PyTorch's."""

from __future__ import annotations

import copy
import importlib
import io
import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from oneflow import mock_torch

OBSERVERS = {
    "MinMaxObserver": ("per_tensor_affine", "per_tensor_symmetric"),
    "MovingAverageMinMaxObserver": ("per_tensor_affine", "per_tensor_symmetric"),
    "PerChannelMinMaxObserver": ("per_channel_affine", "per_channel_symmetric"),
    "MovingAveragePerChannelMinMaxObserver": ("per_channel_affine", "per_channel_symmetric"),
}
RANGES = ({}, {"quant_min": 0, "quant_max": 15})
BATCHES = [np.random.RandomState(seed).randn(4, 3, 5).astype("f") * 3 for seed in range(3)]


def observed(lib: Any, name: str, scheme: str, dtype: str, options: dict) -> Iterator[Any]:
    quantization = importlib.import_module("torch.ao.quantization") if lib is None else lib
    tensors = importlib.import_module("torch") if lib is None else torch
    options = {**options, "dtype": getattr(tensors, dtype), "qscheme": getattr(tensors, scheme)}
    if "Channel" in name:
        options["ch_axis"] = 1
    if "Moving" in name:
        options["averaging_constant"] = 0.3
    kind = getattr(quantization, name)
    observer = kind(**options)
    yield [x.tolist() for x in observer.calculate_qparams()]
    observer(tensors.zeros(0, 3))
    for batch in BATCHES:
        x = tensors.tensor(batch)
        assert observer(x) is x
        yield [(y.tolist(), tuple(y.shape)) for y in observer.calculate_qparams()]
    yield {key: x.tolist() for key, x in observer.state_dict().items()}
    other = kind(**options)
    other.load_state_dict(observer.state_dict())
    yield other.min_val.tolist(), repr(other.qscheme), (other.quant_min, other.quant_max)
    quantize = quantization.FakeQuantize(observer=kind, **options)
    x: Any = tensors.tensor(BATCHES[0], requires_grad=True)
    quantize(x).square().sum().backward()
    quantize.disable_observer()
    yield quantize(tensors.tensor(BATCHES[1])).tolist(), x.grad.tolist()
    yield {key: (value.tolist(), str(value.dtype)) for key, value in quantize.state_dict().items()}
    twin = quantization.FakeQuantize(observer=kind, **options)
    twin.load_state_dict(quantize.state_dict())
    twin.apply(quantization.disable_observer)
    yield twin(tensors.tensor(BATCHES[2])).tolist(), twin.scale.tolist()
    twin.apply(quantization.disable_fake_quant)
    yield bool((twin(x) == x).all()), len(copy.deepcopy(twin).state_dict())


def rounded(items: Any) -> Any:
    if isinstance(items, dict):
        return {key: rounded(value) for key, value in items.items()}
    if isinstance(items, list | tuple):
        return [rounded(item) for item in items]
    return float(f"{items:.5g}") if isinstance(items, float) else items


@pytest.mark.filterwarnings("ignore:must run observer")
@pytest.mark.parametrize("name", OBSERVERS)
@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
def test_observers_are_as_in_pytorch(name: str, dtype: str) -> None:
    for scheme, options in itertools.product(OBSERVERS[name], RANGES):
        theirs = list(observed(torch.ao.quantization, name, scheme, dtype, options))
        with mock_torch.enable():
            ours = list(observed(None, name, scheme, dtype, options))
        assert rounded(ours) == rounded(theirs)


def defaults(quantization: Any, tensors: Any) -> Iterator[Any]:
    x = tensors.tensor(BATCHES[0])
    names = ("fake_quant", "weight_fake_quant", "per_channel_weight_fake_quant", "observer")
    for name in (*names, "weight_observer", "per_channel_weight_observer"):
        module = getattr(quantization, f"default_{name}")()
        yield (
            name,
            module(x).flatten()[:4].tolist(),
            [y.tolist() for y in module.calculate_qparams()],
        )
    config = quantization.QConfig(activation=quantization.default_observer, weight=None)
    yield config.activation().quant_max, config.weight


def test_defaults_are_as_in_pytorch() -> None:
    with pytest.warns(UserWarning, match="reduce_range"):
        theirs = list(defaults(torch.ao.quantization, torch))
    with mock_torch.enable():
        ours = list(defaults(*map(importlib.import_module, ("torch.ao.quantization", "torch"))))
        quantization = importlib.import_module("torch.ao.quantization")
        quantize = quantization.FakeQuantize()
        buffer = io.BytesIO(pickle.dumps(quantize))
        assert repr(pickle.load(buffer)) == repr(quantize)
        for misuse, error in (
            ({"dtype": torch.float32}, AssertionError),
            ({"quant_min": 1, "quant_max": 3}, AssertionError),
            ({"qscheme": importlib.import_module("torch").per_channel_affine}, NotImplementedError),
        ):
            with pytest.raises(error):
                quantization.MinMaxObserver(**misuse)
    assert rounded(ours) == rounded(theirs)
