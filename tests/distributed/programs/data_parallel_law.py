"""The law of data parallelism: every row trains as with PyTorch's own, in the same two processes.

Takes how names of rows begin, by default all of them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import unittest.mock
import warnings

import numpy as np

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # it says how to make a model faster

import torch
import torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook
import torch.distributed.algorithms.join
import torch.distributed.algorithms.model_averaging.hierarchical_model_averager
import torch.distributed.nn
import torch.distributed.optim
from tests.distributed.data_parallel_rows import ROWS, STEPS, JointStatistics, fill, inputs
from tests.in_place import in_place_of
from torch.nn.parallel import DistributedDataParallel as TorchParallel

import oneflow as flow

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
MOCK = in_place_of("torch")
MockParallel = in_place_of("torch.nn.parallel").DistributedDataParallel
HOOKS = [
    f"torch.distributed.algorithms.ddp_comm_hooks.{name}"
    for name in ("default_hooks", "debugging_hooks", "powerSGD_hook", "post_localSGD_hook")
]
OPTIMIZERS = [
    "torch.distributed.optim",
    "torch.distributed.algorithms.model_averaging.hierarchical_model_averager",
]
for name in ("torch.utils.checkpoint", "torch.distributed.algorithms.join", *HOOKS, *OPTIMIZERS):
    in_place_of(name)
# Each library with its data parallelism; the first is the law.
SIDES = {
    "torch": (torch, TorchParallel),
    "mock_torch": (MOCK, MockParallel),
    "oneflow": (MOCK, flow.nn.parallel.DistributedDataParallel),
}


@contextlib.contextmanager
def without_compiler():
    """Leave out PyTorch's compiler in a block, since importing it takes seconds.

    A program behind this one in the same process may need it.
    """
    compiler = unittest.mock.MagicMock()
    compiler.disable = lambda function, recursive=True, **options: function
    # Not by `patch.dict`, which would take away what is imported in the block.
    sys.modules["torch._dynamo"] = compiler
    try:
        with unittest.mock.patch.object(torch, "_dynamo", compiler, create=True):
            yield
    finally:
        del sys.modules["torch._dynamo"]


def connect_torch():
    """Connect PyTorch's processes as OneFlow's are."""
    port = flow.zeros(1, dtype=flow.int64)
    if RANK == 0:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port += probe.getsockname()[1]
    flow.comm.broadcast(port, 0)
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port.item()}", rank=RANK, world_size=SIZE
    )


def record(module, loss):
    """The results of a step, by name."""
    found = {"loss": loss}
    for name, parameter in module.named_parameters():
        found[name], found[f"gradient of {name}"] = parameter, parameter.grad
    found.update(module.named_buffers())
    return {
        name: None if gradient is None else to_numpy(gradient) for name, gradient in found.items()
    }


def to_numpy(tensor):
    tensor = tensor.detach()
    half = tensor.dtype.itemsize == 2
    return np.array((tensor.float() if half else tensor).tolist())


def train(name, t, parallel):
    """The records of all steps of a row; None if it needs a module around its own."""
    training = ROWS[name](t, RANK)
    if training.needs_wrapper and parallel is flow.nn.parallel.DistributedDataParallel:
        return None
    module = fill(t, training.module, RANK)
    model = parallel(module, **training.options)
    make = training.optimizers or (lambda module: [t.optim.SGD(module.parameters(), lr=0.1)])
    optimizers = make(module)
    vars(model)["optimizers"] = optimizers
    if training.prepare:
        training.prepare(model)
    records = [record(module, t.zeros(()))]
    for step in range(STEPS):
        x = inputs(t, step, RANK)
        if training.step:
            loss = training.step(model, step, x)
        else:
            loss = training.loss(model, step, x)
            loss.backward()
        if training.after_backward:
            training.after_backward(module, step)
        records.append(record(module, loss))
        for optimizer in optimizers:
            optimizer.step()
            if training.zero_grad is not None:
                optimizer.zero_grad(**training.zero_grad)
    return [*records, record(module, loss)]


def difference(found, expected):
    """The first difference between two lists of records, or None."""
    for step, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one.keys() != other.keys():
            return f"record {step} has {sorted(one)}, PyTorch's {sorted(other)}"
        for name, value in other.items():
            mine = one[name]
            both = mine is not None and value is not None
            if not (np.allclose(mine, value, 1e-5, 1e-6) if both else mine is value):
                return f"record {step}, {name}: {mine}, PyTorch's {value}"
    return None


def check(name):
    """The differences of a row."""
    found = {}
    for side, (t, parallel) in SIDES.items():
        try:
            found[side] = train(name, t, parallel)
        except Exception as error:
            yield f"rank {RANK}, {side}, {name}: {error!r:.300}"
            return
    for side in ("mock_torch", "oneflow"):
        message = found[side] and difference(found[side], found["torch"])
        if message:
            yield f"rank {RANK}, {side}, {name}: {message}"


if __name__ == "__main__":
    warnings.simplefilter("ignore", FutureWarning)  # PyTorch's, of `broadcast_buffers`
    connect_torch()
    JointStatistics.install(torch)
    chosen = [name for name in ROWS if any(map(name.startswith, sys.argv[1:] or [""]))]
    try:
        with without_compiler():
            differences = [message for name in chosen for message in check(name)]
    finally:
        torch.distributed.destroy_process_group()
    assert not differences, "\n".join(differences)
