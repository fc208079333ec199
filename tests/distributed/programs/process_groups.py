"""PyTorch's names of `flow.distributed`, for two or more processes; each checks what it got.

Takes the names of the dtypes to reduce.
"""

import datetime
import functools
import operator
import sys
import warnings

import numpy as np
import pytest

import oneflow as flow
import oneflow.distributed as dist
from oneflow.base.dtype import dtype_named
from oneflow.mock_torch.pytorch.distributed import coalesced, group_operations, subgroups
from oneflow.nn.parallel import DistributedDataParallel

rank, size = dist.get_rank(), dist.get_world_size()
RANKS = range(size)
assert size > 1

REDUCTIONS = {
    dist.ReduceOp.SUM: operator.add,
    dist.ReduceOp.PRODUCT: operator.mul,
    dist.ReduceOp.MIN: np.minimum,
    dist.ReduceOp.MAX: np.maximum,
    dist.ReduceOp.BAND: operator.and_,
    dist.ReduceOp.BOR: operator.or_,
    dist.ReduceOp.BXOR: operator.xor,
}


def expect_error(kind, text, function, *args, **kwargs):
    with pytest.raises(kind, match=text):
        function(*args, **kwargs)


def check_the_job():
    assert dist.is_initialized()
    dist.init_process_group("gloo", rank=rank, world_size=size)
    assert dist.get_backend() == dist.Backend.GLOO
    expect_error(RuntimeError, f"rank {rank} of {size}", dist.init_process_group, world_size=9)
    expect_error(ValueError, "'gloo' or 'nccl'", dist.init_process_group, "carrier pigeons")
    dist.destroy_process_group()
    assert not dist.is_initialized()
    dist.init_process_group()


def numbers(of, dtype):
    return np.array([[3, 5, 1], [2, 5, 7], [6, 4, 7]][of % 3]).astype(dtype.numpy)


def check_reductions():
    for dtype in map(dtype_named, sys.argv[1:]):
        for op, combine in REDUCTIONS.items():
            if dtype.is_floating_point and op.name.startswith("B"):
                continue
            parts = [numbers(rank, dtype) for rank in RANKS]
            expected = functools.reduce(combine, parts).tolist()
            x = flow.tensor(numbers(rank, dtype).tolist(), dtype=dtype)
            own = x.clone()
            dist.all_reduce(x, op)
            assert x.tolist() == expected, (op, dtype, x)
            received = flow.zeros_like(own)
            dist.reduce_scatter(received, [own] * size, op)
            assert received.tolist() == expected
            dist.reduce_scatter_tensor(received, flow.cat([own] * size), op)
            assert received.tolist() == expected
            last = own.clone()
            dist.reduce(last, size - 1, op)
            assert last.tolist() == (expected if rank == size - 1 else own.tolist())


def check_means_and_what_there_is_not():
    x = flow.tensor([float(rank), float("nan")])
    dist.all_reduce(x, dist.ReduceOp.AVG)
    np.testing.assert_array_equal(x.numpy(), [sum(RANKS) / size, np.nan])
    own = flow.zeros(1)
    dist.reduce_scatter(own, [flow.ones(1) * rank] * size, dist.ReduceOp.AVG)
    assert own.item() == sum(RANKS) / size
    largest = flow.tensor([float(rank), float("nan") if rank else 0.0])
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    np.testing.assert_array_equal(largest.numpy(), [size - 1, np.nan])
    integers = flow.ones(1).long()
    expect_error(RuntimeError, "mean of int64", dist.all_reduce, integers, dist.ReduceOp.AVG)
    expect_error(RuntimeError, "bitwise and", dist.all_reduce, flow.ones(1), dist.ReduceOp.BAND)
    expect_error(TypeError, "ReduceOp", dist.all_reduce, flow.ones(1), "sum")


def check_handles():
    x = flow.ones(2)
    work = dist.all_reduce(x, async_op=True)
    assert work.wait()
    assert work.is_completed()
    assert x.tolist() == [size, size]
    assert dist.barrier(async_op=True).wait()


