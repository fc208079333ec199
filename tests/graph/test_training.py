"""Training loops turned into graphs: the same losses, parameters, buffers and random numbers."""

from __future__ import annotations

import copy
import gc
import importlib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.models import gpt

import oneflow as flow
from oneflow import nn
from oneflow.graph import step
from oneflow.nn import functional as F
from tests.graph.helpers import TrainGraph, assert_same_training, train_eagerly

STEPS = 50


def squares(module, x, y):
    """The loss of most tests."""
    return F.mse_loss(module(x), y)


def batches(inputs, targets, steps=STEPS, size=8):
    """`steps` random batches."""
    return [(flow.randn(size, *inputs), flow.randn(size, *targets)) for _ in range(steps)]


def perceptron() -> nn.Module:
    """Batch norm has buffers, dropout draws."""
    return nn.Sequential(
        nn.Linear(4, 16), nn.Tanh(), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 2)
    )  # fmt: skip


OPTIMIZERS = {
    "momentum": lambda m: flow.optim.SGD(m.parameters(), lr=0.05, momentum=0.9, dampening=0.1),
    "Adam": lambda m: flow.optim.Adam(m.parameters(), lr=1e-2),
    "AMSGrad": lambda m: flow.optim.Adam(m.parameters(), lr=1e-2, amsgrad=True),
    "AdamW": lambda m: flow.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=0.1),
    "NAdam": lambda m: flow.optim.NAdam(m.parameters(), lr=1e-2),
    "RAdam": lambda m: flow.optim.RAdam(m.parameters(), lr=1e-2),
}


# Rows that take seconds to train; two of them in a sample.
LARGE = ("convolutions", "the demo", "a ResNet-18", "an LSTM", "a GPT", "wide and deep")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_steps_as_in_eager_mode(optimizer):
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    assert_same_training(model, squares, batches([4], [2], 6), OPTIMIZERS[optimizer])


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(flow.float32, 1e-5), (flow.float64, 1e-12)], ids=str
)
def test_fifty_steps_of_a_perceptron_with_a_schedule(dtype, tolerance):
    graph = assert_same_training(
        perceptron().to(dtype),
        squares,
        [(x.to(dtype), y.to(dtype)) for x, y in batches([4], [2])],
        OPTIMIZERS["Adam"],
        lambda optimizer: flow.optim.lr_scheduler.StepLR(optimizer, 10, 0.5),
        tolerance=tolerance,
    )
    assert len(graph._steps) == 1


@pytest.mark.usefixtures("hot_twin")
def test_fifty_steps_of_a_convolutional_network(sample):
    sample.take_turns(LARGE, "convolutions")
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(36, 3),
    )  # fmt: skip
    assert_same_training(
        model, squares, batches([1, 8, 8], [3]), OPTIMIZERS["momentum"], tolerance=1e-3
    )


@pytest.mark.usefixtures("hot_twin")
def test_fifty_steps_of_the_demo(monkeypatch, sample):
    sample.take_turns(LARGE, "the demo")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    model = importlib.import_module("mnist").Net()

    def loss_of(module, images, digits):
        return F.cross_entropy(module(images), digits)

    data = [(flow.rand(8, 1, 28, 28), flow.randint(0, 10, (8,))) for _ in range(STEPS)]
    assert_same_training(
        model, loss_of, data, lambda m: flow.optim.AdamW(m.parameters(), lr=1e-3), tolerance=1e-3
    )


