"""Settings of jobs: those that act, those that are accepted, those that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow.legacy import config as session_config
from oneflow.legacy.function_config import ACCEPTED, ACCEPTED_GROUPS

X = np.random.default_rng(0).standard_normal((8, 6), np.float32)


@pytest.fixture(autouse=True)
def fresh_session():
    flow.clear_default_session()
    yield
    flow.clear_default_session()


def _rate():
    return flow.optimizer.PiecewiseConstantScheduler([], [0.1])


def _weights(optimizer, config=None, steps=3):
    """Train on a quadratic; the weights after some steps."""

    @flow.global_function(type="train", function_config=config)
    def job(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        start = flow.constant_initializer(0.5)
        weight = flow.get_variable("w", (6,), initializer=start)
        loss = flow.math.reduce_mean(flow.math.square(x * weight - 1))
        optimizer.minimize(loss)
        return loss

    for _ in range(steps):
        job(X)
    weights = flow.get_all_variables()["w"].numpy()
    flow.clear_default_session()
    return weights


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_decay_of_sgdw_stands_beside_the_gradient(momentum):
    found = _weights(flow.optimizer.SGDW(_rate(), momentum=momentum, weight_decay=0.3))
    weight, direction = np.full(6, 0.5), np.zeros(6)
    for _ in range(3):
        gradient = (2 * (X * weight - 1) * X).mean(0) / 6
        direction = momentum * direction + gradient
        weight = weight * (1 - 0.1 * 0.3) - 0.1 * direction
    np.testing.assert_allclose(found, weight, rtol=1e-5)
    excluded = flow.optimizer.SGDW(_rate(), weight_decay=0.3, weight_decay_excludes=["w"])
    np.testing.assert_allclose(_weights(excluded), _weights(flow.optimizer.SGD(_rate())))


def test_gradients_of_parts_add_up():
    config = flow.FunctionConfig()
    config.train.num_gradient_accumulation_steps(4)
    np.testing.assert_allclose(
        _weights(flow.optimizer.SGD(_rate()), config), _weights(flow.optimizer.SGD(_rate())), 1e-5
    )
    with pytest.raises(NotImplementedError, match="SGD would clip or scale"):
        _weights(flow.optimizer.SGD(_rate(), grad_clipping=1.0), config)
    with pytest.raises(ValueError, match="positive integer"):
        config.train.num_gradient_accumulation_steps(0)


def test_states_of_optimizers_in_parts():
    expected = _weights(flow.optimizer.Adam(_rate()))
    flow.config.cpu_device_num(2)
    config = flow.FunctionConfig()
    config.optimizer_placement_optimization_mode("distributed_split")
    np.testing.assert_allclose(_weights(flow.optimizer.Adam(_rate()), config), expected, 1e-5)
    with pytest.raises(ValueError, match="mode must be"):
        config.optimizer_placement_optimization_mode("all")


def test_a_training_job_has_no_backend():
    config = flow.FunctionConfig()
    config.use_openvino()
    with pytest.raises((NotImplementedError, RuntimeError, ValueError), match=r"(?i)openvino"):
        _weights(flow.optimizer.SGD(_rate()), config)


def test_accepted_settings_say_why():
    config = flow.FunctionConfig()
    for name, reason in ACCEPTED.items():
        getattr(config, name)(1)
        setattr(config, name, 1)
        assert len(reason.split()) > 1
    for name in ACCEPTED_GROUPS:
        getattr(config, name).anything(1)
    flow.config.collective_boxing.nccl_num_streams(2)
    for name in session_config.ACCEPTED:
        getattr(flow.config, name)(1)
    assert flow.config.legacy_model_io_enabled() is False


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: flow.FunctionConfig().unknown(1), AttributeError, "no setting `unknown`"),
        (lambda: flow.FunctionConfig().train.unknown, AttributeError, "no setting `unknown`"),
        (lambda: flow.FunctionConfig().train.primary_lr(1), AttributeError, "OneFlow 0.1"),
        (lambda: flow.FunctionConfig().enable_qat(True), NotImplementedError, "quantised"),
        (lambda: flow.optimizer.CustomScheduler("lr"), NotImplementedError, "learning_rate"),
        (lambda: flow.pack(flow.ones(2), 2), NotImplementedError, "accumulation_steps"),
        (lambda: flow.unpack(flow.ones(2), 2), NotImplementedError, "accumulation_steps"),
        (lambda: flow.config.load_library_now("x.so"), NotImplementedError, "register_user_op"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_job_set():
    @flow.global_function(type="train")
    def first(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        loss = flow.layers.dense(x, 2, name="d")
        flow.optimizer.SGD(_rate()).minimize(loss)
        return loss

    @flow.global_function()
    def second(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        return x

    jobs = [each.job_conf for each in flow.experimental.get_job_set().job]
    assert [each.job_name for each in jobs] == ["first", "second"]
    assert [each.HasField("train_conf") for each in jobs] == [True, False]
    assert jobs[0].variables == ("d-weight", "d-bias")


def test_what_was_experimental_is_in_oneflow():
    assert flow.experimental.nn.Linear is flow.nn.Linear
    assert flow.experimental.abs is flow.abs
