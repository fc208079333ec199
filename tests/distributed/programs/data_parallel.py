"""Data parallel training with two processes; each checks it against training in one process."""

import copy

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.distributed import replica
from oneflow.nn.parallel import DistributedDataParallel as ddp
from oneflow.utils.data import DataLoader, DistributedSampler, TensorDataset

rank, size = flow.env.get_rank(), flow.env.get_world_size()
RNG = np.random.default_rng(0)
INPUTS = flow.tensor(RNG.standard_normal((8, 3)).astype(np.float32))
TARGETS = flow.tensor(RNG.standard_normal((8, 2)).astype(np.float32))


def close(one, other, tolerance=1e-6):
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance)


def own_part(tensor):
    return tensor.chunk(size)[rank]


def train(model, inputs, targets, steps=5):
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    return model


def check_training_equals_one_process():
    for options in ({}, {"bucket_size": 1}, {"use_bucket": False}):
        flow.manual_seed(rank)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        assert ddp(model, **options) is model
        alone = copy.deepcopy(first_of_all(model))
        train(model, own_part(INPUTS), own_part(TARGETS))
        train(alone, INPUTS, TARGETS)
        for one, other in zip(model.parameters(), alone.parameters(), strict=True):
            close(one, other)


def first_of_all(model):
    """A copy of process 0's model without anything of data parallelism."""
    plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    plain.load_state_dict(model.state_dict())
    return plain


