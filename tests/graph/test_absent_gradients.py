"""Parameters that no loss depends on stay what they are, whatever trains the others.

Momentum and weight decay would move them if their gradient was 0 in place of None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn

BOTH = flow.placement("cpu", [0, 1])
STAGES = flow.placement("cpu", [0]), flow.placement("cpu", [1])
BROADCAST, SPLIT = flow.sbp.broadcast, flow.sbp.split(0)
RNG = np.random.default_rng(0)
INPUTS = RNG.uniform(-1, 1, (8, 4)).astype(np.float32)
STATE = {
    name: RNG.uniform(-1, 1, shape).astype(np.float32)
    for name, shape in {
        "first.weight": (4, 4),
        "first.bias": (4,),
        "unused.weight": (4, 4),
        "unused.bias": (4,),
        "sometimes": (4,),
        "second.weight": (4, 4),
        "second.bias": (4,),
    }.items()
}
OPTIMIZERS = {
    "sgd": lambda lib, groups: lib.optim.SGD(groups, lr=0.1, momentum=0.9, weight_decay=0.1),
    "adamw": lambda lib, groups: lib.optim.AdamW(groups, lr=0.1, weight_decay=0.1),
}


@dataclass(frozen=True)
class Case:
    """A way to train.

    Attributes:
        zero: the stage of ZeRO.
        micro_batches: of each step.
        is_scaled: a gradient scaler.
        is_clipped: the norm of the gradients is bounded, by more than it is.
        is_global: parameters are on two devices, and batches are split.
        is_pipeline: the layers are on two devices.
        is_split: parameters are split over two devices, and trained without a graph.
        sometimes: the micro batches that use the parameter of that name.
    """

    zero: int = 0
    micro_batches: int = 1
    is_scaled: bool = False
    is_clipped: bool = False
    is_global: bool = False
    is_pipeline: bool = False
    is_split: bool = False
    sometimes: tuple[int, ...] = ()


CASES = {
    "plain": Case(),
    "global": Case(is_global=True),
    "accumulated": Case(micro_batches=2),
    "accumulated in part": Case(micro_batches=2, sometimes=(1,)),
    "scaled": Case(is_scaled=True),
    "clipped": Case(is_clipped=True),
    "all of these": Case(
        micro_batches=2, is_scaled=True, is_clipped=True, is_global=True, sometimes=(0,)
    ),
    "ZeRO 1": Case(zero=1, is_global=True),
    "ZeRO 2": Case(zero=2, is_global=True),
    "ZeRO 3": Case(zero=3, is_global=True),
    "ZeRO 3, accumulated": Case(zero=3, is_global=True, micro_batches=2, sometimes=(1,)),
    "pipeline": Case(is_pipeline=True, micro_batches=2),
    "split": Case(is_split=True),
    "split, accumulated": Case(is_split=True, micro_batches=2, sometimes=(1,)),
}


def make_net(lib, case):
    """A net with the parameters of `STATE`."""

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.unused, self.second = (lib.nn.Linear(4, 4) for _ in range(3))
            self.sometimes = lib.nn.Parameter(lib.zeros(4))

        def forward(self, x, batch):
            x = lib.tanh(self.first(x))
            if lib is flow and case.is_pipeline:
                x = x.to_global(placement=STAGES[1], sbp=BROADCAST)
            x = self.second(x)
            return x * self.sometimes if batch in case.sometimes else x

    net = Net()
    with lib.no_grad():
        for name, parameter in net.named_parameters():
            parameter.copy_(lib.tensor(STATE[name]))
    return net


class Training(nn.Graph):
    def __init__(self, net, optimizer, case):
        super().__init__()
        self.net, self.case = net, case
        self.batch = 0
        self.add_optimizer(optimizer)
        self.config.set_gradient_accumulation_steps(case.micro_batches)
        if case.zero:
            self.config.enable_zero(stage=case.zero, shard_min_size=1, shard_restore_level=0)
        if case.is_scaled:
            self.set_grad_scaler(flow.amp.GradScaler(init_scale=8.0))
        if case.is_pipeline:
            self.net.first.config.set_stage(0, STAGES[0])
            self.net.second.config.set_stage(1, STAGES[1])

    def build(self, x):
        # Once for each micro batch, as the step is recorded once.
        loss = self.net(x, self.batch).square().mean()
        self.batch += 1
        loss.backward()
        return loss


def train(case, optimizer):
    """The parameters after three steps of a graph."""
    net, x = make_net(flow, case), flow.tensor(INPUTS)
    if case.is_pipeline:
        for part, stage in ((net.first, 0), (net.unused, 0), (net.second, 1)):
            part.to_global(STAGES[stage], BROADCAST)
        net.sometimes = nn.Parameter(net.sometimes.to_global(STAGES[1], BROADCAST))
        x = x.to_global(STAGES[0], BROADCAST)
    elif case.is_split:
        net = net.to_global(BOTH, BROADCAST).to_global(BOTH, SPLIT)
        steps = OPTIMIZERS[optimizer](flow, net.parameters())
        return train_eagerly(net, steps, x.to_global(BOTH, BROADCAST), case)
    elif case.is_global:
        # Each has the whole batch, and takes its micro batches from that.
        net, x = net.to_global(BOTH, BROADCAST), x.to_global(BOTH, SPLIT)
    groups = [{"params": list(net.parameters())}]
    if case.is_clipped:
        groups[0] |= {"clip_grad_max_norm": 1e9, "clip_grad_norm_type": 2.0}
    graph = Training(net, OPTIMIZERS[optimizer](flow, groups), case)
    for _ in range(3):
        graph(x)
    return net


def train_eagerly(net, optimizer, x, case):
    """The parameters after three steps without a graph."""
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        for batch, part in enumerate(x.chunk(case.micro_batches)):
            (net(part, batch).square().mean() / case.micro_batches).backward()
        optimizer.step()
    return net


def train_with_torch(case, optimizer):
    """The parameters after three steps of PyTorch on one device."""
    net = make_net(torch, case)
    steps = OPTIMIZERS[optimizer](torch, net.parameters())
    return train_eagerly(net, steps, torch.tensor(INPUTS), case)


def check(case, optimizer):
    """Compare what a way to train gives with PyTorch's; also within a process of several."""
    expected = dict(train_with_torch(case, optimizer).named_parameters())
    for name, parameter in train(case, optimizer).named_parameters():
        if name.startswith("unused"):
            assert parameter.grad is None
        if parameter.is_global:
            parameter = parameter.to_global(sbp=BROADCAST).to_local()
        values = parameter.numpy()
        if values.size:  # not so in a process without a part of it
            np.testing.assert_allclose(
                values, expected[name].detach().numpy(), 1e-4, 1e-5, err_msg=name
            )
            if name.startswith("unused"):
                np.testing.assert_array_equal(values, STATE[name])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_parameters_without_gradients_stay(case, optimizer, sample):
    sample.take(f"absent gradients {case} {optimizer}", one_in=3)
    check(case, optimizer)
