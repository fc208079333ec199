"""Replicas hold the same bits while programs get hot, whatever else the machine of a rank does.

NumPy, which computes cold programs, and XLA round differently in the last bits. Ranks whose clocks
decided when a program is hot would update the replicas of a parameter differently, for good.
"""

import threading

import numpy as np

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

STEPS = 60
PAIR = flow.placement("cpu", [0, 1])
RANK = flow.env.get_rank()

# As users have it; tests turn it off.
flow.eager.settings.background = True


def assert_equal_on_ranks(tensors):
    """Compare the bits of tensors of this process with the other's."""
    bits = np.concatenate([tensor.numpy().ravel() for tensor in tensors]).view(np.int32)
    mine = flow.tensor(bits)
    gathered = [flow.zeros_like(mine) for _ in range(2)]
    flow.comm.all_gather(gathered, mine)
    assert flow.equal(*gathered)


def data_parallel():
    flow.manual_seed(0)
    layers = nn.Linear(33, 500), nn.Tanh(), nn.LayerNorm(500), nn.Linear(500, 1)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = flow.optim.Adam(model.parameters(), lr=1e-2)
    flow.manual_seed(RANK + 1)
    for _ in range(STEPS):
        x = flow.randn(64, 33)
        F.mse_loss(model(x), x.sum(1, keepdim=True).sin()).backward()
        optimizer.step()
        optimizer.zero_grad()
        assert_equal_on_ranks(model.parameters())


def broadcast():
    flow.manual_seed(0)
    weight = flow.randn(300, 1000).to_global(PAIR, flow.sbp.broadcast)
    for _ in range(STEPS):
        change = (weight * 0.7 + 0.1).tanh()
        change = change / (change.pow(2).sum(0).sqrt() + 1e-8) * weight.exp().log1p()
        weight = weight - 0.01 * change
        assert_equal_on_ranks([weight.to_local()])


def keep_busy(end):
    while not end.is_set():
        sum(range(1000))


end = threading.Event()
busy = threading.Thread(target=keep_busy, args=(end,))
if RANK == 1:
    busy.start()
try:
    for train in (data_parallel, broadcast):
        before = flow.eager.statistics().hot_runs
        train()
        assert flow.eager.statistics().hot_runs > before, train.__name__
finally:
    end.set()