class Residual(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.inside = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.around = nn.Identity()
        if stride != 1 or before != after:
            self.around = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        return F.relu(self.inside(x) + self.around(x))


def resnet18(width: int, classes: int) -> nn.Module:
    """ResNet-18 for small images."""
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    before = width
    for index, stride in enumerate((1, 1, 2, 1, 2, 1, 2, 1)):
        after = width << index // 2
        layers.append(Residual(before, after, stride))
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


@pytest.mark.usefixtures("hot_twin")
def test_fifty_steps_of_a_resnet18(sample):
    sample.take_turns(LARGE, "a ResNet-18")

    def loss_of(module, images, labels):
        return F.cross_entropy(module(images), labels)

    def make(module):
        return flow.optim.SGD(module.parameters(), lr=3e-4, momentum=0.9)

    # In double precision: batch normalization magnifies differences of rounding step by step.
    data = [
        (flow.randn(8, 3, 16, 16, dtype=flow.float64), flow.randint(0, 10, (8,))) for _ in range(4)
    ]
    epochs = [data[step % len(data)] for step in range(STEPS)]
    assert_same_training(resnet18(8, 10).double(), loss_of, epochs, make, tolerance=1e-8)


class Recurrent(nn.Module):
    """The last state of an LSTM, and a linear layer."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8, num_layers=2, dropout=0.2)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.lstm(x.transpose(0, 1))[0][-1])


@pytest.mark.usefixtures("hot_twin")
def test_fifty_steps_of_an_lstm(sample):
    sample.take_turns(LARGE, "an LSTM")
    assert_same_training(Recurrent(), squares, batches([5, 3], [2]), OPTIMIZERS["Adam"])


@pytest.mark.usefixtures("hot_twin")
def test_fifty_steps_of_a_gpt(sample):
    sample.take_turns(LARGE, "a GPT")
    model = gpt.make_model(flow, vocabulary=17, width=16, heads=2, layers=1, context=8, dropout=0.1)

    def loss_of(module, tokens, following):
        return F.cross_entropy(module(tokens).view(-1, 17), following.view(-1))

    data = [(flow.randint(0, 17, (2, 8)), flow.randint(0, 17, (2, 8))) for _ in range(STEPS)]
    assert_same_training(model, loss_of, data, OPTIMIZERS["momentum"], tolerance=1e-4)


class WideDeep(nn.Module):
    """A linear model and a deep one side by side, on embeddings."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Embedding(30, 1)
        self.deep = nn.ModuleList(nn.Embedding(10, 4) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(14, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, categories, dense):
        wide = self.wide(categories + flow.arange(3) * 10).sum(dim=1)
        columns = [table(categories[:, i]) for i, table in enumerate(self.deep)]
        return wide + self.mlp(flow.cat([*columns, dense], dim=1))


@pytest.mark.usefixtures("hot_twin")
def test_fifty_steps_of_wide_and_deep(sample):
    sample.take_turns(LARGE, "wide and deep")

    def loss_of(module, categories, dense, clicks):
        return F.binary_cross_entropy_with_logits(module(categories, dense), clicks)

    data = [
        (flow.randint(0, 10, (6, 3)), flow.randn(6, 2), flow.randint(0, 2, (6, 1)).float())
        for _ in range(STEPS)
    ]
    assert_same_training(WideDeep(), loss_of, data, OPTIMIZERS["Adam"])


def test_groups_with_their_own_clipping():
    def make(module):
        groups = [
            {"params": [module[0].weight], "clip_grad_max_norm": 0.1, "clip_grad_norm_type": 2.0},
            {"params": [module[4].weight], "lr": 0.5},
        ]
        return flow.optim.SGD(groups, lr=0.1)

    assert_same_training(perceptron(), squares, batches([4], [2], 8), make)


def test_a_learning_rate_may_change_without_compiling_again():
    model = nn.Linear(2, 1, bias=False)
    optimizer = flow.optim.SGD(model.parameters(), lr=1.0)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), optimizer)
    x = flow.ones(1, 2)
    builds = len(graph._steps)
    for lr in (1.0, 0.25, 0.0):
        optimizer.param_groups[0]["lr"] = lr
        before = model.weight.numpy()
        graph(x)
        np.testing.assert_allclose(before - model.weight.numpy(), lr, rtol=1e-6, atol=1e-7)
        step = next(iter(graph._steps.values()))
        builds = builds or id(step)
        assert builds == id(step)


