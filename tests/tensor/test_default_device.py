"""Where new tensors live that are given no device; names of layouts and memory formats."""

import threading

import numpy as np
import pytest

import oneflow as flow

OTHER = flow.device("cpu:1")
MADE = {
    "tensor": lambda: flow.tensor([1.0]),
    "as_tensor": lambda: flow.as_tensor([1.0]),
    "Tensor": lambda: flow.Tensor(2),
    "zeros": lambda: flow.zeros(2),
    "full": lambda: flow.full((2,), 1.0),
    "arange": lambda: flow.arange(3),
    "linspace": lambda: flow.linspace(0, 1, 3),
    "eye": lambda: flow.eye(2),
    "rand": lambda: flow.rand(2),
    "randint": lambda: flow.randint(0, 3, (2,)),
    "randperm": lambda: flow.randperm(3),
    "normal": lambda: flow.normal(0.0, 1.0, (2,)),
    "hann_window": lambda: flow.hann_window(4),
    "tril_indices": lambda: flow.tril_indices(2, 2),
    "Linear": lambda: flow.nn.Linear(2, 2).weight,
    "BatchNorm1d": lambda: flow.nn.BatchNorm1d(2).running_mean,
}


@pytest.mark.parametrize("name", MADE)
def test_new_tensors_live_on_the_default_device(name):
    with OTHER as device:
        assert device is OTHER
        assert MADE[name]().device == OTHER
        assert flow.ones(1, device="cpu:0").device == flow.device("cpu:0")
    assert MADE[name]().device == flow.device("cpu:0")


def test_tensors_like_others_and_from_arrays_live_where_those_do():
    x = flow.ones(2)
    with OTHER:
        assert flow.zeros_like(x).device == x.new_ones(3).device == x.device
        assert flow.from_numpy(np.ones(2)).device == x.device


def test_the_default_device_is_set_for_a_thread_and_within_a_block():
    seen = []
    flow.set_default_device("cpu:2")
    try:
        assert flow.get_default_device() == flow.device("cpu:2")
        with OTHER:
            flow.set_default_device("cpu:3")
            assert flow.ones(1).device == flow.device("cpu:3")
        assert flow.ones(1).device == flow.device("cpu:2")
        thread = threading.Thread(target=lambda: seen.append(flow.get_default_device()))
        thread.start()
        thread.join()
    finally:
        flow.set_default_device(None)
    assert seen == [flow.get_default_device()] == [flow.device("cpu:0")]
    with pytest.raises(RuntimeError, match="unknown device type"):
        flow.set_default_device("abacus")


def test_layouts_and_memory_formats():
    x = flow.ones(2, 3, 4, 5)
    assert x.layout is flow.strided
    assert isinstance(flow.strided, flow.layout)
    assert [x.is_sparse, x.is_quantized, x.is_meta] == [False] * 3
    assert repr(flow.channels_last) == "oneflow.channels_last"
    assert isinstance(flow.preserve_format, flow.memory_format)
    assert x.is_contiguous(memory_format=flow.contiguous_format)
    last = flow.ones(2, 4, 5, 3).permute(0, 3, 1, 2)
    assert last.is_contiguous(memory_format=flow.channels_last)
    assert not last.is_contiguous(memory_format=flow.channels_last_3d)
    for changed in (
        x.to(memory_format=flow.channels_last),
        x.clone(memory_format=flow.channels_last),
    ):
        assert flow.equal(changed, x)