def check_groups():
    first = dist.new_group([0], timeout=datetime.timedelta(minutes=1))
    pair = dist.new_group([1, 0])
    assert (first == dist.GroupMember.NON_GROUP_MEMBER) == (rank != 0)
    if rank > 1:
        assert dist.get_rank(pair) == dist.get_world_size(pair) == -1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert dist.all_reduce(flow.ones(1), group=pair) is None
        assert "not in the group" in str(caught[0].message)
        return
    assert dist.get_process_group_ranks(pair) == [0, 1]
    assert (pair.rank(), pair.size()) == (rank, 2)
    x = flow.tensor([float(rank + 1)])
    dist.all_reduce(x, group=pair)
    assert x.item() == 3
    dist.broadcast(x, src=1, group=pair)
    parts = [flow.zeros(1), flow.zeros(1)]
    dist.all_gather(parts, flow.ones(1) * rank, group=pair)
    assert [part.item() for part in parts] == [0, 1]
    dist.barrier(pair)
    alone = dist.new_group([rank])
    expect_error(ValueError, "not a rank of the group", dist.broadcast, x, 1 - rank, alone)
    if rank == 0:
        dist.all_reduce(x, group=first)
        assert x.item() == 3
    expect_error(ValueError, "not a rank", dist.new_group, [size])
    expect_error(ValueError, "differ", dist.new_group, [0, 0])


def check_indices_in_a_group():
    """`group_src`, `group_dst` and `group_peer` count within the group, from its first rank."""
    first, last = size - 2, size - 1
    group = dist.new_group([first, last])
    if rank < first:
        return
    x = flow.tensor([1.0 + rank])
    dist.broadcast(x, group=group, group_src=1)
    assert x.item() == size
    dist.reduce(x, group=group, group_dst=0)
    assert x.item() == (2 * size if rank == first else size)
    own, parts = flow.zeros(1), [flow.full((1,), 3.0), flow.full((1,), 4.0)]
    dist.scatter(own, parts if rank == last else None, group=group, group_src=1)
    assert own.item() == 3 + rank - first
    dist.gather(own + 2, parts if rank == last else None, group=group, group_dst=1)
    assert [part.item() for part in parts] == ([5, 6] if rank == last else [3, 4])
    found = [None, None] if rank == last else None
    dist.gather_object(rank, found, group=group, group_dst=1)
    assert found == ([first, last] if rank == last else None)
    objects = [rank]
    dist.broadcast_object_list(objects, group=group, group_src=1)
    assert objects == [last]
    dist.scatter_object_list(objects, ["a", "b"], group=group, group_src=1)
    assert objects == ["ab"[rank - first]]
    if rank == first:
        dist.send(flow.ones(1), group=group, group_dst=1)
        dist.isend(flow.ones(1), group=group, group_dst=1).wait()
        assert dist.P2POp(dist.isend, x, group=group, group_peer=1).peer == last
        dist.send_object_list([{"a": 1}, "b"], group=group, group_dst=1)
    else:
        assert dist.recv(own, group=group, group_src=0) == first
        assert own.item() == 1
        assert dist.irecv(own, group=group, group_src=0).wait()
        objects = [None, None]
        assert dist.recv_object_list(objects, group=group, group_src=0) == first
        assert objects == [{"a": 1}, "b"]
    expect_error(ValueError, "either", dist.broadcast, x, 0, group, group_src=0)
    expect_error(ValueError, "either", dist.broadcast, x)
    expect_error(ValueError, "has 2 processes", dist.broadcast, x, group=group, group_src=2)


