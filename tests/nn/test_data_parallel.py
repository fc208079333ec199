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
    with pytest.raises(TypeError, match="`group` must be a group"):
        nn.SyncBatchNorm.convert_sync_batchnorm(net, process_group=object())
    group = flow.distributed.new_group([0])
    assert nn.SyncBatchNorm.convert_sync_batchnorm(norm, group).process_group is group
    without = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2, bias=False))
    assert without.bias is None
    with pytest.raises(NotImplementedError, match="FusedBatchNorm1d applies relu"):
        nn.SyncBatchNorm.convert_sync_batchnorm(nn.FusedBatchNorm1d(2))
    place = flow.placement("cpu", [0])
    layer = nn.SyncBatchNorm(2, process_group=group).to_global(place, flow.sbp.broadcast)
    with pytest.raises(ValueError, match="`process_group`"):
        layer(flow.ones(2, 2, placement=place, sbp=flow.sbp.broadcast))
