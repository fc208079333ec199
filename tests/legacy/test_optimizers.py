"""Optimizers and learning rates of job functions against those of today."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.typing as tp
from oneflow import nn
from tests.oracle import eager_mode

X = np.random.default_rng(0).standard_normal((8, 6), np.float32)
Y = np.random.default_rng(1).integers(0, 4, 8).astype(np.int32)


def _losses_of_job(optimizer, steps=20):
    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((8, 6)), y: tp.Numpy.Placeholder((8,), flow.int32)) -> tp.Numpy:
        h = flow.layers.dense(x, 16, activation=flow.math.tanh, name="first")
        logits = flow.layers.dense(h, 4, name="second")
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        optimizer.minimize(loss)
        return flow.math.reduce_mean(loss)

    flow.load_variables(_start())
    return [float(job(X, Y)) for _ in range(steps)]


def _start():
    rng = np.random.default_rng(2)
    shapes = {"first-weight": (16, 6), "first-bias": 16, "second-weight": (4, 16), "second-bias": 4}
    return {name: rng.standard_normal(size).astype(np.float32) for name, size in shapes.items()}


@eager_mode("cold")  # the twin's step is not compiled as a whole too
def _losses_of_module(make_optimizer, steps=20, schedule=None, clip=None):
    module = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
    names = {"0.weight": "first-weight", "0.bias": "first-bias", "2.weight": "second-weight"}
    names["2.bias"] = "second-bias"
    start = _start()
    module.load_state_dict({ours: flow.tensor(start[name]) for ours, name in names.items()})
    optimizer = make_optimizer(module)
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups if schedule else ():
            group["lr"] = schedule(step)
        loss = nn.functional.cross_entropy(module(flow.tensor(X)), flow.tensor(Y))
        optimizer.zero_grad()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


def _constant(rate):
    return flow.optimizer.PiecewiseConstantScheduler([], [rate])


def _decayed(module):
    weights = [parameter for name, parameter in module.named_parameters() if "weight" in name]
    biases = [parameter for name, parameter in module.named_parameters() if "bias" in name]
    return [{"params": weights, "weight_decay": 0.1}, {"params": biases, "weight_decay": 0.0}]


_EIGHTH = math.sqrt(1 / 8)
O = flow.optimizer  # noqa: E741
CASES = {
    "SGD": (
        lambda: O.SGD(_constant(0.1), momentum=0),
        lambda m: flow.optim.SGD(m.parameters(), lr=0.1),
    ),
    "momentum": (
        lambda: O.SGD(_constant(0.05)),
        lambda m: flow.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
    ),
    "Adam": (
        lambda: O.Adam(_constant(0.01)),
        lambda m: flow.optim.Adam(m.parameters(), lr=0.01, do_bias_correction=False),
    ),
    "LazyAdam": (
        lambda: O.LazyAdam(_constant(0.01)),
        lambda m: flow.optim.Adam(m.parameters(), lr=0.01, do_bias_correction=False),
    ),
    "AdamW": (
        lambda: O.AdamW(
            _constant(0.01),
            do_bias_correction=True,
            weight_decay=0.1,
            weight_decay_excludes="bias",
        ),
        lambda m: flow.optim.AdamW(_decayed(m), lr=0.01),
    ),
    "LAMB": (
        lambda: O.LAMB(_constant(0.01), weight_decay=0.1, weight_decay_includes=["weight"]),
        lambda m: flow.optim.LAMB(_decayed(m), lr=0.01, eps=1e-6, do_bias_correction=False),
    ),
    "RMSProp": (
        lambda: O.RMSProp(_constant(0.01), centered=True),
        lambda m: flow.optim.RMSprop(m.parameters(), lr=0.01, alpha=0.99, centered=True),
    ),
}


def test_lars():
    coefficient, decay, momentum, rate = 0.02, 0.1, 0.9, 0.5
    losses = _losses_of_job(
        O.LARS(
            _constant(rate),
            lars_coefficient=coefficient,
            weight_decay=decay,
            weight_decay_includes="weight",
        ),
        steps=5,
    )
    values = {name: value.astype(np.float64) for name, value in _start().items()}
    buffers = dict.fromkeys(values, 0.0)
    expected = []
    for _ in range(5):
        weights = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
        hidden = torch.tanh(
            torch.tensor(X, dtype=torch.float64) @ weights["first-weight"].T + weights["first-bias"]
        )
        logits = hidden @ weights["second-weight"].T + weights["second-bias"]
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(Y, dtype=torch.int64))
        loss.backward()
        expected.append(loss.item())
        for name, value in values.items():
            gradient, lam = weights[name].grad.numpy(), decay * ("weight" in name)
            size, slope = np.linalg.norm(value), np.linalg.norm(gradient)
            ratio = coefficient * size / (slope + lam * size + 1e-9)
            buffers[name] = momentum * buffers[name] + ratio * (gradient + lam * value)
            values[name] = value - rate * buffers[name]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_a_job_trains_as_a_module_does(name, sample):
    sample.take_turns(CASES, name, 3)
    ours, twin = CASES[name]
    losses = _losses_of_job(ours())
    np.testing.assert_allclose(losses, _losses_of_module(twin), rtol=1e-4)
    assert losses[-1] < losses[0]


def test_schedule_and_clipping():
    schedule = O.CosineScheduler(0.5, 20, warmup=O.warmup.linear(5, 0.1))
    clipping = O.grad_clipping.by_global_norm(0.1)
    losses = _losses_of_job(O.SGD(schedule, momentum=0, grad_clipping=clipping))
    expected = _losses_of_module(
        lambda m: flow.optim.SGD(m.parameters(), lr=1.0), schedule=schedule, clip=0.1
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_combined_optimizers_update_their_own_variables():
    first = [name for name in _start() if name.startswith("first")]
    second = [name for name in _start() if name.startswith("second")]
    both = O.CombinedOptimizer(
        [
            O.SGD(_constant(0.1), momentum=0, variables=first),
            O.SGD(_constant(0.01), momentum=0, variables=lambda: second),
        ]
    )
    expected = _losses_of_module(
        lambda m: flow.optim.SGD(
            [{"params": m[0].parameters(), "lr": 0.1}, {"params": m[2].parameters(), "lr": 0.01}]
        )
    )
    np.testing.assert_allclose(_losses_of_job(both), expected, rtol=1e-4)


def test_what_optimizers_refuse():
    with pytest.raises(ValueError, match="needs its `variables`"):
        O.CombinedOptimizer([O.SGD(_constant(0.1))])
    with pytest.raises(ValueError, match="not both"):
        O.AdamW(_constant(0.1), weight_decay_includes="a", weight_decay_excludes="b")
    with pytest.raises(ValueError, match="no trainable variables named other"):
        _losses_of_job(O.SGD(_constant(0.1), variables=["other"]), 1)
    with pytest.raises(ValueError, match="must be positive"):
        O.grad_clipping.by_global_norm(0)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (O.PiecewiseConstantScheduler([2, 4], [3, 2, 1]), [3, 3, 2, 2, 1, 1]),
        (O.PiecewiseScalingScheduler(8, [1, 3], [0.5, 0.25]), [8, 4, 4, 1, 1, 1]),
        (O.PolynomialScheduler(5, 5, 0, cycle=False), [5, 4, 3, 2, 1, 0]),
        (O.PolynomialScheduler(4, 2, 0, cycle=True), [4, 2, 0, 1, 0, 4 / 6]),
        (O.ExponentialScheduler(8, 1, 0.5), [8, 4, 2, 1, 0.5, 0.25]),
        (O.InverseTimeScheduler(6, 2, 1, staircase=True), [6, 6, 3, 3, 2, 2]),
        (O.NaturalExpScheduler(1, 1, math.log(2)), [1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32]),
        (O.CosineScheduler(2, 4, alpha=0.5), [2, 1.5 + _EIGHTH, 1.5, 1.5 - _EIGHTH, 1, 1]),
        (O.LinearCosineScheduler(1, 2, beta=0), [1, 0.25, 0, 0, 0, 0]),
        (O.PiecewiseConstantScheduler([3], [2, 1], O.warmup.constant(2, 0.5)), [1, 1, 2, 1, 1, 1]),
    ],
)  # fmt: skip
def test_schedules(schedule, expected):
    np.testing.assert_allclose([schedule(step) for step in range(6)], expected, atol=1e-12)


def test_schedules_that_do_not_fit():
    with pytest.raises(ValueError, match="one value more"):
        O.PiecewiseConstantScheduler([1], [1])
    with pytest.raises(ValueError, match="a scale for each boundary"):
        O.PiecewiseScalingScheduler(1, [1], [1, 2])
    with pytest.raises(ValueError, match="must be positive"):
        O.CosineScheduler(1, 0)
