"""Two groups of the same processes: each has an order of its own."""

import threading

import oneflow as flow
import oneflow.distributed as dist

rank, size = dist.get_rank(), dist.get_world_size()
TOTAL = sum(range(1, size + 1))
groups = [None, dist.new_group(), dist.new_group()]


def all_reduce(seed, group, **options):
    x = flow.tensor([rank + 1.0, 1.0 * seed])
    return [x], [[TOTAL, size * seed]], dist.all_reduce(x, group=group, **options)


def all_gather(seed, group, **options):
    parts = [flow.zeros(2) for _ in range(size)]
    work = dist.all_gather(parts, flow.tensor([rank, 1.0 * seed]), group=group, **options)
    return parts, [[other, seed] for other in range(size)], work


def broadcast(seed, group, **options):
    x = flow.tensor([rank, 1.0 * seed])
    return [x], [[size - 1, seed]], dist.broadcast(x, size - 1, group=group, **options)


def scatter(seed, group, **options):
    own, parts = flow.zeros(2), [flow.tensor([other, 1.0 * seed]) for other in range(size)]
    work = dist.scatter(own, parts if rank == 0 else None, 0, group=group, **options)
    return [own], [[rank, seed]], work


def reduce_scatter(seed, group, **options):
    own, parts = flow.zeros(2), [flow.tensor([other, 1.0 * seed]) for other in range(size)]
    work = dist.reduce_scatter(own, parts, group=group, **options)
    return [own], [[size * rank, size * seed]], work


def barrier(seed, group, **options):
    return [], [], dist.barrier(group=group, **options)


OPERATIONS = (all_reduce, all_gather, broadcast, scatter, reduce_scatter, barrier)


def in_own_order(items):
    """Items, which are put into another order by each process."""
    first = rank % len(items)
    items = [*items[first:], *items[:first]]
    return items if rank % 2 else items[::-1]


def check_groups_differ():
    assert groups[1] != groups[2]
    assert len({groups[1], groups[2], dist.group.WORLD}) == 3
    assert dist.get_process_group_ranks(groups[1]) == list(range(size))
    dist.destroy_process_group(groups[1])
    assert dist.is_initialized()


def check_asynchronous_operations_of_groups():
    for operation in OPERATIONS:
        started = [
            operation(1 + seed, groups[seed], async_op=True)
            for _ in range(3)
            for seed in in_own_order(range(len(groups)))
        ]
        for tensors, expected, work in started:
            assert work.wait()
            assert [tensor.tolist() for tensor in tensors] == expected, operation


def check_threads_of_groups():
    failed = []

    def run(seed):
        for turn in range(5):
            for operation in OPERATIONS:
                number = 10 * turn + seed
                tensors, expected, _ = operation(number, groups[seed])
                if [tensor.tolist() for tensor in tensors] != expected:
                    failed.append((operation, number))

    # The groups' first operations, too, begin in another order on each process.
    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(len(groups))]
    for thread in in_own_order(threads):
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def check_messages_of_groups():
    """Messages of one tag are taken in another order than they were sent in."""
    if rank == 0:
        for seed, group in enumerate(groups):
            dist.send(flow.tensor([1.0 * seed]), 1, group)
    elif rank == 1:
        for seed, group in reversed(list(enumerate(groups))):
            received = flow.zeros(1)
            dist.recv(received, 0, group)
            assert received.item() == seed


def check_objects_of_groups():
    works = [dist.all_reduce(flow.ones(1), group=groups[1], async_op=True)]
    everything = [None] * size
    dist.all_gather_object(everything, ("rank", rank), group=groups[2])
    assert everything == [("rank", other) for other in range(size)]
    assert all(work.wait() for work in works)


for name, check in list(globals().items()):
    if name.startswith("check_"):
        check()
        dist.barrier()