def test_what_decides_the_form_of_a_step_may_change_too():
    model = nn.Linear(2, 1, bias=False)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), optimizer)
    x = flow.ones(1, 2)
    graph(x)
    optimizer.param_groups[0]["nesterov"] = True
    before = model.weight.numpy()
    graph(x)
    # momentum 0.9 * 1 + 1 = 1.9, then 1 + 0.9 * 1.9
    np.testing.assert_allclose(before - model.weight.numpy(), 0.1 * 2.71, rtol=1e-5)


def test_parameters_of_an_optimizer_may_be_replaced():
    first, second = flow.ones(1, requires_grad=True), flow.full((1,), 5.0, requires_grad=True)
    optimizer = flow.optim.SGD([first], lr=1.0)
    parameters = optimizer.param_groups[0]["params"]
    graph = TrainGraph(nn.Identity(), lambda _, x: (parameters[0] * x).sum(), optimizer)
    assert graph(flow.ones(1)).item() == 1.0
    parameters[0] = second
    assert graph(flow.ones(1)).item() == 5.0
    assert (first.item(), second.item()) == (0.0, 4.0)


def test_several_optimizers():
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)

    class Two(nn.Graph):
        def __init__(self):
            super().__init__()
            self.first, self.second = first, second
            self.add_optimizer(flow.optim.SGD(first.parameters(), lr=0.1))
            self.add_optimizer(flow.optim.Adam(second.parameters(), lr=0.1))

        def build(self, x):
            loss = self.second(self.first(x)).sum()
            loss.backward()
            return loss

    before = [p.numpy() for m in (first, second) for p in m.parameters()]
    graph = Two()
    assert graph.training
    graph(flow.ones(2, 3))
    after = [p.numpy() for m in (first, second) for p in m.parameters()]
    assert all((a != b).any() for a, b in zip(before, after, strict=True))


def test_two_optimizers_of_one_parameter():
    """Each call would update it twice."""
    layer = nn.Linear(2, 1)
    optimizers = [flow.optim.SGD(layer.parameters(), lr=0.1), flow.optim.Adam([layer.bias])]

    class Both(nn.Graph):
        def __init__(self):
            super().__init__()
            self.layer = layer
            for optimizer in optimizers:
                self.add_optimizer(optimizer)

        def build(self, x):
            loss = self.layer(x).sum()
            loss.backward()
            return loss

    before = layer.weight.numpy()
    with pytest.raises(ValueError, match=r"optimizers 0 and 1 both hold `layer.bias`"):
        Both()(flow.ones(2, 2))
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    layer.bias.requires_grad_(False)  # then no step changes it
    Both()(flow.ones(2, 2))


