"""Asynchronous collectives: they start at once, whatever the other processes do first."""

import numpy as np

import oneflow as flow
import oneflow.distributed as dist

rank, size = dist.get_rank(), dist.get_world_size()
OTHERS = range(1, size)


def part(number, seed=0):
    return flow.tensor([1.0 + number, 10.0 * seed, -1.0])


def all_reduce(seed, **options):
    x = part(rank, seed)
    return [x], dist.all_reduce(x, **options)


def maximum(seed, **options):
    x = part(rank, seed)
    return [x], dist.all_reduce(x, op=dist.ReduceOp.MAX, **options)


def reduce(seed, **options):
    x = part(rank, seed)
    return [x], dist.reduce(x, 1, **options)


def broadcast(seed, **options):
    x = part(rank, seed)
    return [x], dist.broadcast(x, size - 1, **options)


def all_gather(seed, **options):
    parts = [flow.zeros(3) for _ in range(size)]
    return parts, dist.all_gather(parts, part(rank, seed), **options)


def all_gather_into_tensor(seed, **options):
    whole = flow.zeros(size, 3)
    return [whole], dist.all_gather_into_tensor(whole, part(rank, seed), **options)


def gather(seed, **options):
    parts = [flow.zeros(3) for _ in range(size)] if rank == 1 else None
    return parts or [], dist.gather(part(rank, seed), parts, 1, **options)


def scatter(seed, **options):
    own, parts = flow.zeros(3), [part(number, seed) for number in range(size)]
    return [own], dist.scatter(own, parts if rank == 0 else None, 0, **options)


def reduce_scatter(seed, **options):
    own, parts = flow.zeros(3), [part(rank + number, seed) for number in range(size)]
    return [own], dist.reduce_scatter(own, parts, **options)


def all_to_all(seed, **options):
    parts = [flow.zeros(3) for _ in range(size)]
    own = [part(10 * rank + number, seed) for number in range(size)]
    return parts, dist.all_to_all(parts, own, **options)


def gather_rows(seed, **options):
    whole = flow.zeros(size + 1, 3)
    return [whole], dist.all_gather(list(whole[1:]), part(rank, seed), **options)


def reduce_column(seed, **options):
    whole = flow.stack([part(rank, seed), part(rank, seed + 1)])
    return [whole], dist.all_reduce(whole[:, 1], **options)


def all_reduce_twice(seed, **options):
    x = part(rank, seed)
    dist.all_reduce(x, **options)
    return [x], dist.all_reduce(x, **options)


def barrier(seed, **options):
    return [], dist.barrier(**options)


OPERATIONS = (
    all_reduce, maximum, reduce, broadcast, all_gather, all_gather_into_tensor, gather, scatter,
    reduce_scatter, all_to_all, gather_rows, reduce_column, all_reduce_twice, barrier,
)  # fmt: skip


def numbers(tensors):
    return [tensor.tolist() for tensor in tensors]


def check_nobody_is_waited_for_at_the_start():
    """The others begin an operation when they have a message that is sent after its start."""
    for operation in OPERATIONS:
        token = flow.ones(1)
        if rank == 0:
            tensors, work = operation(3, async_op=True)
            assert not work.is_completed(), operation
            for other in OTHERS:
                dist.send(token, other)
        else:
            dist.recv(token, 0)
            tensors, work = operation(3, async_op=True)
        assert work.wait()
        assert work.is_completed()
        assert numbers(tensors) == numbers(operation(3)[0]), operation


def check_reading_waits():
    for operation in OPERATIONS:
        tensors, _ = operation(4, async_op=True)
        assert numbers(tensors) == numbers(operation(4)[0]), operation


def check_operations_stay_in_order():
    started = [operation(seed, async_op=True) for seed in range(8) for operation in OPERATIONS]
    expected = [operation(seed) for seed in range(8) for operation in OPERATIONS]
    for (tensors, work), (others, _) in zip(reversed(started), reversed(expected), strict=True):
        work.wait()
        assert numbers(tensors) == numbers(others)


def check_groups_do_not_wait_for_each_other():
    pair = dist.new_group([0, 1])
    if rank > 1:
        x = part(rank)
        return dist.all_reduce(x)
    both = {"all": (part(rank), None), "pair": (part(rank, 1), pair)}
    order = ["all", "pair"] if rank == 0 else ["pair", "all"]
    works = [dist.all_reduce(x, group=group, async_op=True) for x, group in map(both.get, order)]
    assert all(work.wait() for work in works)
    assert both["pair"][0].tolist() == [3, 20, -2]
    assert both["all"][0].tolist()[0] == sum(range(1, size + 1))
    return None


def check_operands_may_be_written_at_once():
    for number in range(30):
        x, parts = flow.full((300_000,), 1.0 * number), [flow.zeros(300_000) for _ in range(size)]
        work = dist.all_gather(parts, x, async_op=True)
        x += 1
        x *= 2
        work.wait()
        for own in parts:
            np.testing.assert_array_equal(own.numpy(), number)
        assert x[-1].item() == 2 * (number + 1)


def check_views_are_written():
    rows = flow.zeros(size, 3)
    work = dist.all_gather([*rows], part(rank), async_op=True)
    assert rows[:, 0].tolist() == list(range(1, size + 1))
    work.wait()


for name, check in list(globals().items()):
    if name.startswith("check_"):
        check()
        dist.barrier()
# Nobody waits for this one, but all of it is sent before the processes end.
dist.all_reduce(flow.ones(1_000_000), async_op=True)