def check_messages_cross_each_other():
    """Both sides may send first, receive first, or ask in another order."""
    if rank > 1:
        return
    other = 1 - rank
    received = [flow.zeros(2) for _ in range(3)]
    late = dist.irecv(received[0], src=other, tag=7)
    dist.send(flow.full((2,), 10.0 + rank), other, tag=7)
    works = [dist.isend(flow.full((2,), 1.0 * number + rank), other) for number in (20, 30)]
    if rank == 0:
        works.append(dist.isend(flow.ones(0, 3, dtype=flow.bfloat16), other, tag=8))
        works += [dist.irecv(received[1], other), dist.irecv(received[2])]
    else:
        empty = flow.zeros(0, 3, dtype=flow.bfloat16)
        assert dist.recv(empty, tag=8) == other
        assert dist.recv(received[1]) == other
        dist.recv(received[2], other)
    assert all(work.wait() for work in (*works, late))
    assert all(work.is_completed() for work in works)
    assert [tensor.tolist() for tensor in received] == [[base + other] * 2 for base in (10, 20, 30)]


def check_a_ring():
    received = flow.zeros(300, 1000)
    to, source = (rank + 1) % size, (rank - 1) % size
    own = flow.full((300, 1000), float(rank))
    ring = [dist.P2POp(dist.isend, own, to), dist.P2POp(dist.irecv, received, source)]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    assert received.unique().tolist() == [source]


def check_bad_messages():
    if rank > 1:
        return
    other = 1 - rank
    dist.send(flow.ones(3), other, tag=1)
    expect_error(RuntimeError, "both must be the same", dist.recv, flow.zeros(2), other, None, 1)
    soon = dist.new_group([0, 1], timeout=datetime.timedelta(milliseconds=20))
    expect_error(RuntimeError, "no message", dist.recv, flow.zeros(2), other, soon, 5)
    expect_error(ValueError, "another rank", dist.send, flow.ones(1), rank)


def check_objects():
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * 1000 * rank})
    assert [record["rank"] for record in found] == list(RANKS)
    assert [len(record["text"]) for record in found] == [1000 * rank for rank in RANKS]
    gathered = [None] * size if rank == 1 else None
    dist.gather_object(("from", rank), gathered, dst=1)
    assert gathered == ([("from", rank) for rank in RANKS] if rank == 1 else None)
    names = ["a", {1: 2}] if rank == 1 else [None, None]
    dist.broadcast_object_list(names, src=1)
    assert names == ["a", {1: 2}]
    own = [None]
    dist.scatter_object_list(own, [f"for {rank}" for rank in RANKS] if rank == 0 else None)
    assert own == [f"for {rank}"]


def check_uneven_parts():
    """Process i sends i + j + 1 rows to process j."""
    sizes = [rank + sender + 1 for sender in RANKS]
    rows = flow.cat([flow.full((n, 2), 10.0 * rank + size) for size, n in enumerate(sizes)])
    received = flow.zeros(sum(sizes), 2)
    work = dist.all_to_all_single(received, rows, sizes, sizes, async_op=True)
    assert work.wait()
    expected = np.repeat([10.0 * sender + rank for sender in RANKS], sizes)
    np.testing.assert_array_equal(received[:, 0].numpy(), expected)
    expect_error(ValueError, "add up", dist.all_to_all_single, received, rows, [1] * size, sizes)


def check_tensors_sent_at_once():
    first, second = flow.full((2, 1), 1.0 + rank), flow.arange(3.0) * (1 + rank)
    wide = first.expand(2, 2)
    total = sum(range(1, size + 1))
    assert coalesced.all_reduce_coalesced([first, second]) is None
    assert (first.tolist(), second.tolist()) == ([[total]] * 2, [0, total, 2 * total])
    assert wide.tolist() == [[total] * 2] * 2
    work = coalesced.all_reduce_coalesced(second, dist.ReduceOp.MAX, async_op=True)
    assert work.wait()
    assert second.tolist() == [0, total, 2 * total]
    lists = [[flow.zeros(2), flow.zeros(1, 1)] for _ in RANKS]
    coalesced.all_gather_coalesced(lists, [flow.full((2,), 1.0 * rank), flow.full((1, 1), -1.0)])
    assert [[part.tolist() for part in parts] for parts in lists] == [
        [[sender, sender], [[-1]]] for sender in RANKS
    ]


