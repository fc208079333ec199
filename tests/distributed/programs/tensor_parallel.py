"""Layers whose parts lie on two ranks train as PyTorch's plain ones do.

Each row splits a model by a plan; outputs, gradients and parameters after a step are compared with
those of the same model of PyTorch on one process.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch
from tests.in_place import in_place_of

import oneflow as flow

OURS = in_place_of("torch")
TENSOR = in_place_of("torch.distributed.tensor")
PARALLEL = in_place_of("torch.distributed.tensor.parallel")
Replicate, Shard = TENSOR.Replicate, TENSOR.Shard
rank, size = flow.env.get_rank(), flow.env.get_world_size()
MESH = TENSOR.init_device_mesh("cpu", (size,))


def attention(library):
    """Attention whose heads are counted by the width of what it gets."""

    class Attention(library.nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("query", "key", "value", "out"):
                setattr(self, name, library.nn.Linear(8, 8))

        def forward(self, x):
            heads = [
                part(x).unflatten(-1, (-1, 2)).transpose(1, 2)
                for part in (self.query, self.key, self.value)
            ]
            product = library.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
            return self.out(product.transpose(1, 2).flatten(2))

    return Attention()


def perceptron(library):
    nn = library.nn
    return nn.Sequential(nn.Linear(8, 6), nn.GELU(), nn.Linear(6, 8))


def normalized(library):
    """A block with its own parts by name; the input is split along the sequence."""
    nn = library.nn
    return nn.Sequential(nn.LayerNorm(8), perceptron(library), nn.LayerNorm(8))


def embedded(library):
    nn = library.nn
    return nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 10))


COLWISE, ROWWISE = PARALLEL.ColwiseParallel, PARALLEL.RowwiseParallel
SEQUENCE = PARALLEL.SequenceParallel
#: The model, its plan, the placement of the input of each rank, and that of the output.
ROWS = {
    "one layer by columns": (
        lambda library: library.nn.Linear(8, 6),
        COLWISE(),
        (Replicate(), Shard(2)),
    ),
    "one layer by columns, put together": (
        lambda library: library.nn.Linear(8, 6, bias=False),
        COLWISE(input_layouts=Shard(0), output_layouts=Replicate()),
        (Shard(0), Replicate()),
    ),
    "one layer by rows": (
        lambda library: library.nn.Linear(8, 5),
        ROWWISE(use_local_output=False),
        (Shard(2), Replicate()),
    ),
    "a perceptron": (
        perceptron,
        {"0": COLWISE(), "2": ROWWISE()},
        (Replicate(), Replicate()),
    ),
    "attention": (
        attention,
        {"[qkv]*": COLWISE(), "out": ROWWISE()},
        (Replicate(), Replicate()),
    ),
    "sequence parallelism": (
        normalized,
        {
            "0": SEQUENCE(),
            "1": PARALLEL.PrepareModuleInput(
                input_layouts=Shard(1), desired_input_layouts=Replicate()
            ),
            "1.0": COLWISE(),
            "1.2": ROWWISE(output_layouts=Shard(1), use_local_output=False),
            "2": SEQUENCE(use_local_output=True),
        },
        (Shard(1), Shard(1)),
    ),
    "prepared arguments and results": (
        perceptron,
        {
            "": PARALLEL.PrepareModuleInputOutput(
                input_layouts=Shard(0),
                desired_input_layouts=Replicate(),
                use_local_input=True,
                output_layouts=Replicate(),
                desired_output_layouts=Shard(0),
            ),
            "0": COLWISE(),
            "2": ROWWISE(),
        },
        (Shard(0), Shard(0)),
    ),
    "an embedding by columns": (
        embedded,
        {"0": COLWISE(output_layouts=Replicate()), "1": ROWWISE(input_layouts=Replicate())},
        (Replicate(), Replicate()),
    ),
    "an embedding by rows": (
        embedded,
        {"0": ROWWISE(input_layouts=Replicate()), "1": COLWISE(output_layouts=Replicate())},
        (Replicate(), Replicate()),
    ),
}


def filled(library, model):
    for number, parameter in enumerate(model.parameters()):
        values = np.sin(np.arange(parameter.numel()) * (number + 1.7)).astype(np.float32)
        parameter.data = library.tensor(values).reshape(parameter.shape)
    return model


def inputs(model):
    if isinstance(next(model.children(), None), torch.nn.Embedding):
        return np.arange(16).reshape(2, 8) * 7 % 10
    return np.cos(np.arange(2 * 4 * 8) * 1.1).reshape(2, 4, 8).astype(np.float32)


def whole(tensor, placement=None):
    if placement is not None and not tensor.is_global:
        tensor = TENSOR.DTensor.from_local(tensor, MESH, [placement])
    return (tensor.full_tensor() if tensor.is_global else tensor).detach().numpy()


def close(ours, theirs, text):
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5, err_msg=text)


def part(values, placement):
    if isinstance(placement, Shard):
        return np.array_split(values, size, axis=placement.dim)[rank]
    return values


def plain(make):
    """Return what one process of PyTorch computes: input, output, and gradients by name."""
    model = filled(torch, make(torch))
    x = torch.tensor(inputs(model))
    if x.is_floating_point():
        x.requires_grad_()
    output = model(x)
    torch.sin(output).sum().backward()
    return model, x, output


def check(name):
    make, plan, (input_placement, output_placement) = ROWS[name]
    expected, x, output = plain(make)
    model = filled(OURS, make(OURS))
    if rank and make is not normalized:
        # The first rank's parameters count, but for normalizations.
        with OURS.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
    assert PARALLEL.parallelize_module(model, MESH, plan) is model
    ours = OURS.tensor(part(x.detach().numpy(), input_placement))
    if ours.is_floating_point():
        ours.requires_grad_()
    result = model(ours)
    close(whole(result, output_placement), output.detach().numpy(), f"{name}: output")
    OURS.sin(result).sum().backward()
    for key, parameter in model.named_parameters():
        close(whole(parameter.grad), expected.get_parameter(key).grad.numpy(), f"{name}: {key}")
    if x.requires_grad:
        close(ours.grad.numpy(), part(x.grad.numpy(), input_placement), f"{name}: input")
    for library, module in ((torch, expected), (OURS, model)):
        # Gradients that are sums to zero, as those of keys' biases, are noise of both.
        library.optim.AdamW(module.parameters(), lr=0.1, eps=0.1).step()
    for key, parameter in model.named_parameters():
        close(whole(parameter), expected.get_parameter(key).detach().numpy(), f"{name}: {key}")


def check_losses():
    """Cross entropies of logits split along their classes."""
    logits = np.sin(np.arange(24.0)).reshape(4, 6).astype(np.float32)
    weights = np.linspace(0.5, 2, 6).astype(np.float32)
    for options in ({}, {"reduction": "sum"}, {"ignore_index": 2}, {"weight": weights}):
        found = []
        for library in (torch, OURS):
            x = library.tensor(logits, requires_grad=True)
            target = library.tensor([5, 2, 0, 3])
            arguments = {
                key: library.tensor(value) if key == "weight" else value
                for key, value in options.items()
            }
            spread, block = x, contextlib.nullcontext()
            if library is OURS:
                spread = x = TENSOR.distribute_tensor(x, MESH, [Shard(1)])
                block = PARALLEL.loss_parallel()
                with pytest.raises(RuntimeError, match="cross_entropy"):
                    library.nn.functional.cross_entropy(spread, target)
            with block:
                loss = library.nn.CrossEntropyLoss(**arguments)(spread, target)
                loss.backward()
            found.append([loss, x.grad])
        for theirs, ours in zip(*found, strict=True):
            close(whole(ours), theirs.detach().numpy(), f"cross entropy with {options}")


def check_refusals():
    for style in (COLWISE(), ROWWISE()):
        with pytest.raises(NotImplementedError, match="LayerNorm"):
            PARALLEL.parallelize_module(OURS.nn.LayerNorm(2), MESH, style)
    with pytest.raises(TypeError, match="parallelize_plan"):
        PARALLEL.parallelize_module(OURS.nn.Linear(2, 2), MESH, "columns")
    with pytest.raises(RuntimeError, match="mesh"):
        PARALLEL.parallelize_module(OURS.nn.Linear(2, 2), None, COLWISE())
    with pytest.warns(UserWarning, match="absent"):
        PARALLEL.parallelize_module(OURS.nn.Linear(2, 2), MESH, {"absent": COLWISE()})
    with MESH:
        layer = PARALLEL.parallelize_module(OURS.nn.Linear(2, 2), None, COLWISE())
    assert layer.weight.placements == (Shard(0),)


for row in ROWS:
    check(row)
check_losses()
check_refusals()
