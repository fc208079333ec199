"""Pipelines with one process per rank; each checks what it has against training on one device."""

import numpy as np

import oneflow as flow
from oneflow import nn

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
B, S = flow.sbp.broadcast, flow.sbp.split
BATCHES = 4


class Net(nn.Module):
    def __init__(self, placements=None):
        super().__init__()
        flow.manual_seed(0)
        layers = [nn.Sequential(nn.Linear(6, 6), nn.ReLU()) for _ in range(SIZE)]
        self.stages = nn.ModuleList(layers)
        for stage, place in zip(layers, placements or (), strict=False):
            stage.to_global(place, B)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


class Training(nn.Graph):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.loss = nn.CrossEntropyLoss()
        self.config.set_gradient_accumulation_steps(BATCHES)
        parameters = list(net.parameters())
        clipped = {"params": parameters, "clip_grad_max_norm": 0.1, "clip_grad_norm_type": 2.0}
        # Its steps show by how much gradients are scaled, which AdamW's would not.
        self.add_optimizer(flow.optim.SGD([clipped], lr=0.5, momentum=0.9))
        for index, stage in enumerate(self.net.stages):
            stage.config.stage_id = index

    def build(self, x, y):
        loss = self.loss(self.net(x), y)
        loss.backward()
        return loss


def train(placements=None):
    net = Net(placements)
    graph = Training(net)
    flow.manual_seed(1)
    x, y = flow.randn(8, 6), flow.randint(0, 6, (8,))
    if placements:
        x, y = x.to_global(placements[0], B), y.to_global(placements[-1], B)
    return [graph(x, y) for _ in range(5)], net


def close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


expected, whole = train()


def check(placements):
    found, net = train(placements)
    if RANK in placements[-1].flat:
        for one, other in zip(found, expected, strict=True):
            close(one.to_local(), other)
    for place, stage, twin in zip(placements, net.stages, whole.stages, strict=True):
        if RANK in place.flat:
            for one, other in zip(stage.parameters(), twin.parameters(), strict=True):
                close(one.to_local(), other)


check([flow.placement("cpu", [rank]) for rank in range(SIZE)])
# Stages that share ranks.
check([flow.placement("cpu", list(range(rank + 1))) for rank in range(SIZE)])
