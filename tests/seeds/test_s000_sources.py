"""Features named by the v0.5.0 release notes: one source runs as PyTorch and as OneFlow."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch
from benchmarks.models import resnet50

import oneflow as flow

SMALL = """
import {library} as torch
from {library} import nn
import {library}.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.0), nn.Linear(16, 5))

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)), inplace=True)
        x = torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1)
        return self.head(x)
"""

# Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014.
ALEXNET = """
import {library} as torch
from {library} import nn

class Net(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        pool = lambda: nn.MaxPool2d(kernel_size=3, stride=2)
        relu = lambda: nn.ReLU(inplace=True)
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2), relu(), pool(),
            nn.Conv2d(64, 192, kernel_size=5, padding=2), relu(), pool(),
            nn.Conv2d(192, 384, kernel_size=3, padding=1), relu(),
            nn.Conv2d(384, 256, kernel_size=3, padding=1), relu(),
            nn.Conv2d(256, 256, kernel_size=3, padding=1), relu(), pool(),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=0.0), nn.Linear(256 * 6 * 6, 512), relu(),
            nn.Dropout(p=0.0), nn.Linear(512, 512), relu(),
            nn.Linear(512, classes),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))
"""


def made(source, library):
    """The network that `source` defines for a library."""
    module = types.ModuleType("network")
    exec(source.format(library=library.__name__), vars(module))
    return module.Net()


NETWORKS = {
    "s000_05 a small network": (lambda library: made(SMALL, library), 32, 0.9),
    # Momenta, with what updates them, would take 0.5 GB.
    "s000_06 ResNet-50": (lambda library: resnet50.make(library, classes=10), 64, 0.0),
    "s000_07 AlexNet": (lambda library: made(ALEXNET, library), 96, 0.9),
}


def two_steps(library, network, momentum, images, labels):
    """The losses of two training steps, and the predictions after them."""
    optimizer = library.optim.SGD(network.parameters(), lr=0.001, momentum=momentum)
    images, labels = library.tensor(images), library.tensor(labels)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = library.nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, network.eval()(images).detach().numpy()


@pytest.mark.large
@pytest.mark.parametrize("name", NETWORKS)
def test_one_source_gives_the_same_predictions_and_first_step(name):
    make, size, momentum = NETWORKS[name]
    torch.manual_seed(0)
    # In double precision: batch normalization over two images magnifies differences of rounding.
    reference = make(torch).double()
    state = {name: value.numpy().copy() for name, value in reference.state_dict().items()}
    images = np.random.default_rng(0).standard_normal((2, 3, size, size))
    labels = np.array([0, 3])
    expected_losses, expected = two_steps(torch, reference, momentum, images, labels)
    del reference  # ResNet-50 takes 0.4 GB with its gradients
    model = make(flow).double()
    model.load_state_dict({name: flow.tensor(state.pop(name)) for name in list(state)})
    losses, predictions = two_steps(flow, model, momentum, images, labels)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    np.testing.assert_allclose(predictions, expected, rtol=1e-6, atol=1e-8)


def test_s000_08_more_than_200_functions_have_pytorchs_names():
    shared = [
        (place, name)
        for place in ("", "nn", "nn.functional", "linalg", "special", "optim", "Tensor")
        for name in dir(_at(flow, place))
        if not name.startswith("_")
        and callable(getattr(_at(flow, place), name))
        and callable(getattr(_at(torch, place), name, None))
    ]
    assert len(shared) > 200


def test_s000_08_functions_of_one_tensor_give_what_pytorchs_give():
    array = np.random.default_rng(0).random((3, 3)) * 0.8 + 0.1
    compared, different = set(), set()
    for name in dir(flow):
        mine, theirs = getattr(flow, name), getattr(torch, name, None)
        if name.startswith("_") or not callable(theirs) or isinstance(mine, type):
            continue
        if not hasattr(torch.Tensor, name):  # it may be a setting of the process
            continue
        try:
            first, second = (theirs(torch.tensor(array)) for _ in range(2))
        except Exception:  # it takes something else
            continue
        if not isinstance(first, torch.Tensor) or not torch.equal(first, second):
            continue
        compared.add(name)
        result = mine(flow.tensor(array))
        if tuple(result.shape) != tuple(first.shape) or not np.allclose(
            result.numpy(), first.numpy(), rtol=1e-5, atol=1e-8
        ):
            different.add(name)
    assert not different
    assert len(compared) > 80


def _at(library, path):
    for name in filter(None, path.split(".")):
        library = getattr(library, name)
    return library


def test_s000_09_either_spelling_of_an_argument_is_taken():
    x = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert flow.equal(flow.cat(inputs=[x, x], dim=0), flow.cat(tensors=[x, x], axis=0))
    assert flow.equal(x.sum(dim=1, keepdim=True), x.sum(axis=1, keepdims=True))
    assert flow.equal(flow.softmax(input=x, dim=1), flow.softmax(x, 1))
