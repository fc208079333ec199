"""Every function of `flow.comm`, for two or more processes; each checks what it got.

Takes the names of the dtypes to try, all unless any are given.
"""

import functools
import operator
import sys

import numpy as np

import oneflow as flow
from oneflow.base.dtype import ALL_DTYPES, dtype_named

rank, size = flow.env.get_rank(), flow.env.get_world_size()
RANKS = range(size)
DTYPES = [*map(dtype_named, sys.argv[1:])] or ALL_DTYPES
assert size > 1


def equal(tensor, expected):
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(expected))


def same(tensor, change, expected):
    change(tensor)
    assert tensor.dtype is expected.dtype
    assert tensor.numpy().dtype == expected.dtype.numpy
    assert tensor.tolist() == expected.tolist(), f"{tensor}, expected {expected}"


def check_all_reduce():
    x = flow.tensor([[1.0, 2.0], [3.0, 4.0]]) + rank
    flow.comm.all_reduce(x)
    equal(x, np.array([[1, 2], [3, 4]]) * size + sum(RANKS))
    scalar = flow.tensor(float(rank))
    flow.comm.all_reduce(scalar)
    assert scalar.item() == sum(RANKS)
    empty = flow.zeros(0, 3)
    flow.comm.all_reduce(empty)
    assert empty.shape == (0, 3)


def check_builtins_return_their_results():
    own, total = flow.full((2,), rank + 1.0), sum(RANKS) + size
    equal(flow._C.local_all_reduce(own), [total] * 2)
    reduced = flow._C.local_reduce(own, dst=1, inplace=False)
    assert rank != 1 or reduced.tolist() == [total] * 2
    equal(flow._C.comm_broadcast(own, src_rank=1, inplace=False), [2, 2])
    equal(own, [rank + 1] * 2)
    gathered = flow._C.local_all_gather(flow.zeros(2 * size), own)
    equal(gathered, np.repeat(np.arange(1, size + 1), 2))
    equal(flow._C.local_reduce_scatter(flow.zeros(2), gathered), [(rank + 1) * size] * 2)
    equal(flow._C.comm_broadcast([own], src_rank=1)[0], [2, 2])
    equal(own, [2, 2])


def check_every_dtype():
    for dtype in DTYPES:
        parts = [flow.tensor([rank, 0, 1]).to(dtype) for rank in RANKS]
        own, whole = parts[rank], flow.cat(parts)
        total, copies = functools.reduce(operator.add, parts), [own] * size
        nothing, lists = flow.zeros_like(own), [flow.zeros_like(own) for _ in RANKS]
        given, scattered = parts if rank == 1 else None, functools.reduce(operator.add, copies)
        same(own.clone(), flow.comm.all_reduce, total)
        same(own.clone(), functools.partial(flow.comm.reduce, dst=1), total if rank == 1 else own)
        same(own.clone(), functools.partial(flow.comm.broadcast, src=size - 1), parts[-1])
        same(nothing, functools.partial(flow.comm.scatter, scatter_list=given, src=1), own)
        same(nothing, functools.partial(flow.comm.reduce_scatter, input_list=parts), scattered)
        joined = functools.partial(flow.comm.reduce_scatter_tensor, input_tensor=whole)
        same(nothing, joined, scattered)
        gathered = functools.partial(flow.comm.all_gather_into_tensor, input_tensor=own)
        same(flow.zeros_like(whole), gathered, whole)
        flow.comm.all_gather(lists, own)
        assert [tensor.tolist() for tensor in lists] == [part.tolist() for part in parts]
        flow.comm.all_to_all(lists, parts)
        assert [tensor.tolist() for tensor in lists] == [own.tolist()] * size


def check_a_leaf_that_requires_grad():
    x = flow.ones(2, requires_grad=True)
    flow.comm.all_reduce(x)
    assert x.requires_grad
    assert x.is_leaf
    assert x.tolist() == [size, size]


def check_reduce():
    x = flow.full((2,), float(rank))
    flow.comm.reduce(x, 1)
    assert x.tolist() == [sum(RANKS) if rank == 1 else rank] * 2


