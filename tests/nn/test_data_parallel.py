"""Data parallelism within one process: the layer itself, on its one device."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow


def test_one_device_computes_the_layer():
    layer = flow.nn.Linear(2, 3)
    parallel = flow.nn.DataParallel(layer)
    x = flow.randn(4, 2)
    np.testing.assert_array_equal(parallel(x).numpy(), layer(x).numpy())
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    assert flow.nn.parallel.DataParallel is flow.nn.DataParallel
    assert parallel.module is layer


def test_several_devices_are_refused_with_what_to_do():
    with pytest.raises(NotImplementedError, match="to_global"):
        flow.nn.DataParallel(flow.nn.Linear(2, 3), device_ids=[0, 1])
