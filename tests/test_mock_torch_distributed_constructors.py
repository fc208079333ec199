"""Constructors of `torch.distributed.tensor`, and modules with global parameters."""

from __future__ import annotations

import pytest
import torch
import torch.distributed
import torch.distributed.tensor as theirs

from tests.in_place import in_place_of

OURS = in_place_of("torch.distributed.tensor")
TORCH = in_place_of("torch")


@pytest.fixture(scope="module")
def meshes():
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield OURS.init_device_mesh("cpu", (1,)), torch.distributed.init_device_mesh("cpu", (1,))
    torch.distributed.destroy_process_group()


def described(tensor):
    return (
        str(tensor.dtype).rpartition(".")[2],
        list(tensor.shape),
        tensor.requires_grad,
        [repr(placement) for placement in tensor.placements],
        tensor.full_tensor().tolist(),
    )


CALLS = {
    "zeros": lambda tensor, torch, **at: tensor.zeros(2, 3, dtype=torch.int32, **at),
    "ones": lambda tensor, torch, **at: tensor.ones((2, 3), requires_grad=True, **at),
    "full": lambda tensor, torch, **at: tensor.full((4,), 7, **at),
    "full of float64": lambda tensor, torch, **at: tensor.full(
        (4,), 0.5, dtype=torch.float64, requires_grad=True, **at
    ),
    "empty": lambda tensor, torch, **at: tensor.empty(2, **at).fill_(1),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["Shard", "Replicate"])
def test_constructors_are_pytorchs(meshes, name, kind):
    results = []
    for tensor, library, mesh in ((OURS, TORCH, meshes[0]), (theirs, torch, meshes[1])):
        placement = tensor.Shard(0) if kind == "Shard" else tensor.Replicate()
        result = CALLS[name](tensor, library, device_mesh=mesh, placements=[placement])
        results.append(described(result))
    assert results[0] == results[1]


def test_random_numbers(meshes):
    # PyTorch has none on CPUs.
    uniform = OURS.rand(50, 100, device_mesh=meshes[0], placements=[OURS.Shard(0)])
    normal = OURS.randn((50, 100), dtype=TORCH.float64, device_mesh=meshes[0], requires_grad=True)
    numbers = uniform.full_tensor().numpy()
    assert 0 <= numbers.min() < 0.01
    assert 0.99 < numbers.max() < 1
    assert abs(normal.full_tensor().numpy().std() - 1) < 0.1
    assert normal.requires_grad
    assert normal.dtype is TORCH.float64


def replicated(tensor):
    def change(module, args, mesh):
        return tuple(tensor.distribute_tensor(arg, mesh, [tensor.Replicate()]) for arg in args)

    return change


def test_modules_get_global_parameters(meshes):
    results = []
    for tensor, library, mesh in ((OURS, TORCH, meshes[0]), (theirs, torch, meshes[1])):
        model = library.nn.Sequential(library.nn.Linear(3, 2), library.nn.BatchNorm1d(2))
        with library.no_grad():
            model[0].weight.copy_(library.arange(6.0).reshape(2, 3))
            model[0].bias.fill_(0.5)
        names = []

        def split(name, module, mesh, tensor=tensor, library=library, names=names):
            names.append(name)
            if isinstance(module, library.nn.Linear):
                weight = tensor.distribute_tensor(module.weight.detach(), mesh, [tensor.Shard(0)])
                module.weight = library.nn.Parameter(weight)

        result = tensor.distribute_module(
            model[0],
            mesh,
            split,
            replicated(tensor),
            lambda module, output, mesh: output.full_tensor(),
        )
        output = result(library.ones(2, 3))
        output.sum().backward()
        buffers = tensor.distribute_module(model[1], mesh).named_buffers()
        results.append(
            [
                names,
                [[repr(p) for p in x.placements] for x in result.parameters()],
                output.tolist(),
                result.weight.grad.full_tensor().tolist(),
                [(name, isinstance(buffer, tensor.DTensor)) for name, buffer in buffers],
            ]
        )
    assert results[0] == results[1]
