"""Rows about batch normalisation by the statistics of all processes."""

from __future__ import annotations

import functools
import unittest.mock

from tests.distributed.data_parallel_rows.training import (
    ROWS,
    Training,
    inputs,
    mean_square,
    momentum,
)

# Per row: the shape of the inputs of each rank, and options of the layer.
LAYERS = {
    "of_two_dimensions": ([(4, 3), (4, 3)], {}),
    "of_three_dimensions": ([(2, 3, 5), (2, 3, 5)], {}),
    "of_four_dimensions": ([(2, 3, 2, 3), (2, 3, 2, 3)], {}),
    "of_five_dimensions": ([(2, 3, 2, 1, 2), (2, 3, 2, 1, 2)], {}),
    "of_unequal_batches": ([(5, 3), (2, 3)], {}),
    "of_single_values": ([(1, 3), (1, 3)], {}),
    "of_an_empty_batch": ([(3, 3, 2), (0, 3, 2)], {}),
    "without_parameters": ([(4, 3), (4, 3)], {"affine": False}),
    "without_summands": ([(4, 3), (3, 3)], {"bias": False}),
    "with_the_average_of_all": ([(4, 3), (3, 3)], {"momentum": None}),
    "without_running_statistics": ([(4, 3), (3, 3)], {"track_running_stats": False}),
    "with_a_large_eps": ([(4, 3), (3, 3)], {"eps": 0.5, "momentum": 0.7}),
}


def _shifted(t, step, rank, shape):
    """Inputs whose means differ much between ranks."""
    return inputs(t, step, rank, shape) * (1 + rank) + 5 * rank


def _layer(t, rank, shapes, options):
    """A layer after a parameter, in training and in evaluation, in double precision."""

    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = t.nn.Parameter(t.ones(1))
            self.norm = t.nn.SyncBatchNorm(3, **options)

        def forward(self, x):
            return self.norm((x * self.factor).sin())

    def loss(model, step, x):
        x = _shifted(t, step, rank, shapes[rank]).double()
        result = (model(x).sin() * (1 + rank)).sum()
        if step == 1:
            model.eval()
            with t.no_grad():
                evaluated = model(_shifted(t, step, rank, shapes[0]).double()).sum()
            model.train()
            result = result + evaluated
        return result

    return Training(Net().double(), loss, {}, momentum(t))


for name, (shapes, options) in LAYERS.items():
    ROWS[f"synchronized_norm_{name}"] = functools.partial(_layer, shapes=shapes, options=options)


def _dtype(t, rank, dtype):
    def loss(model, step, x):
        x = _shifted(t, step, rank, (6, 3)).to(getattr(t, dtype))
        return model(x).double().cos().sum()

    module = t.nn.SyncBatchNorm(3)
    return Training(module, loss)


for dtype in ("float32", "float16", "bfloat16"):
    ROWS[f"synchronized_norm_of_{dtype}"] = functools.partial(_dtype, dtype=dtype)


def _converted(t, rank, group=None):
    norm = t.nn.BatchNorm2d(4, momentum=0.3)
    norm.running_mean.fill_(rank)
    net = t.nn.Sequential(
        t.nn.Conv2d(3, 4, 2), t.nn.Sequential(norm, t.nn.ReLU()), t.nn.BatchNorm2d(4).eval()
    )
    group = None if group is None else group(t, rank)
    net = t.nn.SyncBatchNorm.convert_sync_batchnorm(net, group)

    def loss(model, step, x):
        return mean_square(model, step, _shifted(t, step, rank, (2 + rank, 3, 3, 3)))

    return Training(net, loss, {}, momentum(t))


def _groups_of_one(t, rank):
    """Return the group of this process alone."""
    return [t.distributed.new_group([index]) for index in range(2)][rank]


ROWS["synchronized_norm_converted"] = _converted
ROWS["synchronized_norm_of_groups_of_one"] = functools.partial(_converted, group=_groups_of_one)
ROWS["synchronized_norm_of_a_group"] = functools.partial(
    _converted, group=lambda t, rank: t.distributed.new_group([0, 1])
)


def _penalty(t, rank):
    """Gradients of gradients."""
    net = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.SyncBatchNorm(3), t.nn.Linear(3, 1))

    def loss(model, step, x):
        x = _shifted(t, step, rank, (4, 3)).requires_grad_()
        result = model(x).sin().sum()
        (grad,) = t.autograd.grad(result, x, create_graph=True)
        return (grad**2).sum() + result

    return Training(net, loss)


ROWS["synchronized_norm_in_a_penalty"] = _penalty


class JointStatistics:
    """The layer `sync_batch_norm`, which PyTorch has for GPUs only, of operators of the CPU."""

    @staticmethod
    def install(torch):
        """Let PyTorch's `SyncBatchNorm` run on the CPU."""
        torch.nn.modules.batchnorm.sync_batch_norm = JointStatistics(torch)
        forward = torch.nn.SyncBatchNorm.forward

        def forward_on_cpu(self, x):
            name = "_get_privateuse1_backend_name"  # the type of devices that it takes besides
            with unittest.mock.patch.object(torch._C, name, return_value="cpu"):
                return forward(self, x)

        torch.nn.SyncBatchNorm.forward = forward_on_cpu
        parallel = torch.nn.parallel.DistributedDataParallel
        parallel._passing_sync_batchnorm_handle = lambda self, module: None  # which refuses CPUs

    def __init__(self, torch):
        self.torch = torch

    def apply(self, x, weight, bias, running_mean, running_var, eps, momentum, group, size):
        torch = self.torch
        add = functools.partial(torch.distributed.nn.functional.all_reduce, group=group)
        dims = [0, *range(2, x.ndim)]
        wide = x.float() if x.dtype.itemsize < 4 else x
        own_count = torch.tensor([float(x.numel() // x.shape[1])], dtype=wide.dtype)
        sums = add(torch.cat([wide.sum(dims), own_count]))
        count = sums[-1]
        mean = sums[:-1] / count
        shape = [1, -1, *[1] * (x.ndim - 2)]
        centered = wide - mean.view(shape)
        variance = add((centered**2).sum(dims)) / count
        if running_mean is not None:
            with torch.no_grad():
                running_mean += momentum * (mean - running_mean)
                running_var += momentum * (variance * count / (count - 1) - running_var)
        result = centered * (variance + eps).rsqrt().view(shape)
        if weight is not None:
            result = result * weight.view(shape)
        if bias is not None:
            result = result + bias.view(shape)
        return result.to(x.dtype)
