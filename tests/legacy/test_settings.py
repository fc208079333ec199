"""Settings of jobs: those that act, those that are accepted, those that are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow.compatible import single_client
from oneflow.legacy import config as session_config
from oneflow.legacy.function_config import ACCEPTED, ACCEPTED_GROUPS
from oneflow.legacy.unsupported import UNSUPPORTED

X = np.random.default_rng(0).standard_normal((8, 6), np.float32)


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
        (lambda: flow.FunctionConfig().enable_qat(True), NotImplementedError, "quantised"),
        (lambda: flow.optimizer.CustomScheduler("lr"), NotImplementedError, "learning_rate"),
        (lambda: flow.pack(flow.ones(2), 2), NotImplementedError, "accumulation_steps"),
        (lambda: flow.acc(flow.ones(2), 2), NotImplementedError, "accumulation_steps"),
        (lambda: flow.unpack(flow.ones(2), 2), NotImplementedError, "accumulation_steps"),
        (lambda: flow.config.load_library_now("x.so"), NotImplementedError, "register_user_op"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_names_that_are_refused_say_what_stands_for_them(name):
    assert not hasattr(flow, name)
    for module in (flow, single_client, flow.experimental):
        with pytest.raises(AttributeError, match=re.escape(UNSUPPORTED[name])):
            getattr(module, name)


def test_job_set():
    @flow.global_function(type="train")
    def first(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        loss = flow.layers.dense(x, 2, name="d")
        flow.optimizer.SGD(_rate()).minimize(loss)
        return loss

    @flow.global_function()
    def second(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        return x

    jobs = [job.job_conf for job in flow.experimental.get_job_set().job]
    assert [job.job_name for job in jobs] == ["first", "second"]
    assert [job.HasField("train_conf") for job in jobs] == [True, False]
    assert jobs[0].variables == ("d-weight", "d-bias")


def test_what_was_experimental_is_in_oneflow():
    assert flow.experimental.nn.Linear is flow.nn.Linear
    assert flow.experimental.abs is flow.abs


def test_casts_of_distributions():
    flow.config.cpu_device_num(2)
    placed = []

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        whole = flow.parallel_cast(x, distribute=flow.distribute.broadcast())
        columns = flow.hierarchical_parallel_cast(
            whole, nd_sbp=["S(1)"], grad_mode="manual", grad_nd_sbp=["B"]
        )
        placed.append((flow.parallel_cast(x), whole, columns))
        ones = flow.ones_initializer()
        weight = flow.get_variable("w", (6,), initializer=ones, nd_sbp=["B"])
        loss = flow.math.square(columns * weight)
        flow.optimizer.SGD(_rate(), momentum=0).minimize(loss)
        return loss

    np.testing.assert_allclose(job(X), X**2, rtol=1e-6)
    sbps = [tensor.sbp for tensor in placed[-1]]
    assert sbps == [(flow.sbp.split(0),), (flow.sbp.broadcast,), (flow.sbp.split(1),)]
    expected = 1 - 0.1 * 2 * (X**2).sum(0) / X.size
    np.testing.assert_allclose(flow.get_all_variables()["w"].numpy(), expected, rtol=1e-5)
    x = flow.tensor(X)
    assert flow.parallel_cast(x, distribute=flow.distribute.split(0)) is x
    with pytest.raises(ValueError, match="`grad_mode` must be one of"):
        flow.hierarchical_parallel_cast(x, ["B"], "other")
    with pytest.raises(ValueError, match="needs a `grad_parallel_distribution`"):
        flow.hierarchical_parallel_cast(x, ["B"], "manual")


def test_variables_are_assigned():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        total = flow.get_variable("total", (6,), trainable=False)
        return flow.assign(total, total + flow.math.reduce_sum(x, 0)) * 1

    np.testing.assert_allclose(job(X), X.sum(0), rtol=1e-5)
    np.testing.assert_allclose(job(X), 2 * X.sum(0), rtol=1e-5)
    np.testing.assert_allclose(flow.get_all_variables()["total"].numpy(), 2 * X.sum(0), rtol=1e-5)
    with pytest.raises(ValueError, match=r"has the shape \(2,\), and its value \(3,\)"):
        flow.assign(flow.zeros(2), flow.zeros(3))


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_view_is_known_in_the_body(mirrored):
    config = flow.FunctionConfig()
    if mirrored:
        flow.config.cpu_device_num(2)
        config.default_logical_view(flow.scope.mirrored_view())
    seen = []

    @flow.global_function(function_config=config)
    def job(x: tp.ListNumpy.Placeholder((8, 6))) -> tp.ListNumpy:
        seen.append((flow.scope.mirrored_view_enabled(), flow.scope.consistent_view_enabled()))
        return x

    job([X] * (1 + mirrored))
    assert set(seen) == {(mirrored, not mirrored)}
    with pytest.raises(RuntimeError, match="belongs into the body"):
        flow.distribute.mirrored_strategy_enabled()


def test_snapshots_by_time(tmp_path):
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
        return x * flow.get_variable("w", (6,), initializer=flow.ones_initializer())

    manager = flow.train.SimpleCheckPointManager(tmp_path / "all", prefix="s_")
    assert manager.latest_checkpoint() is None
    manager.initialize_or_restore()
    flow.load_variables({"w": np.full(6, 2.0)})
    manager.save()
    (tmp_path / "all" / "s_9_incomplete").mkdir()
    assert len(manager.list_checkpoints()) == 2
    flow.load_variables({"w": np.zeros(6)})
    manager.initialize_or_restore()
    np.testing.assert_allclose(job(X), 2 * X)
    assert manager.latest_checkpoint().endswith(manager.list_checkpoints()[-1])


def test_observers_and_draws_as_functions():
    x = flow.tensor(X)
    for per_layer in (True, False):
        ours = flow.quantization.min_max_observer(x, per_layer_quantization=per_layer)
        layer = flow.nn.MinMaxObserver(per_layer_quantization=per_layer)
        for one, other in zip(ours, layer(x), strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
    rounded = flow.quantization.fake_quantization(x, *flow.quantization.min_max_observer(x))
    np.testing.assert_allclose(rounded.numpy(), X, atol=np.abs(X).max() / 254 * 1.01)
    flow.manual_seed(0)
    drawn = flow.random.bernoulli(flow.full((100, 100), 0.25), dtype=flow.int32)
    assert drawn.dtype == flow.int32
    assert abs(drawn.float().mean().item() - 0.25) < 0.03
    batch = flow.arange(40).reshape(20, 2)
    shuffled = flow.random.shuffle(batch)
    assert shuffled.tolist() != batch.tolist()
    assert sorted(shuffled.tolist()) == batch.tolist()


def test_optimizers_name_their_variables():
    sgd = flow.optimizer.SGD(_rate(), variables=lambda: ("a", "b"))
    adam = flow.optimizer.Adam(_rate(), variables=["c"])
    assert sgd.Variables() == ["a", "b"]
    assert flow.optimizer.LAMB(_rate()).Variables() is None
    assert flow.optimizer.CombinedOptimizer([sgd, adam]).Variables() == ["a", "b", "c"]
    policy = flow.optimizer.loss_scale.dynamic_loss_scale(increment_period=2)
    plain, scaled = (
        _weights(flow.optimizer.SGD(_rate(), momentum=0, loss_scale_policy=scale_policy))
        for scale_policy in (None, policy)
    )
    np.testing.assert_array_equal(plain, scaled)


def test_earlier_paths_of_names():
    assert flow.serving.InferenceSession is flow.saved_model.InferenceSession
    assert flow.distributed.get_world_size() == 1
    assert flow.optimizer.PolynomialSchduler is flow.optimizer.PolynomialScheduler
    assert flow.consistent_user_op_builder is flow.user_op_builder
    assert flow.image_flip is flow.image.flip


def _on_two_devices(config):
    """Train a variable large enough to be divided: it, and how the state of its optimizer lies."""
    flow.config.cpu_device_num(2)
    optimizer = flow.optimizer.SGD(_rate(), momentum=0.9)

    @flow.global_function(type="train", function_config=config)
    def job(x: tp.Numpy.Placeholder((2, 2048))) -> tp.Numpy:
        weight = flow.get_variable("w", (2048,), initializer=flow.constant_initializer(0.5))
        loss = flow.math.reduce_mean(flow.math.square(x * weight - 1))
        optimizer.minimize(loss)
        return loss

    for _ in range(3):
        job(np.random.default_rng(0).standard_normal((2, 2048), np.float32))
    ((_, created),) = job.define()._optimizers_of_job
    (state,) = created.state.values()
    weights = flow.get_all_variables()["w"].numpy()
    flow.clear_default_session()
    return weights, state["momentum_buffer"].sbp


@pytest.mark.parametrize("mode", ["non_distributed", "distributed_split"])
@pytest.mark.parametrize("of", [lambda config: config, lambda config: config.train])
def test_states_of_optimizers_are_divided_by_either_setting(of, mode):
    config = flow.FunctionConfig()
    of(config).optimizer_placement_optimization_mode(mode)
    config.train.optimizer_placement_optimization_threshold(1)
    config.qat.symmetric(True)
    divided, sbp_of_parts = _on_two_devices(config)
    whole, sbp = _on_two_devices(flow.FunctionConfig())
    assert sbp_of_parts == (flow.sbp.split(0),)
    assert sbp == (flow.sbp.broadcast,)
    np.testing.assert_allclose(divided, whole, rtol=1e-5)
    with pytest.raises(ValueError, match="mode must be"):
        of(config).optimizer_placement_optimization_mode("other")


def test_observed_averages_are_variables():
    def observed(x):
        return flow.quantization.moving_average_min_max_observer(
            x, quantization_scheme="affine", momentum=0.5, name="seen"
        )

    @flow.global_function(type="train")
    def train(x: tp.Numpy.Placeholder((8, 6))) -> tuple[tp.Numpy, tp.Numpy]:
        scale, zero_point = observed(x)
        loss = flow.math.square(x * flow.get_variable("w", (6,)) - 1)
        flow.optimizer.SGD(_rate()).minimize(loss)
        return scale, zero_point

    @flow.global_function()
    def predict(x: tp.Numpy.Placeholder((8, 6))) -> tuple[tp.Numpy, tp.Numpy]:
        return observed(x)

    layer = flow.nn.MovingAverageMinMaxObserver(9, quantization_scheme="affine", momentum=0.5)
    for batch in (X, 2 * X):
        expected = [tensor.numpy() for tensor in layer(flow.tensor(batch), flow.tensor([1]))]
        np.testing.assert_allclose(train(batch), expected, rtol=1e-5)
    np.testing.assert_allclose(predict(9 * X), expected, rtol=1e-5)
    assert set(flow.get_all_variables()) == {"seen-moving_max", "seen-moving_min", "w"}
