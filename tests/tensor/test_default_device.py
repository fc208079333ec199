"""The devices of new tensors that are given none; names of layouts and memory formats."""

import threading

import numpy as np
import pytest
import torch

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
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        flow.set_default_device("abacus")


def test_meta_tensors_have_shapes_and_no_values():
    with flow.device("meta"):
        layers = flow.nn.Sequential(flow.nn.Linear(1 << 20, 1 << 19), flow.nn.BatchNorm1d(1 << 19))
        x = flow.ones(3, 1 << 20)
    y = layers(x)
    assert y.is_meta
    assert y.shape == (3, 1 << 19)
    assert y.device == flow.device("meta")
    y.sum().backward()
    flow.optim.AdamW(layers.parameters()).step()
    assert layers[0].weight.grad.shape == (1 << 19, 1 << 20)
    x[1:] = 2
    assert repr(x) == f"tensor(..., device='meta', size=(3, {1 << 20}), dtype=oneflow.float32)"
    with pytest.raises(RuntimeError, match="no values to read"):
        x.sum().item()
    with pytest.raises(NotImplementedError, match="no values to copy to `cpu:0`"):
        x.cpu()
    with pytest.raises(RuntimeError, match="`meta` and `cpu:0`"):
        x + flow.ones(1 << 20)
    assert flow.arange(2).tolist() == [0, 1]  # what failed is not asked again


def test_meta_modules_are_filled_by_their_states():
    source = flow.nn.Linear(3, 2)
    with flow.device("meta"):
        assigned, filled = flow.nn.Linear(3, 2), flow.nn.Linear(3, 2)
    assigned.load_state_dict(source.state_dict(), assign=True)
    filled.to_empty(device="cpu").load_state_dict(source.state_dict())
    x = flow.randn(4, 3)
    assert assigned(x).equal(source(x))
    assert filled(x).equal(source(x))


def test_types_of_devices_that_are_not_there():
    assert flow.device("mps") == flow.device("mps:0") != flow.device("xpu")
    assert not flow.is_autocast_enabled("mps")
    with pytest.raises(RuntimeError, match="no mps device was found"):
        flow.ones(2, device="mps")


def test_layouts_and_memory_formats():
    x = flow.ones(2, 3, 4, 5)
    assert x.layout is flow.strided
    assert isinstance(flow.strided, flow.layout)
    assert [x.is_sparse, x.is_quantized, x.is_meta, x.is_mps, x.is_xpu] == [False] * 5
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


FORMATTED = {
    "contiguous": lambda lib, x, **format: x.contiguous(**format),
    "clone": lambda lib, x, **format: x.clone(**format),
    "to": lambda lib, x, **format: x.to(**format),
    "to(dtype)": lambda lib, x, **format: x.to(lib.float64, **format),
    "cpu": lambda lib, x, **format: x.cpu(**format),
    "double": lambda lib, x, **format: x.double(**format),
    "bool": lambda lib, x, **format: x.bool(**format),
    "empty": lambda lib, x, **format: lib.empty(x.shape, **format),
    "empty, sizes": lambda lib, x, **format: lib.empty(*x.shape, 1, **format),
    "empty_like": lambda lib, x, **format: lib.empty_like(x, **format),
    "zeros_like": lambda lib, x, **format: lib.zeros_like(x, **format),
    "ones_like": lambda lib, x, **format: lib.ones_like(x, **format),
    "full_like": lambda lib, x, **format: lib.full_like(x, 3.0, **format),
    "rand_like": lambda lib, x, **format: lib.rand_like(x, **format),
    "randn_like": lambda lib, x, **format: lib.randn_like(x, **format),
    "randint_like": lambda lib, x, **format: lib.randint_like(x, 3, **format),
    "resize_": lambda lib, x, **format: lib.ones(x.shape).resize_(x.shape, **format),
    "resize_as_": lambda lib, x, **format: lib.ones(x.shape).resize_as_(x, **format),
    "is_contiguous": lambda lib, x, **format: x.is_contiguous(**format),
    "Module.to": lambda lib, x, **format: lib.nn.Linear(2, 2).to(**format).weight,
}


@pytest.mark.parametrize("memory_format", flow.memory_format.__members__)
@pytest.mark.parametrize("name", FORMATTED)
def test_memory_formats_are_of_tensors_with_their_number_of_dimensions(name, memory_format):
    def outcomes(lib):
        made = lib.ones(2, 3, 4), lib.ones(2, 3, 4, 5), lib.ones(1, 2, 3, 4, 5), lib.tensor(1.0)
        return [outcome(lib, x) for x in (*made, made[0].permute(2, 0, 1), made[1].transpose(1, 3))]

    def outcome(lib, x):
        try:
            result = FORMATTED[name](lib, x, memory_format=getattr(lib, memory_format))
        except RuntimeError:
            return "refused"
        return result if isinstance(result, bool) else tuple(result.shape)

    assert outcomes(flow) == outcomes(torch)
