"""Ranks compute, and print what they got and how many programs JAX has compiled for them."""

import collections
import json
import sys

import jax
import numpy as np

import oneflow as flow
from oneflow import nn

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
B, S = flow.sbp.broadcast, flow.sbp.split
ALL = flow.placement("cpu", list(range(SIZE)))
EACH = [flow.placement("cpu", [rank]) for rank in range(SIZE)]
events: collections.Counter[str] = collections.Counter()
jax.monitoring.register_event_listener(lambda name, **_: events.update([name.split("/")[-1]]))


class Training(nn.Graph):
    def __init__(self, model, zero=False):
        super().__init__()
        self.model = model
        self.add_optimizer(flow.optim.Adam(model.parameters(), 0.1))
        self.config.enable_zero(zero)

    def build(self, x):
        loss = self.model(x).square().mean()
        loss.backward()
        return loss


class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8).to_global(EACH[0], B)
        self.last = nn.Linear(8, 8).to_global(EACH[-1], B)

    def forward(self, x):
        return self.last(self.first(x).relu().to_global(EACH[-1], B))


def pipeline():
    graph = Training(Stages())
    x = flow.ones(4, 8).to_global(EACH[0], B)
    return [graph(x).to_local() for _ in range(3)]


def optimizer_shards():
    graph = Training(nn.Linear(8, 8).to_global(ALL, B), zero=True)
    x = flow.ones(4, 8).to_global(ALL, S(0))
    return [graph(x) for _ in range(3)]


def data_parallel():
    model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
    optimizer = flow.optim.SGD(model.parameters(), 0.1)
    losses = []
    for _ in range(8):
        losses.append(model(flow.full((4, 8), RANK + 1.0)).square().mean())
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    return [loss.detach() for loss in losses]


def global_operations():
    x = flow.arange(30.0).reshape(5, 6).to_global(ALL, S(0))
    alone = x.to_global(EACH[-1], B)
    return [(x @ x.T).sum(), alone.tanh().to_global(ALL, B), alone.to_local()]


def local_graph():
    class Square(nn.Graph):
        def build(self, x):
            return (x * x).sum()

    return [Square()(flow.arange(5.0) + RANK)]


flow.manual_seed(0)
for part in (pipeline, optimizer_shards, data_parallel, global_operations, local_graph):
    values = [np.asarray(value.numpy()).tolist() for value in part()]
    flow.comm.barrier()
    compiled = events["compile_requests_use_cache"] - events["cache_hits"]
    sys.stdout.write(json.dumps([RANK, part.__name__, compiled, values]) + "\n")
    sys.stdout.flush()
    events.clear()
