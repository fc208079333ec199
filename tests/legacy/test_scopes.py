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