class SignSGD(flow.optim.Optimizer):
    """An optimizer that defines `step` itself."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @flow.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad.sign(), alpha=-group["lr"])


def test_optimizers_with_a_step_of_their_own():
    graph = assert_same_training(
        perceptron(),
        squares,
        batches([4], [2], 6),
        lambda module: SignSGD(module.parameters(), lr=0.01),
        lambda optimizer: flow.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
    )
    assert graph.module[0].weight.grad is None


def test_hooks_of_an_optimizer_run_in_every_step():
    model = nn.Linear(2, 1)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("pre"))
    graph = TrainGraph(model, lambda m, x: m(x).sum(), optimizer)
    for _ in range(3):
        graph(flow.ones(1, 2))
    assert seen == ["pre"] * 3


def test_going_back_and_forth_between_eager_steps_and_the_graph():
    model = perceptron()
    optimizer = flow.optim.Adam(model.parameters(), lr=1e-2)
    data = batches([4], [2], 6)
    graph = TrainGraph(model, squares, optimizer)
    for index, (x, y) in enumerate(data):
        if index % 2:
            squares(model, x, y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        else:
            graph(x, y)
    assert {state["step"] for state in optimizer.state.values()} == {6}


def test_an_optimizer_may_load_its_state_between_calls():
    model = nn.Linear(2, 1)
    optimizer = flow.optim.Adam(model.parameters(), lr=0.1)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), optimizer)
    x = flow.ones(1, 2)
    graph(x)
    saved = {k: v.clone() for k, v in model.state_dict().items()}, optimizer.state_dict()
    first = graph(x).item(), model.weight.numpy()
    model.load_state_dict(saved[0])
    optimizer.load_state_dict(
        {**saved[1], "state": {k: {**v, "step": 1} for k, v in saved[1]["state"].items()}}
    )
    assert graph(x).item() == first[0]
    assert optimizer.state[model.weight]["step"] == 2


def test_the_state_of_an_optimizer_may_be_cleared_between_calls():
    weights = []
    for clears in (False, True):
        model = nn.Linear(2, 1, bias=False)
        optimizer = flow.optim.Adam(model.parameters(), lr=0.1)
        graph = TrainGraph(model, lambda m, x: m(x).sum(), optimizer)
        for size in (5.0, 1.0, 1.0):
            with flow.no_grad():
                model.weight.fill_(1.0)
            if clears:
                optimizer.state.clear()
            graph(flow.full((1, 2), size))
        weights.append(model.weight[0, 0].item())
        assert optimizer.state[model.weight]["step"] == (1 if clears else 3)
    assert weights[1] == pytest.approx(0.9)
    assert weights[0] != pytest.approx(0.9)


@pytest.mark.parametrize("act", ["step", "zero_grad"])
def test_optimizers_are_not_stepped_inside_build(act):
    model = nn.Linear(2, 1)
    optimizer = flow.optim.Adam(model.parameters(), lr=0.1)

    def loss_of(module, x):
        optimizer.zero_grad()  # without gradients there is nothing to refuse
        loss = module(x).sum()
        loss.backward()
        getattr(optimizer, act)()
        return loss

    other = flow.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(RuntimeError, match="Adam is stepped, or clears gradients, inside"):
        TrainGraph(model, loss_of, other)(flow.ones(1, 2))
    assert not optimizer.state


def test_an_optimizer_trains_modules_that_are_no_attributes():
    model = nn.Linear(2, 1, bias=False)
    twin = copy.deepcopy(model)
    x = flow.ones(1, 2)

    class Outside(nn.Graph):
        def __init__(self):
            super().__init__()
            self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))

        def build(self, x):
            loss = model(x).pow(2).sum()
            loss.backward()
            return loss

    graph = Outside()
    optimizer = flow.optim.SGD(twin.parameters(), lr=0.1)
    expected = train_eagerly(twin, lambda m, x: m(x).pow(2).sum(), optimizer, [(x,)] * 3)
    np.testing.assert_allclose([graph(x).item() for _ in range(3)], expected, rtol=1e-5)


def test_a_parameter_may_be_frozen_between_calls():
    model = nn.Linear(2, 1)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), OPTIMIZERS["momentum"](model))
    x = flow.ones(1, 2)
    graph(x)
    model.weight.requires_grad_(False)
    weight, bias = model.weight.numpy(), model.bias.numpy()
    graph(x)
    np.testing.assert_array_equal(model.weight.numpy(), weight)
    assert model.bias.item() != bias.item()


@pytest.mark.parametrize("frozen", [False, True])
def test_steps_update_parameters_in_place(frozen, monkeypatch):
    """`nn.Parameter(data)` shares its memory with `data`, which is gone after the first step.

    Variables that are only read do not make those shared that are updated.
    """
    copied = []
    copy_shared = step._copy_shared
    monkeypatch.setattr(step, "_copy_shared", lambda *given: copied.append(copy_shared(*given)))
    layer = nn.Linear(3, 2)
    layer.weight = nn.Parameter(flow.ones(2, 3))
    model = nn.Sequential(nn.Linear(3, 3).requires_grad_(not frozen), layer)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    graph = TrainGraph(model, squares, optimizer)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        graph(flow.ones(1, 3), flow.ones(1, 2))
        copied.clear()
        for _ in range(3):
            graph(flow.ones(1, 3), flow.ones(1, 2))
    finally:
        if was_enabled:
            gc.enable()
    assert not copied
