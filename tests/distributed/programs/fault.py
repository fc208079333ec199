"""A program in which one process does something wrong after the first collective operation."""

import os
import signal
import socket
import sys
import time

import oneflow as flow
from oneflow.control_plane.message_channel import message_channel

what, faulty = sys.argv[1], int(sys.argv[2])
if what == "starts late" and flow.env.get_rank() == faulty:
    # Longer than Gloo waits for processes that connect.
    time.sleep(40.0)
x = flow.ones(3)
flow.comm.all_reduce(x)


def gather_between(*ranks: int) -> None:
    """A collective operation of some ranks."""
    placement = flow.placement("cpu", list(ranks))
    parts = flow.ones(2, placement=placement, sbp=flow.sbp.split(0))
    if flow.env.get_rank() in ranks:
        parts.to_global(sbp=flow.sbp.broadcast).to_local().numpy()


class SlowToDestroy:
    """An object whose destruction takes a while."""

    def __del__(self) -> None:
        time.sleep(3.0)


if what == "deadlock":
    pairs = [(0, 1), (1, 2), (0, 2)]
    for pair in pairs:
        gather_between(*pair)
    # Each with another one first.
    gather_between(*pairs[flow.env.get_rank()])
if flow.env.get_rank() == faulty:
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "raises":
        raise ValueError("something is wrong here")
    elif what == "exits":
        sys.exit(0)
    elif what == "exits with 3":
        raise SystemExit(3)
    elif what == "exits slowly with 3":
        last = SlowToDestroy()
        sys.exit(3)
    elif what == "forks":
        token, sums = flow.ones(1), flow.ones(2)
        work = flow.distributed.all_reduce(sums, async_op=True)
        child = os.fork()
        if child == 0:
            # It is no rank: what happens to it says nothing about this one.
            sys.excepthook(ValueError, ValueError("of a copy"), None)
            sys.exit(0)
        end = time.monotonic() + 30
        while not (ended := os.waitpid(child, os.WNOHANG)[0]) and time.monotonic() < end:
            time.sleep(0.01)
        if not ended:
            os.kill(child, signal.SIGKILL)
        assert ended, "the copy does not end"
        assert not work.is_completed()
        flow.distributed.send(token, 1 - faulty)
        assert work.wait()
    elif what == "leaves":
        os._exit(0)
    elif what == "sleeps":
        time.sleep(600)
    elif what == "is stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "strays":
        flow.comm.broadcast(x, 0)
    elif what == "shapes":
        x = flow.ones(4)
    elif what == "lengths":
        x = flow.ones(400_000)
    elif what == "converts":
        ranks = flow.placement("cpu", [0, 1])
        flow.ones(2, placement=ranks, sbp=flow.sbp.split(0)).to_global(sbp=flow.sbp.broadcast)
    elif what == "reads":
        flow.ones(2, placement=flow.placement("cpu", [1]), sbp=flow.sbp.broadcast).tolist()
    elif what.startswith("loses"):
        # As if the network had failed: what is sent next does not arrive.
        for sender in message_channel()._senders.values():
            sender._connection.shutdown(socket.SHUT_RDWR)
    elif what == "kills_the_launcher":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
if what == "loses a conversion":
    gather_between(0, 1)
if what == "loses a transfer":
    # The last that rank 1 does.
    own = flow.placement("cpu", [1])
    moved = flow.ones(2, placement=own, sbp=flow.sbp.broadcast).to_global(
        flow.placement("cpu", [0])
    )
    moved.to_local().numpy()
    sys.exit(0)
if what == "is interrupted":
    # Rank 1 waits for rank 0 before the first run of a program, gives up, and goes on.
    new = flow.ones(5)
    if flow.env.get_rank() == faulty:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            flow.comm.all_reduce(new)
        except KeyboardInterrupt:
            sys.stdout.write(f"interrupted: {new.tolist()}\n")
        if len(sys.argv) > 3 and sys.argv[3] == "again":
            flow.comm.all_reduce(new)
    else:
        time.sleep(1.5)
        flow.comm.all_reduce(new)
if what == "forks" and flow.env.get_rank() != faulty:
    flow.distributed.recv(flow.ones(1), faulty)
    flow.comm.all_reduce(flow.ones(2))
if what == "splits":
    ranks, split = flow.placement("cpu", [0, 1]), flow.sbp.split(int(flow.env.get_rank() == faulty))
    parts = flow.ones(2, 2, placement=ranks, sbp=flow.sbp.broadcast).to_global(sbp=split)
    sys.stdout.write(f"wrong: {parts.to_global(sbp=flow.sbp.broadcast).tolist()}\n")
for _ in range(3):
    flow.comm.all_reduce(x)
    x.numpy()
if what in ("late", "starts late", "forks"):
    # Work that no other process waits for.
    time.sleep(3.0 * (flow.env.get_rank() == faulty))
    sys.stdout.write(f"done {flow.env.get_rank()}\n")