class Forked(nn.Module):
    """A module that uses a parameter on one process only, and another on none."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Parameter(flow.ones(2))
        self.odd = nn.Parameter(flow.ones(2))
        self.never = nn.Parameter(flow.ones(2))
        self.frozen = nn.Parameter(flow.ones(2), requires_grad=False)

    def forward(self, x):
        y = self.shared * x * self.frozen
        return {"result": (y * self.odd if rank == 1 else y, 3)}


def check_unused_parameters():
    model = ddp(Forked())
    model(flow.ones(2))["result"][0].sum().backward()
    assert model.shared.grad.tolist() == [1.0, 1.0]
    assert model.odd.grad.tolist() == [1 / size] * 2
    assert model.never.grad is None
    assert model.frozen.grad is None


def check_gradients_add_up():
    plain, model = nn.Linear(3, 2), ddp(nn.Linear(3, 2))
    plain.load_state_dict(model.state_dict())
    nn.functional.mse_loss(plain(INPUTS), TARGETS).backward()
    nn.functional.mse_loss(plain(INPUTS), TARGETS).backward()
    for _ in range(2):
        nn.functional.mse_loss(model(own_part(INPUTS)), own_part(TARGETS)).backward()
    close(model.weight.grad, plain.weight.grad)
    model.zero_grad()
    with model.no_sync():
        nn.functional.mse_loss(model(own_part(INPUTS)), own_part(TARGETS)).backward()
    before = model.weight.grad.clone()
    flow.comm.broadcast(before, 0)
    assert (rank == 0) == flow.allclose(before, model.weight.grad)
    nn.functional.mse_loss(model(own_part(INPUTS)), own_part(TARGETS)).backward()
    close(model.weight.grad, plain.weight.grad)


def check_every_backward_pass_averages():
    model = ddp(nn.Linear(1, 1, bias=False))
    first, second = (model(flow.ones(1, 1) * (rank + 1)).sum() for _ in range(2))
    first.backward(retain_graph=True)
    assert model.weight.grad.item() == 1.5
    second.backward()
    assert model.weight.grad.item() == 3.0
    first.backward()
    assert model.weight.grad.item() == 4.5


def check_copies_train_together():
    model = ddp(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    model(own_part(INPUTS)).sum().backward()
    copied = copy.deepcopy(model)
    copied.zero_grad(set_to_none=True)
    copied(own_part(INPUTS) + rank).sin().sum().backward()
    grads = [flow.zeros(2, 3) for _ in range(size)]
    flow.comm.all_gather(grads, copied[0].weight.grad)
    assert flow.equal(*grads)
    assert not flow.equal(model[0].weight.grad, copied[0].weight.grad)


def check_means_are_the_same_bits_everywhere():
    model = ddp(nn.Linear(5, 7))
    model(flow.randn(3, 5) * (rank + 1)).square().sum().backward()
    grads = [flow.zeros(7, 5) for _ in range(size)]
    flow.comm.all_gather(grads, model.weight.grad)
    assert all(flow.equal(grads[0], gradient) for gradient in grads)


def check_only_modules_that_gradients_reach():
    first, second = ddp(nn.Linear(2, 2)), ddp(nn.Linear(2, 1))
    second(first(flow.ones(1, 2)).detach()).sum().backward()
    assert first.weight.grad is None
    assert second.weight.grad is not None


def check_buffers():
    model = ddp(nn.BatchNorm1d(3))
    model(own_part(INPUTS) + rank)
    model(own_part(INPUTS) + rank)
    means = [flow.zeros(3) for _ in range(size)]
    flow.comm.all_gather(means, model.running_mean)
    # Process 0 has broadcast the state after its first batch; the second batches differ.
    assert not flow.allclose(means[0], means[1])
    with flow.no_grad():
        model.eval()(own_part(INPUTS))
    apart = ddp(nn.BatchNorm1d(3), broadcast_buffers=False)
    apart(own_part(INPUTS))
    assert apart.num_batches_tracked.item() == 1


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flow.ones(3))
        self.register_buffer("mask", flow.tensor([True, False, True]))
        self.register_buffer("scale", flow.tensor([1.0 + rank]))

    def forward(self, x):
        return x * self.weight * self.mask * self.scale


def check_only_written_buffers_are_sent():
    model = ddp(Masked())
    assert model.scale.item() == 1.0  # of process 0, from the start
    sent = []
    real, replica.broadcast_tensors = (
        replica.broadcast_tensors,
        lambda *args: sent.append(args),
    )
    try:
        model(flow.ones(1, 3)).sum().backward()
        assert sent == [([], 0, (0, 1))]
    finally:
        replica.broadcast_tensors = real
    model.scale.fill_(5.0 + rank)
    model(flow.ones(1, 3)).sum().backward()
    assert model.scale.item() == 5.0


def check_graphs_refuse_to_exchange_local_tensors():
    class Call(nn.Graph):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def build(self, x):
            return self.module(x)

    for module in (nn.SyncBatchNorm(3), ddp(nn.BatchNorm1d(3))):
        if "Sync" not in type(module).__name__:
            module(INPUTS)  # so that there are buffers to send
        with pytest.raises(RuntimeError, match="make them global"):
            Call(module)(INPUTS)


class TwoResults(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flow.ones(3))

    def forward(self, x):
        return x * self.weight, x + self.weight


def check_one_exchange_for_each_backward_pass():
    model, exchanges = ddp(TwoResults()), []
    real = replica.run_on_values
    replica.run_on_values = lambda *args: exchanges.append(args) or real(*args)
    try:
        x = flow.ones(3, requires_grad=True)
        results = sum(tensor.square().sum() for tensor in model(x))
        flow.autograd.grad(results, x, retain_graph=True)
        assert not exchanges  # the parameters have got nothing
        results.backward()
        assert len(exchanges) == 1
    finally:
        replica.run_on_values = real


def check_means_overflow_only_if_they_are_too_large():
    dist, large = flow.distributed, flow.full((2,), 50000.0, dtype=flow.float16)
    for op in (dist.all_reduce, lambda tensor, op: dist.reduce_scatter(tensor, [large] * size, op)):
        mean = large.clone()
        op(mean, op=dist.ReduceOp.AVG)
        assert flow.equal(mean, large)


def check_loaders():
    data = TensorDataset(flow.arange(7))
    sampler = DistributedSampler(data, shuffle=True, seed=3)
    assert (sampler.rank, sampler.num_replicas) == (rank, size)
    loader = DataLoader(data, batch_size=2, sampler=sampler, num_workers=1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        own = flow.cat([batch for (batch,) in loader])
        parts = [flow.zeros(4, dtype=flow.int64) for _ in range(size)]
        flow.comm.all_gather(parts, own)
        assert set(flow.cat(parts).tolist()) == set(range(7))


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
