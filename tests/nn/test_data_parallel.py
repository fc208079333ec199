"""Data parallelism within one process: the layer itself on its one device; synchronised norms."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn


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


def test_statistics_of_all_processes_take_the_place_of_each_ones():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2)))
    norm = net[1][0]
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net, process_group=None)
    assert converted is net
    assert isinstance(net[1][0], nn.SyncBatchNorm)
    assert net[1][0].weight is norm.weight
    with pytest.raises(NotImplementedError, match="process_group"):
        nn.SyncBatchNorm.convert_sync_batchnorm(net, process_group=object())
