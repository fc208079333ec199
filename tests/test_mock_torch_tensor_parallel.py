"""Styles of `torch.distributed.tensor.parallel` place parameters and results as PyTorch's do.

What two processes compute with them is in `tests/distributed/programs/tensor_parallel.py`.
"""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.distributed
import torch.distributed.tensor
import torch.distributed.tensor.parallel

from tests.in_place import in_place_of

NAMES = ("torch", "torch.distributed.tensor", "torch.distributed.tensor.parallel")
OURS = tuple(in_place_of(name) for name in NAMES)
THEIRS = (torch, torch.distributed.tensor, torch.distributed.tensor.parallel)


@pytest.fixture(scope="module")
def meshes():
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield [library.init_device_mesh("cpu", (1,)) for _, library, _ in (OURS, THEIRS)]
    torch.distributed.destroy_process_group()


STYLES = {
    "columns": lambda t, p: p.ColwiseParallel(use_local_output=False),
    "columns of parts": lambda t, p: p.ColwiseParallel(
        input_layouts=t.Shard(0), output_layouts=t.Replicate(), use_local_output=False
    ),
    "rows": lambda t, p: p.RowwiseParallel(use_local_output=False),
    "rows of copies": lambda t, p: p.RowwiseParallel(
        input_layouts=t.Replicate(), output_layouts=t.Shard(0), use_local_output=False
    ),
    "a local result": lambda t, p: p.RowwiseParallel(),
    "a sequence": lambda t, p: p.SequenceParallel(sequence_dim=0),
    "a local sequence": lambda t, p: p.SequenceParallel(use_local_output=True),
    "arguments": lambda t, p: p.PrepareModuleInput(
        input_layouts=t.Shard(0), desired_input_layouts=(t.Replicate(),), use_local_output=True
    ),
    "keyword arguments": lambda t, p: p.PrepareModuleInput(
        input_kwarg_layouts={"input": t.Shard(0)},
        desired_input_kwarg_layouts={"input": t.Replicate()},
        use_local_output=True,
    ),
    "results": lambda t, p: p.PrepareModuleOutput(
        output_layouts=t.Shard(0), desired_output_layouts=t.Replicate(), use_local_output=False
    ),
    "both": lambda t, p: p.PrepareModuleInputOutput(
        input_layouts=(t.Shard(0),),
        desired_input_layouts=t.Replicate(),
        use_local_input=True,
        output_layouts=t.Replicate(),
        desired_output_layouts=t.Shard(1),
        use_local_output=False,
    ),
    "lengths of arguments": lambda t, p: p.PrepareModuleInput(
        input_layouts=(t.Shard(0), None), desired_input_layouts=t.Replicate()
    ),
    "no desired placement": lambda t, p: p.PrepareModuleInput(input_layouts=t.Shard(0)),
    "lengths of results": lambda t, p: p.PrepareModuleOutput(
        output_layouts=t.Shard(0), desired_output_layouts=(t.Replicate(), t.Replicate())
    ),
    "two placements for one argument": lambda t, p: p.PrepareModuleInput(
        input_layouts=(t.Shard(0), None), desired_input_layouts=(t.Replicate(), None)
    ),
}
LAYERS = {
    "Linear": lambda library: library.nn.Linear(4, 3),
    "Embedding": lambda library: library.nn.Embedding(5, 3),
    "LayerNorm": lambda library: library.nn.LayerNorm(4),
}


def described(tensor):
    placements = [repr(placement) for placement in getattr(tensor, "placements", ())]
    return list(tensor.shape), placements, tensor.requires_grad


def outcome(libraries, mesh, style, layer, by_name):
    library, tensor, parallel = libraries
    try:
        plan = STYLES[style](tensor, parallel)
        module = parallel.parallelize_module(LAYERS[layer](library), mesh, plan)
        x = library.zeros(2, 2, 4, dtype=library.long if layer == "Embedding" else library.float)
        result = module(input=x) if by_name else module(x)
    except Exception as error:
        return type(error).__name__
    parameters = {name: described(value) for name, value in module.named_parameters()}
    return repr(plan), parameters, described(result)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("style", STYLES)
def test_styles_place_as_pytorchs(meshes, style, layer):
    by_name = style == "keyword arguments"
    ours, theirs = (
        outcome(libraries, mesh, style, layer, by_name)
        for libraries, mesh in zip((OURS, THEIRS), meshes, strict=True)
    )
    assert ours == theirs


PATTERNS = ("0", "*.up", "2.[ud]*", "2", "", "*", "absent", "2.absent", "0.absent")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_names_in_plans_are_pytorchs(meshes, pattern):
    results = []
    for (library, _, parallel), mesh in zip((OURS, THEIRS), meshes, strict=True):
        nn = library.nn
        inside = nn.ModuleDict({"up": nn.Linear(2, 2), "down": nn.Linear(2, 2)})
        model = nn.ModuleList([nn.Linear(2, 2), nn.LayerNorm(2), inside])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                parallel.parallelize_module(model, mesh, {pattern: parallel.ColwiseParallel()})
            except NotImplementedError as error:
                caught.append(error)
        placed = [name for name, value in model.named_parameters() if hasattr(value, "placements")]
        results.append((placed, [type(warning).__name__ for warning in caught]))
    assert results[0] == results[1]
