"""Modules exported and imported again: the same outputs, the same parameters."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow_onnx.oneflow2onnx.torch_signature import export
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx


def images(*shape):
    return flow.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


MODULES = {
    "convolution": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(128, 1),
        ),
        lambda: images(2, 3, 4, 4),
    ),
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Softmax(-1)),
        lambda: images(2, 4),
    ),
    "no weights": (
        lambda: nn.Sequential(nn.GroupNorm(2, 4, affine=False), nn.InstanceNorm2d(4), nn.PReLU()),
        lambda: images(2, 4, 3, 3),
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True),
        lambda: images(2, 5, 16),
    ),
    "lstm": (lambda: nn.LSTM(4, 6, 2, batch_first=True), lambda: images(2, 5, 4)),
    "gru": (lambda: nn.GRU(4, 6, bidirectional=True), lambda: images(2, 5, 4)),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(10, 6), nn.Linear(6, 2)),
        lambda: flow.tensor([[1, 2, 9]]),
    ),
}


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("name", MODULES)
def test_round_trip(name, opset):
    make, make_input = MODULES[name]
    module, x = make().eval(), make_input()
    back = from_onnx(export(module, (x,), opset_version=opset))
    wanted, output = module(x), back(x)
    if isinstance(wanted, tuple):
        wanted, output = wanted[0], output[0]
    np.testing.assert_allclose(output.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    shapes = {n: t.shape for n, t in module.state_dict().items() if "num_batches" not in n}
    assert {n: t.shape for n, t in back.state_dict().items()} == shapes
    trained = {n for n, _ in module.named_parameters()}
    assert {n for n, _ in back.named_parameters()} == trained
