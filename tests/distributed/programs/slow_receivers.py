"""Slow receivers, for which senders wait, but where Gloo would go on."""

import time

import numpy as np

import oneflow as flow
import oneflow.distributed as dist
from oneflow.control_plane import flow_control
from oneflow.control_plane.message_channel import message_channel

rank, size = dist.get_rank(), dist.get_world_size()
WINDOW = 1 << 20
SHAPE = (100_000,)
# Messages of 400 KB, which fill many windows.
COUNT = 20
OTHERS = range(1, size)
BROADCAST = flow.sbp.broadcast


def broadcast(x, _):
    dist.broadcast(x, 0)
    return x


def scatter(x, _):
    dist.scatter(x, [x] * size if rank == 0 else None, 0)
    return x


def send(x, _):
    if rank == 0:
        for other in OTHERS:
            dist.send(x, other)
    else:
        dist.recv(x, 0)
    return x


def send_in_pairs(x, _):
    if rank > 0:
        return flow.comm.recv(0)
    for other in OTHERS:
        flow.comm.send(x, other)
    return x


def broadcast_objects(x, _):
    objects = [x.numpy() if rank == 0 else None]
    dist.broadcast_object_list(objects, 0)
    return flow.tensor(objects[0])


def transfer(x, number):
    first, second = flow.placement("cpu", [0]), flow.placement("cpu", list(OTHERS))
    own = flow.full(SHAPE, 1.0 * number, placement=first, sbp=BROADCAST)
    return own.to_global(placement=second, sbp=BROADCAST).to_local()


def backlog() -> int:
    """Bytes that this process has not asked for, once no more come."""
    channel, sizes = message_channel(), [-2, -1]
    while sizes[-1] != sizes[-2]:
        time.sleep(0.3)
        with channel._arrived:
            queues = list(channel._queues.values())
            sizes.append(sum(message.size for queue in queues for message in queue))
    return sizes[-1]


def check_the_backlog_is_bounded():
    for step in (broadcast, scatter, send, send_in_pairs, broadcast_objects, transfer):
        step(flow.zeros(*SHAPE), 0)
        dist.barrier()
        if rank > 0:
            most = WINDOW + 2 * 4 * SHAPE[0]
            assert 0 < backlog() < most, (step, backlog())
        for number in range(COUNT):
            x = step(flow.full(SHAPE, 1.0 * number * (rank == 0)), number)
            assert rank == 0 or x[-1].item() == number, step
        dist.barrier()


def check_messages_cross_each_other():
    if rank > 1:
        return
    other = 1 - rank
    received = [flow.zeros(*SHAPE) for _ in range(COUNT)]
    batch = [dist.P2POp(dist.isend, flow.full(SHAPE, 1.0 * n), other) for n in range(COUNT)]
    batch += [dist.P2POp(dist.irecv, x, other) for x in received]
    for work in dist.batch_isend_irecv(batch):
        assert work.wait()
    assert [x[-1].item() for x in received] == list(range(COUNT))


def check_other_messages_overtake_those_that_nobody_takes():
    own, late = flow.full(SHAPE, 1.0 * rank), flow.full(SHAPE, 3.0)
    works = []
    if rank == 0:
        works = [dist.isend(late, other, tag=1) for _ in range(COUNT) for other in OTHERS]
        dist.send(own, 1, tag=2)
    elif rank == 1:
        dist.recv(own, 0, tag=2)
    dist.all_reduce(own)
    if rank > 0:
        for _ in range(COUNT):
            dist.recv(late, 0, tag=1)
    assert all(work.wait() for work in works)


def check_asynchronous_operations_return_at_once():
    dist.broadcast(flow.zeros(*SHAPE), 0)
    works = []
    if rank == 0:
        works = [dist.broadcast(flow.ones(*SHAPE), 0, async_op=True) for _ in range(COUNT)]
        assert not works[-1].is_completed()
        for other in OTHERS:
            dist.send(flow.ones(1), other)
    else:
        dist.recv(flow.ones(1), 0)
        for _ in range(COUNT):
            x = flow.zeros(*SHAPE)
            dist.broadcast(x, 0)
            np.testing.assert_array_equal(x.numpy(), 1.0)
    assert all(work.wait() for work in works)


settings = vars(flow_control)
before = {name: settings[name] for name in ("WINDOW_BYTES", "_RECEIPT_BYTES")}
settings.update(WINDOW_BYTES=WINDOW, _RECEIPT_BYTES=WINDOW // 8)
for name, check in list(globals().items()):
    if name.startswith("check_"):
        check()
        dist.barrier()
settings.update(before)
