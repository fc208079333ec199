"""Seed rows that speak of two processes; says which it has checked."""

import functools
import runpy
import sys
from pathlib import Path

import numpy as np

import oneflow as flow
from oneflow import nn
from oneflow.nn.parallel import DistributedDataParallel as ddp

RANK = flow.env.get_rank()
S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])
STEPS = 5


class Training(nn.Graph):
    def __init__(self, net, batches=1):
        super().__init__()
        self.net = net
        self.config.set_gradient_accumulation_steps(batches)
        self.add_optimizer(flow.optim.SGD(net.parameters(), lr=0.1))

    def build(self, x, y):
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        return loss


def net_and_data():
    flow.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    return net, flow.randn(8, 6), flow.randn(8, 4)


@functools.cache
def losses_of_one_process():
    net, x, y = net_and_data()
    graph = Training(net)
    return [graph(x, y).item() for _ in range(STEPS)]


def s000_15_data_parallel():
    net, x, y = net_and_data()
    optimizer = flow.optim.SGD(net.parameters(), lr=0.1)
    net, x, y = ddp(net), x.chunk(2)[RANK], y.chunk(2)[RANK]
    for expected in losses_of_one_process():
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        flow.comm.all_reduce(mean)
        np.testing.assert_allclose(mean.item() / 2, expected, rtol=1e-4)


def s000_15_model_parallel():
    net, x, y = net_and_data()
    net.to_global(PAIR, B)
    for layer, dim in ((net[0], 0), (net[2], 1)):
        layer.weight.data = layer.weight.data.to_global(sbp=S(dim))
    graph = Training(net)
    for expected in losses_of_one_process():
        loss = graph(x.to_global(PAIR, B), y.to_global(PAIR, B))
        np.testing.assert_allclose(loss.item(), expected, rtol=1e-4)
    assert net[0].weight.sbp == (S(0),)


def s000_15_pipeline():
    net, x, y = net_and_data()
    first, second = flow.placement("cpu", [0]), flow.placement("cpu", [1])
    net[0].to_global(first, B)
    net[2].to_global(second, B)
    graph = Training(net, batches=4)
    graph.net[0].config.stage_id = graph.net[1].config.stage_id = 0
    graph.net[2].config.stage_id = 1
    for expected in losses_of_one_process():
        losses = graph(x.to_global(first, B), y.to_global(second, B)).to_local()
        if RANK == 1:
            np.testing.assert_allclose(losses.numpy().mean(), expected, rtol=1e-4)


def s000_16_launcher():
    sys.stdout.write(f"rank {flow.env.get_rank()} of {flow.env.get_world_size()}\n")
    assert flow.env.get_world_size() == 2


def s000_17_consistent_tensor():
    x = flow.randn(2, 5).to_consistent(placement=flow.placement("cpu", {0: [0, 1]}), sbp=S(0))
    assert x.shape == (4, 5)
    assert x.is_consistent
    assert x.to_local().shape == (2, 5)


def s000_18_inference():
    x = flow.randn(4, 5, placement=PAIR, sbp=S(0))
    w = flow.randn(5, 8, placement=PAIR, sbp=B)
    assert flow.matmul(x, w).sbp == (S(0),)
    assert flow.matmul(x.to_global(sbp=B), w.to_global(sbp=S(1))).sbp == (S(1),)
    w = flow.randn(5, 8, placement=PAIR, sbp=S(1))
    assert flow.matmul(x.to_global(sbp=B), w).sbp == (S(1),)


def s000_20_ddp():
    path = Path(__file__).parent / "tutorials" / "ddp_linear_regression.py"
    w = runpy.run_path(str(path))["m"].w
    np.testing.assert_allclose(w.numpy(), [[2], [3]], atol=1e-2)


def s001_61_from_numpy():
    x = flow.tensor(np.arange(4.0), placement=PAIR, sbp=S(0))
    assert x.to_local().shape == (2,)
    assert x.to_local().tolist() == [2.0 * RANK, 2.0 * RANK + 1]


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("s00"):
            check()
            sys.stdout.write(f"{name} holds\n")
