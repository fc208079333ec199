"""A program in which one process does something wrong after the first collective operation."""

import os
import signal
import sys
import time

import oneflow as flow

what, culprit = sys.argv[1], int(sys.argv[2])
x = flow.ones(3)
flow.comm.all_reduce(x)
if flow.env.get_rank() == culprit:
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "raises":
        raise ValueError("something is wrong here")
    elif what == "exits":
        sys.exit(0)
    elif what == "leaves":
        os._exit(0)
    elif what == "sleeps":
        time.sleep(600)
    elif what == "strays":
        flow.comm.broadcast(x, 0)
    elif what == "shapes":
        x = flow.ones(4)
    elif what == "lengths":
        x = flow.ones(400_000)
    elif what == "converts":
        ranks = flow.placement("cpu", [0, 1])
        flow.ones(2, placement=ranks, sbp=flow.sbp.split(0)).to_global(sbp=flow.sbp.broadcast)
    elif what == "kills_the_launcher":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
for _ in range(3):
    flow.comm.all_reduce(x)
    x.numpy()
if what == "late":
    # Work that no other process waits for.
    time.sleep(3.0 * (flow.env.get_rank() == culprit))
    sys.stdout.write(f"done {flow.env.get_rank()}\n")
