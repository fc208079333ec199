"""The memory of tensors: what shares it, and tensors that get another size in it."""

from __future__ import annotations

import ctypes
import tracemalloc

import numpy as np
import pytest
import torch

import oneflow as flow


def test_views_and_detached_tensors_share_memory():
    x = flow.ones(2, 3)
    before = x.data_ptr()
    for view in (x[1], x.t(), x.detach(), x.data):
        assert view.untyped_storage() == x.untyped_storage()
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x.data_ptr() == before
    assert x[1].data_ptr() - before == 12
    other = x.clone()
    assert other.untyped_storage() != x.untyped_storage()
    assert len({x.storage(), x[0].storage(), other.storage()}) == 2


@pytest.mark.parametrize("index", [0, -1, 5])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_elements_of_storages(index, dtype):
    x = flow.arange(12).to(getattr(flow, dtype)).reshape(3, 4).t()
    for storage in (x.storage(), x.untyped_storage()):
        assert storage[index] == storage.tolist()[index]
        assert type(storage[index]) is type(storage.tolist()[index])
    assert x.untyped_storage().tolist() == list(torch_bytes(dtype))


def torch_bytes(dtype):
    return torch.arange(12).to(getattr(torch, dtype)).untyped_storage().tolist()


def test_one_byte_of_a_storage_makes_no_list_of_all():
    storage = flow.ones(1 << 20, dtype=flow.uint8).untyped_storage()
    assert storage[3] == 1
    tracemalloc.start()
    try:
        assert storage[7] == 1
        assert tracemalloc.get_traced_memory()[1] < 3 * storage.nbytes()
    finally:
        tracemalloc.stop()


def test_tensors_set_to_the_same_elements():
    others = {
        "itself": lambda x: x,
        "a view of all": lambda x: x[:],
        "detached": lambda x: x.detach(),
        "a part": lambda x: x[:2],
        "another shape": lambda x: x.view(2, 2),
        "transposed": lambda x: x.view(2, 2).t(),
        "a copy": lambda x: x.clone(),
    }
    for name, other in others.items():
        ours, theirs = flow.ones(4), torch.ones(4)
        assert ours.is_set_to(other(ours)) == theirs.is_set_to(other(theirs)), name


def test_addresses_are_of_the_values():
    x = flow.arange(6, dtype=flow.int32).reshape(2, 3) * 2
    for tensor, expected in ((x, [0, 2, 4, 6, 8, 10]), (x[1], [6, 8, 10])):
        pointer = ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_int32))
        assert pointer[: len(expected)] == expected
    assert flow.ones(2, device="meta").data_ptr() == 0


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_sizes_are_as_in_pytorch(dtype):
    sizes = []
    for lib in (flow, torch):
        x = lib.ones(4, 3, dtype=getattr(lib, dtype))[1:]
        memory = x.untyped_storage()
        sizes.append((memory.nbytes(), memory.size(), len(memory), memory.device.type))
    assert sizes[0] == sizes[1]
    typed = flow.ones(4, 3, dtype=getattr(flow, dtype))[1:].storage()
    assert (typed.size(), len(typed), typed.nbytes()) == (12, 12, sizes[0][0])
    assert typed.dtype is getattr(flow, dtype)
    assert repr(typed) == "oneflow.TypedStorage(device=cpu:0) of size 12"


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[1:], lambda x: x.t(), lambda x: x[0, 1]])
@pytest.mark.parametrize("sizes", [(2, 2), (1,), (3, 2), (0,), ((2, 1),)])
def test_what_fits_into_the_memory_is_seen_as_in_pytorch(make, sizes):
    results = []
    for lib in (flow, torch):
        whole = lib.arange(12).reshape(4, 3)
        part = make(whole)
        assert part.resize_(*sizes) is part
        part.mul_(2)
        results.append((part.tolist(), part.stride(), part.storage_offset(), whole.tolist()))
    assert results[0] == results[1]


def test_what_does_not_fit_gets_memory_of_its_own():
    x = flow.arange(4)
    assert x[2:].resize_(2, 3).tolist() == [[2, 3, 0], [0, 0, 0]]
    assert x.tolist() == [0, 1, 2, 3]
    same = x.resize_as_(flow.ones(2, 2))
    assert same is x
    np.testing.assert_array_equal(x.numpy(), [[0, 1], [2, 3]])


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib: lib.ones(2, requires_grad=True).resize_(1),
        lambda lib: lib.ones(2).resize_(-1),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    for lib in (torch, flow):
        with pytest.raises(RuntimeError):
            misuse(lib)
