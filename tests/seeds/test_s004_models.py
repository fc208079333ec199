"""Networks of PyTorch, imported."""

from __future__ import annotations

import functools
import importlib
import warnings

import pytest
import torch
from torch import nn

from oneflow_onnx.x2oneflow.util import load_pytorch_module_and_check


class ShuffleUnit(nn.Module):
    """Grouped convolutions with a shuffle of the channels in between."""

    def __init__(self, channels, groups):
        super().__init__()
        self.groups = groups
        self.squeeze = nn.Conv2d(channels, channels // 4, 1, groups=groups, bias=False)
        self.norms = nn.ModuleList(
            nn.BatchNorm2d(n) for n in (channels // 4, channels // 4, channels)
        )
        quarter = channels // 4
        self.depthwise = nn.Conv2d(quarter, quarter, 3, padding=1, groups=quarter, bias=False)
        self.expand = nn.Conv2d(quarter, channels, 1, groups=groups, bias=False)

    def forward(self, x):
        y = torch.relu(self.norms[0](self.squeeze(x)))
        batch, channels, height, width = y.shape
        y = y.reshape(batch, self.groups, channels // self.groups, height, width)
        y = y.transpose(1, 2).reshape(batch, channels, height, width)
        y = self.norms[2](self.expand(self.norms[1](self.depthwise(y))))
        return torch.relu(x + y)


def shufflenet_v1():
    units = [ShuffleUnit(48, 3) for _ in range(3)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10)]
    return nn.Sequential(nn.Conv2d(3, 48, 3, stride=2), *units, *head)


def of_torchvision(name, **options):
    # Its CPU build lacks the library with these operators; their schemas must exist.
    importlib.import_module("tests.flowvision.zoo")
    models = importlib.import_module("torchvision.models")
    return getattr(models, name)(**options)


def with_few_features(name, features=256):
    """One whose linear layers pass fewer features on: they are nine tenths of its parameters."""
    network = of_torchvision(name)
    linear = [layer for layer in network.classifier if isinstance(layer, nn.Linear)]
    sizes = [linear[0].in_features, features, features, linear[2].out_features]
    layers = iter(map(nn.Linear, sizes[:-1], sizes[1:]))
    network.classifier = nn.Sequential(
        *(next(layers) if layer in linear else layer for layer in network.classifier)
    )
    return network


def of_timm(name):
    importlib.import_module("tests.flowvision.zoo")
    return importlib.import_module("timm").create_model(name)


def calibrated(make, size):
    """A network whose normalisations have statistics of data, so that its outputs say something."""
    network = make()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        network.train()(torch.rand(4, 3, size, size))
    return network.eval()


NETWORKS = {
    "s004_P101": functools.partial(with_few_features, "alexnet"),
    "s004_P102": functools.partial(with_few_features, "vgg11_bn"),
    "s004_P103": functools.partial(of_torchvision, "googlenet", init_weights=False),
    "s004_P104": functools.partial(of_torchvision, "resnet18"),
    "s004_P105": functools.partial(of_torchvision, "resnext50_32x4d"),
    "s004_P106": functools.partial(of_timm, "legacy_seresnet18"),
    "s004_P107": functools.partial(of_timm, "mobilenetv1_100"),
    "s004_P108": functools.partial(of_torchvision, "mobilenet_v2"),
    "s004_P109": functools.partial(of_torchvision, "mobilenet_v3_large"),
    "s004_P110": functools.partial(of_torchvision, "regnet_y_400mf"),
    "s004_P111": functools.partial(of_torchvision, "densenet121"),
    "s004_P112": functools.partial(of_torchvision, "efficientnet_b0"),
    "s004_P113": functools.partial(
        of_torchvision, "inception_v3", init_weights=False, aux_logits=False
    ),
    "s004_P114": shufflenet_v1,
    "s004_P115": functools.partial(of_torchvision, "shufflenet_v2_x1_0"),
    "s004_P116": functools.partial(of_torchvision, "squeezenet1_0"),
}


# PyTorch exports pooling to a fixed size only where it divides the image's.
SIZES = {"s004_P101": 224, "s004_P102": 224}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("row", NETWORKS)
def test_networks_of_pytorch(row):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size = SIZES.get(row, 96)
        network = functools.partial(calibrated, NETWORKS[row], size)
        assert load_pytorch_module_and_check(network, (1, 3, size, size)) < 1e-3


def test_differences_are_found(monkeypatch):
    """The check fails for an import that computes something else."""
    util = importlib.import_module("oneflow_onnx.x2oneflow.util")
    monkeypatch.setattr(util, "from_pytorch", lambda *args: lambda x: x[:, :1] * 2)
    with pytest.raises(AssertionError, match="of their spread"):
        load_pytorch_module_and_check(lambda: nn.Conv2d(4, 1, 1))
