"""Modules in files: their classes' names and their attributes, and never code."""

from __future__ import annotations

import json

import numpy as np
import pytest

import flowvision
import oneflow as flow
from oneflow import nn
from oneflow.checkpoint import tensor_file
from tests.checkpoint.test_save_load import round_trip


class Tower(nn.Module):
    """A module with attributes of every kind, some of them its own parts."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.again = self.first
        self.act = nn.functional.gelu
        self.kind = nn.LayerNorm
        self.rate = np.float32(0.5)
        self.sizes = {"width": (width, [1, 2])}
        self.register_buffer("steps", flow.zeros(1), persistent=False)
        self.inner = nn.Linear(width, 1)
        self.inner.owner = [self]

    def forward(self, x):
        self.steps.add_(1)
        return self.inner(self.act(self.again(self.first(x))))


def test_every_attribute_comes_back(tmp_path):
    tower = Tower(3).eval()
    x = flow.randn(2, 3)
    expected = tower(x)
    back = round_trip(tower, tmp_path)
    assert type(back) is Tower
    assert back.again is back.first
    assert back.inner.owner[0] is back
    assert (back.act, back.kind, back.sizes) == (tower.act, tower.kind, tower.sizes)
    assert back.steps.item() == 1
    assert back.state_dict().keys() == tower.state_dict().keys()
    assert not back.training
    assert flow.equal(back(x), expected)
    back(x).sum().backward()
    assert back.first.weight.grad is not None


MODULES = {
    "recurrent": lambda: nn.LSTM(3, 4, 2),
    "transformer": lambda: nn.TransformerEncoderLayer(4, 2),
    "quantized": lambda: nn.QatConv2d(1, 2, 3),
    "network": lambda: flowvision.models.squeezenet1_0(),
    "list": lambda: nn.ModuleList([nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.5)]),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_the_package(name, tmp_path):
    module = MODULES[name]()
    back = round_trip({"model": module}, tmp_path)["model"]
    assert str(back) == str(module)
    for ours, theirs in zip(module.state_dict().items(), back.state_dict().items(), strict=True):
        assert ours[0] == theirs[0]
        assert flow.equal(ours[1], theirs[1])


def test_a_module_with_global_tensors(tmp_path):
    pair = flow.placement("cpu", [0, 1])
    module = nn.Linear(4, 4).to_global(pair, flow.sbp.split(0))
    back = round_trip(module, tmp_path)
    assert back.weight.sbp == (flow.sbp.split(0),)
    assert flow.equal(back.weight.to_local(), module.weight.to_local())


def test_what_is_code_is_refused(tmp_path):
    class Local(nn.Module):
        pass

    with pytest.raises(TypeError, match=r"Local.*top of a module"):
        round_trip(Local(), tmp_path)
    hooked = nn.Sequential(nn.Linear(2, 2))
    hooked[0].register_forward_hook(print)
    with pytest.raises(TypeError, match="0: it has _forward_hooks"):
        round_trip(hooked, tmp_path)
    tower = Tower(2)
    tower.act = lambda x: x
    with pytest.raises(TypeError, match="act"):
        round_trip(tower, tmp_path)


@pytest.mark.parametrize(
    ("description", "match"),
    [
        ({"module": ["antigravity", "Module"], "number": 0, "attributes": {}}, "not imported"),
        ({"module": ["os", "system"], "number": 0, "attributes": {}}, "not a class of modules"),
        ({"module": ["pathlib", "Path"], "number": 0, "attributes": {}}, "not a class of modules"),
        ({"module": "os", "number": 0, "attributes": {}}, "damaged"),
        ({"class": ["builtins", "int"]}, "not a class of modules"),
        ({"function": "save"}, r"no function oneflow\.save"),
        ({"same_module": 3}, "damaged"),
    ],
    ids=str,
)
def test_files_that_name_something_else(description, match, tmp_path):
    metadata = {"oneflow.structure": json.dumps(description)}
    tensor_file.write(tmp_path / "file", {}, metadata)
    with pytest.raises(RuntimeError, match=match):
        flow.load(tmp_path / "file")
