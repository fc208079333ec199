"""Optimizers described by `FunctionConfig.train`, as in OneFlow 0.1, are those of today."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow.optimizer import warmup

X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def trained(config, add_loss):
    """Return the losses of six steps."""
    flow.clear_default_session()
    flow.manual_seed(0)

    @flow.global_function(config)
    def job(x: tp.Numpy.Placeholder((4, 3))) -> tp.Numpy:
        initializer = flow.random_normal_initializer()
        y = flow.layers.dense(x, 2, kernel_initializer=initializer, name="dense")
        loss = flow.math.square(y - 1)
        add_loss(loss)
        return loss

    return [job(X).mean() for _ in range(6)]


def described(conf):
    config = flow.FunctionConfig()
    config.train.primary_lr(0.1)
    config.train.model_update_conf(conf)
    return trained(config, flow.losses.add_loss)


def constant(warmup=None):
    return flow.optimizer.PiecewiseConstantScheduler([], [0.1], warmup)


# Descriptions of optimizers, with the optimizer; three of them in a sample.
CASES = [
    ({"naive_conf": {}}, lambda: flow.optimizer.SGD(constant(), momentum=0)),
    ({"momentum_conf": {"beta": 0.5}}, lambda: flow.optimizer.SGD(constant(), momentum=0.5)),
    (
        {
            "momentum_conf": {},
            "weight_decay_conf": {"weight_decay_rate": 0.1, "excludes": {"pattern": ["bias"]}},
        },
        lambda: flow.optimizer.SGDW(
            constant(), momentum=0.9, weight_decay=0.1, weight_decay_excludes=["bias"]
        ),
    ),
    (
        {
            "adam_conf": {"beta1": 0.8, "epsilon": 1e-6},
            "clip_conf": {"clip_by_global_norm": {"clip_norm": 0.5}},
        },
        lambda: flow.optimizer.Adam(constant(), beta1=0.8, epsilon=1e-6, grad_clipping=0.5),
    ),
    (
        {"adam_conf": {}, "weight_decay_conf": {"weight_decay_rate": 0.1}},
        lambda: flow.optimizer.AdamW(constant(), weight_decay=0.1),
    ),
    ({"lamb_conf": {}}, lambda: flow.optimizer.LAMB(constant())),
    (
        {
            "rmsprop_conf": {"decay_rate": 0.9},
            "learning_rate_decay": {"cosine_conf": {"decay_batches": 4, "alpha": 0.1}},
        },
        lambda: flow.optimizer.RMSProp(flow.optimizer.CosineScheduler(0.1, 4, 0.1), decay_rate=0.9),
    ),
    (
        {
            "naive_conf": {},
            "warmup_conf": {"linear_conf": {"warmup_batches": 3, "start_multiplier": 0.5}},
        },
        lambda: flow.optimizer.SGD(constant(warmup.linear(3, 0.5)), momentum=0),
    ),
    (
        {
            "naive_conf": {},
            "learning_rate_decay": {
                "piecewise_constant_conf": {"boundaries": [2], "values": [0.2, 0.02]}
            },
        },
        lambda: flow.optimizer.SGD(
            flow.optimizer.PiecewiseConstantScheduler([2], [0.2, 0.02]), momentum=0
        ),
    ),
]


@pytest.mark.parametrize(
    ("conf", "optimizer"),
    CASES,
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_description_means_an_optimizer(conf, optimizer, sample):
    sample.take_turns(CASES, (conf, optimizer), 3)
    config = flow.FunctionConfig()
    # A learning rate makes a job train.
    config.train.primary_lr(1)
    expected = trained(config, lambda loss: optimizer().minimize(loss))
    losses = described(conf)
    assert losses[-1] != losses[0]
    np.testing.assert_array_equal(losses, expected)


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ({}, "must have one of naive_conf"),
        ({"adam": {}}, "got adam"),
        ({"adam_conf": {}, "naive_conf": {}}, "got adam_conf, naive_conf"),
        ({"rmsprop_conf": {}, "weight_decay_conf": {"weight_decay_rate": 1}}, "does not go with"),
        ({"naive_conf": {}, "clip_conf": {"by_value": {}}}, "clip_by_global_norm, got by_value"),
        ({"naive_conf": {}, "warmup_conf": {"cosine_conf": {}}}, "linear_conf, got cosine_conf"),
    ],
)
def test_descriptions_of_no_optimizer(conf, message):
    with pytest.raises(ValueError, match=message):
        described(conf)


def test_losses_need_a_learning_rate():
    with pytest.raises(RuntimeError, match="primary_lr"):
        trained(flow.FunctionConfig(), flow.losses.add_loss)
    config = flow.FunctionConfig()
    config.train.primary_lr(0.1)
    config.train.secondary_lr(0.1)
    assert len(trained(config, flow.losses.add_loss)) == 6
    config.train.secondary_lr(0.2)
    with pytest.raises(NotImplementedError, match="secondary_lr"):
        trained(config, flow.losses.add_loss)