def check_groups_of_groups():
    everyone = dist.new_group(list(reversed(RANKS)))
    last = subgroups.split_group(everyone, [[0], list(RANKS[1:])])
    assert last.ranks == ((0,) if rank == 0 else tuple(RANKS[1:]))
    assert (subgroups.split_group(None, [[size - 1]]) is None) == (rank < size - 1)
    if rank == 0:
        expect_error(RuntimeError, "excluded", subgroups.shrink_group, [0], everyone)
        return
    smaller = subgroups.shrink_group([0], everyone)
    total = flow.ones(2)
    dist.all_reduce(total, group=smaller)
    assert total.tolist() == [size - 1] * 2


def check_operations_of_groups():
    """The methods of groups, with options as in PyTorch's C++ classes; roots are indices."""
    pair = dist.new_group([0, size - 1])
    if pair == dist.GroupMember.NON_GROUP_MEMBER:
        return
    index, own = pair.rank(), lambda: flow.tensor([1.0 + rank, 2.0])
    both = [[1.0, 2.0], [float(size), 2.0]]
    smallest, root = group_operations.AllreduceOptions(), group_operations.BroadcastOptions()
    smallest.reduceOp, root.rootRank = dist.ReduceOp.MIN, 1
    x, y, z = own(), own(), own()
    pair.allreduce([x], smallest).wait()
    pair.broadcast([y], root).wait()
    pair.allreduce(z).wait()
    assert (x.tolist(), y.tolist(), z.tolist()) == (both[0], both[1], [1.0 + size, 4.0])
    reducing = group_operations.ReduceOptions(rootRank=1)
    pair.reduce([x], reducing).wait()
    assert x.tolist() == ([2.0, 4.0] if index else both[0])
    outputs = [flow.zeros(2), flow.zeros(2)]
    pair.allgather([outputs], [own()]).wait()
    assert [part.tolist() for part in outputs] == both
    pair.gather([outputs] if index else [], [own() * 2], group_operations.GatherOptions(rootRank=1))
    assert outputs[0].tolist() == ([2.0, 4.0] if index else both[0])
    part, parts = flow.zeros(2), [[own(), -own()]]
    pair.scatter([part], parts if index == 0 else [], group_operations.ScatterOptions()).wait()
    assert part.tolist() == ([-1.0, -2.0] if index else both[0])
    pair.reduce_scatter([part], parts, group_operations.ReduceScatterOptions()).wait()
    assert part.tolist() == [(-1.0) ** index * (1 + size), (-1.0) ** index * 4]
    pair.alltoall(outputs, parts[0], group_operations.AllToAllOptions()).wait()
    assert outputs[1].tolist() == [(-1.0) ** index * size, (-1.0) ** index * 2]
    x, y = own(), own()[:1]
    pair.allreduce_coalesced([x, y], group_operations.AllreduceCoalescedOptions()).wait()
    assert (x.tolist(), y.tolist()) == ([1.0 + size, 4.0], [1.0 + size])
    pair.barrier(group_operations.BarrierOptions()).wait()
    expect_error(RuntimeError, "one tensor", pair.allreduce, [x, y])


def check_data_parallelism_by_the_names_of_pytorch():
    pair = dist.new_group([0, 1])
    if rank > 1:
        return
    flow.manual_seed(rank)
    model = DistributedDataParallel(
        flow.nn.Linear(2, 1), device_ids=None, process_group=pair, find_unused_parameters=True
    )
    assert model.module is model
    assert sorted(model.state_dict()) == ["bias", "weight"]
    model(flow.ones(1, 2) * (rank + 1)).sum().backward()
    assert model.weight.grad.tolist() == [[1.5, 1.5]]
    weights = [None, None]
    dist.all_gather_object(weights, model.weight.tolist(), pair)
    assert weights[0] == weights[1]


for name, check in list(globals().items()):
    if name.startswith("check_"):
        check()
        dist.barrier()
