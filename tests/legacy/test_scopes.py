"""Tensors that a job makes within `flow.scope.placement`."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp

MADE_IN_A_SCOPE = {
    "constant": lambda: flow.constant(1.0, dtype=flow.float32, shape=(4,)),
    "ones": lambda: flow.ones(4),
    "range": lambda: flow.range(0, 4).to(flow.float32),
    "random": lambda: flow.rand(4) * 0 + 1,
    "variable": lambda: flow.get_variable("w", (4,), initializer=flow.ones_initializer()),
}


@pytest.mark.parametrize("devices", ["0:0", "0:0-1"])
@pytest.mark.parametrize("name", MADE_IN_A_SCOPE)
def test_tensors_made_in_a_scope_meet_arguments(name, devices):
    made = MADE_IN_A_SCOPE[name]

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
        with flow.scope.placement("cpu", devices):
            y = x + made()
        return y * 2

    x = np.arange(4, dtype=np.float32)
    expected = 2 * (x + (x if name == "range" else 1))
    np.testing.assert_allclose(job(x), expected)
    assert not flow.ones(2).is_global


def test_hints_change_no_result():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
        with flow.experimental.scope.config(checkpointing=True, pipeline_stage_id_hint=1):
            return x * 2

    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(job(x), 2 * x)
    with pytest.raises(TypeError, match="'stage'"):
        flow.scope.config(stage=1)


def _losses_of_stages(first, second, steps=3):
    """Losses of a job whose layers are on two placements, and whose last one shares a variable."""
    flow.clear_default_session()

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((4, 6))) -> tp.Numpy:
        uniform = flow.random_uniform_initializer(-0.1, 0.1)
        with flow.scope.placement("cpu", first):
            table = flow.get_variable("table", (6, 8), initializer=uniform)
            hidden = flow.math.tanh(flow.matmul(x, table))
        with flow.scope.placement("cpu", second):
            weight = flow.get_variable("weight", (8, 8), initializer=uniform)
            bias = flow.get_variable("bias", (8,), initializer=uniform)
            hidden = flow.nn.bias_add(flow.matmul(hidden, weight), bias)
            rebuilt = flow.matmul(hidden, table, transpose_b=True)
            loss = flow.math.reduce_mean(flow.math.square(rebuilt - x))
            schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.05])
            flow.optimizer.SGD(schedule, momentum=0.9).minimize(loss)
        return loss

    variables = flow.get_all_variables()
    generator = np.random.default_rng(0)
    values = {
        name: 0.3 * generator.standard_normal(variable.shape, np.float32)
        for name, variable in sorted(variables.items())
    }
    flow.load_variables(values)
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    return [job(x).item() for _ in range(steps)]


@pytest.mark.parametrize("second", ["0:1", "0:0-1", "0:2-3"])
def test_stages_on_several_placements_train_as_one_device_does(second):
    expected = _losses_of_stages("0:0", "0:0")
    assert expected[-1] < expected[0]
    assert _losses_of_stages("0:0", second) == pytest.approx(expected, rel=1e-5)
