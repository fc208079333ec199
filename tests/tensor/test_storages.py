"""The memory of tensors: what shares it, and tensors that get another size in it."""

from __future__ import annotations

import copy
import ctypes
import io
import tracemalloc
import warnings

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


def test_tensors_have_numbers_of_their_own():
    for lib in (flow, torch):
        x = lib.ones(2)
        view = x[:]
        assert x._cdata == x.add_(1)._cdata != view._cdata


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


def test_what_does_not_fit_lets_the_memory_grow():
    x = flow.arange(4)
    assert x[2:].resize_(2, 3).tolist() == [[2, 3, 0], [0, 0, 0]]
    assert x.tolist() == [0, 1, 2, 3]
    same = x.resize_as_(flow.ones(2, 2))
    assert same is x
    np.testing.assert_array_equal(x.numpy(), [[0, 1], [2, 3]])


def descriptions(tensors):
    return [
        (t.tolist(), t.stride(), t.storage_offset(), t._version, t.untyped_storage().nbytes())
        for t in tensors
    ]


def grown_beside_views(lib):
    x = lib.zeros(2, 3)
    tensors = [x, x.t(), x.detach()[1], x.view(-1)[2:]]
    yield tensors
    tensors[2].resize_(5).fill_(2)
    yield tensors
    tensors[3].resize_(12).fill_(7)
    tensors[1].add_(1)
    tensors[2][1] = -1
    yield [*tensors, tensors[3][3:], x[1:, 1]]
    x.mul_(2)
    yield tensors


def grown_by_out(lib):
    x = lib.zeros(4)
    tensors = [x, x[1:3], x.view(2, 2)]
    with warnings.catch_warnings(action="ignore"):  # an `out` of another shape
        lib.add(lib.ones(6), 1, out=tensors[1])
    tensors[2][0] += 3
    yield tensors


def grown_from_nothing(lib):
    x, number = lib.zeros(0), lib.ones(())
    views = [x.view(0, 1), number[None]]
    x.resize_(3).fill_(2)
    views[1].resize_(3).fill_(4)
    yield [x, number, *views]


def grown_in_parts_of_elements(lib):
    x = lib.zeros(6, dtype=lib.int32)
    y = x[1:].view(lib.int16)
    y.resize_(14).fill_(1)
    z = lib.zeros(2, dtype=lib.complex64)
    parts = lib.view_as_real(z)
    parts.resize_(6).fill_(1)
    yield [x, y, z, parts]


def grown_beside_a_history(lib):
    leaf = lib.ones(3, requires_grad=True)
    x = leaf * 2
    detached = x.detach()
    detached.resize_(5).mul_(0).add_(3)
    yield [x, detached]
    (x * x).sum().backward()
    yield [x, leaf.grad]


def grown_storage(lib):
    x = lib.zeros(4)
    memory = x.untyped_storage()
    x.resize_(6).fill_(1)
    assert memory.nbytes() == 24
    assert memory.tolist() == x.untyped_storage().tolist()
    yield [x]


def grown_and_copied(lib):
    x = lib.zeros(4)
    y = x[1:]
    y.resize_(5).zero_()
    x, y = copy.deepcopy([x, y])
    y.add_(1)
    yield [x + 0, y + 0]
    buffer = io.BytesIO()
    lib.save([x, y], buffer)
    buffer.seek(0)
    x, y = lib.load(buffer)
    y.add_(1)
    yield [x + 0, y + 0]


def set_to_others(lib):
    y = lib.arange(6.0).view(2, 3).t()
    x = lib.zeros(4)
    view = x[1:]
    assert x.set_(y) is x
    x.add_(1)
    yield [x, y, view]
    assert x.untyped_storage() == y.untyped_storage()
    for arguments in (
        (y.untyped_storage(), 1, (2, 2), (1, 2)),
        (y.untyped_storage(),),
        (y.untyped_storage(), 1, (2, 2)),
        (y.t()[1], 1, (2,)),
        (y.untyped_storage(), 0, (6,)),
        (),
    ):
        yield [lib.zeros(4).set_(*arguments).mul_(2), y]
    x.set_(source=y.untyped_storage(), storage_offset=4, size=(4,)).fill_(1)
    yield [x, y]
    parameter = lib.nn.Parameter(lib.ones(2))
    with lib.no_grad():
        parameter.set_(y)
    assert parameter.requires_grad
    yield [(parameter.detach() + 0).contiguous()]


@pytest.mark.parametrize(
    "program",
    [
        grown_beside_views,
        grown_by_out,
        grown_from_nothing,
        grown_in_parts_of_elements,
        grown_beside_a_history,
        grown_storage,
        grown_and_copied,
        set_to_others,
    ],
)
def test_memory_that_grows_or_is_given_is_shared_as_in_pytorch(program):
    ours, theirs = ([descriptions(x) for x in program(lib)] for lib in (flow, torch))
    assert ours == theirs


def test_memory_that_cannot_be_computed_does_not_grow():
    x = flow.arange(4)
    view = x[1:]
    view.copy_(flow.arange(9)[flow.tensor([1, 20, 3])])
    with pytest.raises(IndexError):
        view.resize_(9)
    assert (x.tolist(), view.tolist()) == ([0, 1, 2, 3], [1, 2, 3])
    view.add_(1)
    assert (x.tolist(), x.untyped_storage().nbytes()) == ([0, 2, 3, 4], 32)


def test_sizes_of_memory_without_values():
    for lib in (flow, torch):
        x = lib.zeros(3, device="meta")
        view = x[1:]
        view.resize_(7)
        assert (tuple(x.shape), view.storage_offset(), x.untyped_storage().nbytes()) == (
            (3,),
            1,
            32,
        )


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib: lib.ones(2, requires_grad=True).resize_(1),
        lambda lib: lib.ones(2).resize_(-1),
        lambda lib: lib.ones(2).set_(lib.ones(2).long()),
        lambda lib: lib.ones(2).set_(lib.ones(2, 2).t(), 0, (2,)),
        lambda lib: lib.ones(2, requires_grad=True).set_(lib.ones(2)),
        lambda lib: lib.ones(2).set_(lib.ones(2, device="meta")),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    for lib in (torch, flow):
        with pytest.raises(RuntimeError):
            misuse(lib)
