"""Features named by the v0.5.0 release notes: eager mode and its basic pages."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

import oneflow as flow
from oneflow import nn

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_s000_01_eager_is_the_default():
    x = flow.tensor([1.0, 2.0])
    y = x * 2 + 1
    assert y.numpy().tolist() == [3.0, 5.0]
    assert y.is_eager
    assert not y.is_lazy


def test_s000_02_quickstart(tmp_path):
    command = [sys.executable, str(EXAMPLES / "quickstart.py"), "--epochs", "1"]
    command += ["--output", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    first, last = (float(run.stdout.split()[i]) for i in (4, 6))
    assert last < 0.6 * first
    assert "equal predictions: True" in run.stdout
    assert {"model.flow", "losses.png"} <= {path.name for path in tmp_path.iterdir()}


class Model(nn.Module):
    """One linear layer."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 2)

    def forward(self, x):
        return self.l(x)


def test_s000_03_modules_are_objects():
    model = Model()
    assert model(flow.ones(3, 4)).shape == (3, 2)
    assert [name for name, _ in model.named_parameters()] == ["l.weight", "l.bias"]
    assert [type(module) for module in model.modules()] == [Model, nn.Linear]
    assert [type(child) for child in model.children()] == [nn.Linear]


def test_s000_03_module_state():
    model, other = Model(), Model()
    other.load_state_dict(model.state_dict())
    x = flow.ones(3, 4)
    assert flow.equal(model(x), other(x))
    assert model.train().training
    assert not model.eval().training
    model.register_buffer("steps", flow.zeros(1))
    model.register_parameter("scale", nn.Parameter(flow.ones(1)))
    assert set(model.state_dict()) == {"l.weight", "l.bias", "steps", "scale"}
    assert model.to(flow.float64).l.weight.dtype is flow.float64


def test_s000_03_apply_and_zero_grad():
    model = Model()
    model(flow.ones(3, 4)).sum().backward()
    assert abs(model.l.bias.grad.numpy()).sum() > 0
    model.zero_grad()
    assert all(p.grad is None or not p.grad.numpy().any() for p in model.parameters())
    seen = []
    model.apply(seen.append)
    assert seen == [model.l, model]


def test_s000_04_sequential_network():
    def make(nn):
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.Conv2d(20, 64, 5), nn.ReLU())

    network, twin = make(nn), make(torch.nn)
    state = network.state_dict()
    twin.load_state_dict({name: torch.tensor(tensor.numpy()) for name, tensor in state.items()})
    images = torch.randn(1, 1, 28, 28)
    result = network(flow.tensor(images.numpy()))
    assert result.shape == (1, 64, 20, 20)
    expected = twin(images).detach().numpy()
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_s000_04_class_and_functional_networks_agree():
    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(flow.randn(28 * 28, 10) * 0.1)

        def forward(self, x):
            return nn.functional.relu(flow.matmul(nn.Flatten()(x), self.weight))

    network, images = Functional(), flow.randn(2, 28, 28)
    scores = torch.tensor(images.numpy()).flatten(1) @ torch.tensor(network.weight.detach().numpy())
    assert (scores < 0).any()
    result = network(images)
    np.testing.assert_allclose(result.detach().numpy(), scores.relu(), rtol=1e-4, atol=1e-5)
    probabilities = nn.Softmax(dim=1)(result)
    expected = torch.softmax(scores.relu(), 1)
    np.testing.assert_allclose(probabilities.detach().numpy(), expected, rtol=1e-4, atol=1e-6)
