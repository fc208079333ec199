"""Seed rows that speak of four processes; says which it has checked."""

import sys

import numpy as np

import oneflow as flow
from oneflow import nn

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
GRID = flow.placement("cpu", [[0, 1], [2, 3]])


def train(net, x, y):
    optimizer = flow.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def s000_19_hybrid_parallelism():
    flow.manual_seed(0)
    net, x, y = nn.Linear(6, 4), flow.randn(8, 6), flow.randn(8, 4)
    twin = nn.Linear(6, 4)
    twin.load_state_dict(net.state_dict())
    expected = train(net, x, y)
    twin.to_global(GRID, (B, B))
    twin.weight.data = twin.weight.data.to_global(sbp=(B, S(0)))
    rows = [tensor.to_global(GRID, (B, B)).to_global(sbp=(S(0), B)) for tensor in (x, y)]
    np.testing.assert_allclose(train(twin, *rows), expected, rtol=1e-4)


def s001_35_more_processes_than_devices():
    assert flow.env.get_world_size() == 4
    x = flow.ones(3)
    flow.comm.all_reduce(x)
    assert x.tolist() == [4.0] * 3
    parts = [flow.zeros(1) for _ in range(4)]
    flow.comm.all_gather(parts, flow.tensor([float(flow.env.get_rank())]))
    assert flow.cat(parts).tolist() == [0, 1, 2, 3]


def s001_59_rows_and_columns():
    flow.manual_seed(0)
    local_x, local_w = flow.randn(4, 6), flow.randn(8, 6)
    x = local_x.to_global(GRID, (B, B)).to_global(sbp=(S(0), B))
    old_spelling = flow.placement("cpu", {0: [0, 1, 2, 3]}, (2, 2))
    w = local_w.to_global(old_spelling, (B, B)).to_global(sbp=(B, S(0)))
    y = x @ w.T
    assert y.sbp == (S(0), S(1))
    np.testing.assert_allclose(y.numpy(), (local_x @ local_w.T).numpy(), rtol=1e-5, atol=1e-6)


def s001_60_from_one_dimension_to_two():
    whole = np.arange(32.0).reshape(8, 4)
    line = flow.placement("cpu", [0, 1, 2, 3])
    for source in (S(0), S(1), B, P):
        x = flow.tensor(whole, placement=line, sbp=source)
        for pair in ((S(0), S(1)), (S(1), B), (B, S(0)), (B, B)):
            moved = x.to_global(placement=GRID, sbp=pair)
            assert moved.sbp == pair
            np.testing.assert_array_equal(moved.numpy(), whole)


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("s00"):
            check()
            sys.stdout.write(f"{name} holds\n")
