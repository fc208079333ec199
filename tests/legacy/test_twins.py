"""The examples with job functions, in small sizes, give the losses of their twins of today."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp
from tests.oracle import eager_mode

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "legacy"
SIZES = {
    "resnet50": {"blocks": (1, 1, 1, 1), "classes": 10, "image": 32, "batch": 4},
    "bert_pretraining": {
        "vocabulary": 50,
        "length": 12,
        "masked": 3,
        "width": 16,
        "heads": 2,
        "batch": 4,
    },
    "wide_and_deep": {"rows": 40, "fields": 3, "numbers": 4, "features": 4, "batch": 16},
}


@pytest.fixture
def load_example(monkeypatch):
    """Return the function that imports an example by name."""

    def load(name):
        monkeypatch.syspath_prepend(str(EXAMPLES))
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        example = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, example)
        spec.loader.exec_module(example)
        return example

    return load


@pytest.mark.large
@pytest.mark.parametrize("name", SIZES)
def test_losses_are_those_of_today(name, load_example, sample):
    sample.take_turns(SIZES, name)
    example = load_example(name)
    with eager_mode("cold"):  # the twin's step is not compiled as a whole too
        losses = np.array(example.train(example.Size(**SIZES[name]), steps=5))
    np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=1e-4)
    assert losses[4, 0] < losses[0, 0], "the first batch, which comes again after four"


def test_lenet_has_the_losses_of_its_module(load_example):
    example = load_example("lenet")

    @flow.global_function(type="train")
    def step(
        images: tp.Numpy.Placeholder((8, 1, 28, 28)),
        labels: tp.Numpy.Placeholder((8,), dtype=flow.int32),
    ) -> tp.Numpy:
        logits = example.lenet(images)
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.005])
        flow.optimizer.SGD(schedule, momentum=0.9).minimize(loss)
        return loss

    module = example.LeNet()
    variables = flow.get_all_variables()
    module.load_state_dict(
        {name.replace("-", "."): variable for name, variable in variables.items()}
    )
    optimizer = flow.optim.SGD(module.parameters(), lr=0.005, momentum=0.9)
    random = np.random.default_rng(0)
    images = random.random((8, 1, 28, 28), np.float32)
    labels = random.integers(0, 10, 8).astype(np.int32)
    losses = []
    with eager_mode("cold"):
        for _ in range(20):
            loss = flow.nn.functional.cross_entropy(
                module(flow.tensor(images)), flow.tensor(labels).long()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append((step(images, labels).mean(), loss.item()))
    ours, twins = np.array(losses).T
    np.testing.assert_allclose(ours, twins, rtol=1e-4)
    assert ours[-1] < ours[0]