def check_all_gather():
    parts = [flow.zeros(2, 1) for _ in RANKS]
    flow.comm.all_gather(parts, flow.full((2, 1), float(rank)))
    for rank_of_part, part in enumerate(parts):
        equal(part, [[rank_of_part], [rank_of_part]])
    whole = flow.zeros(2 * size)
    flow.comm.all_gather_into_tensor(whole, flow.full((2,), float(rank)))
    equal(whole, np.repeat(np.arange(size), 2))
    own = flow.arange(6).reshape(2, 3) + 10 * rank
    rows = np.stack([np.arange(6) + 10 * index for index in range(size)])
    for shape in ((size, 2, 3), (size, 3, 2), (2 * size, 3), (6 * size,)):
        into = flow.zeros(shape, dtype=flow.int64)
        flow.comm.all_gather_into_tensor(into, own)
        np.testing.assert_array_equal(into.numpy(), rows.reshape(shape))
        part = flow.zeros(3, 2, dtype=flow.int64)
        flow.comm.reduce_scatter_tensor(part, flow.tensor(rows).reshape(shape))
        np.testing.assert_array_equal(part.numpy(), size * rows[rank].reshape(3, 2))


def check_reduce_scatter():
    own = flow.zeros(3)
    flow.comm.reduce_scatter(own, [flow.arange(3).float() + other * rank for other in RANKS])
    equal(own, np.arange(3) * size + rank * sum(RANKS))
    flow.comm.reduce_scatter_tensor(own, flow.arange(3 * size).float())
    equal(own, size * (np.arange(3) + 3 * rank))


def check_all_to_all():
    received = [flow.zeros(2) for _ in RANKS]
    flow.comm.all_to_all(received, [flow.full((2,), 10.0 * rank + other) for other in RANKS])
    for sender, tensor in enumerate(received):
        equal(tensor, [10 * sender + rank] * 2)


def check_broadcast():
    x = flow.tensor([-0.0, float("nan"), float("inf"), 1.0]) * (1 if rank == 1 else 7)
    flow.comm.broadcast(x, 1)
    equal(x, [-0.0, np.nan, np.inf, 1.0])
    assert np.signbit(x.numpy())[0]


def check_scatter_and_gather():
    own = flow.zeros(2)
    parts = [flow.full((2,), 5.0 + rank) for rank in RANKS]
    flow.comm.scatter(own, parts if rank == 1 else None, src=1)
    equal(own, [5 + rank] * 2)
    back = [flow.zeros(2) for _ in RANKS]
    flow.comm.gather(own, back if rank == 1 else None, dst=1)
    equal(flow.stack(back), [[5 + other] * 2 if rank == 1 else [0, 0] for other in RANKS])


def check_send_and_receive():
    if rank == 0:
        flow.comm.send(flow.arange(6).reshape(2, 3).to(flow.bfloat16), 1)
        flow.comm.send(flow.ones(3), 1)
        equal(flow.comm.recv(1, (4,), flow.int64), range(4))
    elif rank == 1:
        x = flow.comm.recv(0)
        assert x.dtype is flow.bfloat16
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
        out = flow.zeros(3)
        assert flow.comm.recv(0, out=out) is out
        equal(out, [1, 1, 1])
        flow.comm.send(flow.arange(4), 0, send_meta=False)


def check_a_ring():
    if rank % 2 == 0:
        flow.comm.send(flow.tensor([rank]), (rank + 1) % size)
    came = flow.comm.recv((rank - 1) % size)
    if rank % 2 == 1:
        flow.comm.send(flow.tensor([rank]), (rank + 1) % size)
    equal(came, [(rank - 1) % size])


def check_what_is_refused():
    for call, words in (
        (lambda: flow.comm.broadcast(flow.ones(1), size), "is not a rank"),
        (lambda: flow.comm.all_gather([flow.ones(1)], flow.ones(1)), "one tensor per process"),
        (lambda: flow.comm.send(flow.ones(1), rank), "another rank"),
        (lambda: flow.comm.recv(0 if rank else 1, shape=(2,)), "given together"),
        (lambda: flow.comm.all_gather_into_tensor(flow.ones(1), flow.ones(1)), "times"),
        (lambda: flow.comm.scatter(flow.ones(1), None, src=rank), "scatter_list"),
        (lambda: flow.comm.gather(flow.ones(1), None, dst=rank), "gather_list"),
    ):
        try:
            call()
        except ValueError as error:
            assert words in str(error), error  # noqa: PT017
        else:
            raise AssertionError(words)
    for call in (
        lambda: flow.comm.all_reduce([1]),
        lambda: flow.comm.all_gather([flow.ones(2) for _ in RANKS], flow.ones(1)),
    ):
        try:
            call()
        except TypeError:
            continue
        raise AssertionError


for name, check in list(globals().items()):
    if name.startswith("check_") and (name != "check_a_ring" or size % 2 == 0):
        check()
flow.comm.barrier()
