"""FSDP with two processes: each row runs on PyTorch and in its place, with the same numbers.

The adaptive optimizers' states are not compared: PyTorch's ``optim_state_dict`` gives one tensor
for two of them on the CPU.
"""

import functools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.distributed.launching import free_port
from tests.in_place import in_place_of

import oneflow as flow

NAMES = (
    "torch",
    "torch.distributed.fsdp",
    "torch.distributed.fsdp.wrap",
    "torch.distributed.fsdp.sharded_grad_scaler",
    "torch.distributed.device_mesh",
    "torch.distributed.tensor",
    "torch.utils.checkpoint",
)
rank, size = flow.env.get_rank(), flow.env.get_world_size()


def libraries():
    """PyTorch with a group of its own, and what takes its place."""
    port = [free_port() if rank == 0 else None]
    flow.distributed.broadcast_object_list(port)
    torch.distributed.init_process_group(
        "gloo", f"tcp://127.0.0.1:{port[0]}", rank=rank, world_size=size
    )
    for find in (lambda name: __import__(name, fromlist=["_"]), in_place_of):
        library, fsdp, wrap, scaler, mesh, tensor, checkpoint = map(find, NAMES)
        yield SimpleNamespace(
            torch=library,
            nn=library.nn,
            fsdp=fsdp,
            wrap=wrap,
            scaler=scaler.ShardedGradScaler,
            mesh=mesh.init_device_mesh,
            tensor=tensor,
            checkpoint=checkpoint.checkpoint,
        )


def make(library):
    """A small model; its middle is a unit of its own."""
    nn = library.nn
    middle = nn.Sequential(nn.Linear(7, 7), nn.LayerNorm(7))
    return filled(library, nn.Sequential(nn.Linear(5, 7), nn.Tanh(), middle, nn.Linear(7, 3)))


def filled(library, model):
    for number, parameter in enumerate(model.parameters()):
        values = np.sin(np.arange(parameter.numel()) * (number + 1.7))
        parameter.data = library.torch.tensor(values.astype(np.float32)).reshape(parameter.shape)
    return model


def inputs(library):
    values = np.cos(np.arange(20) * 1.1).reshape(4, 5) * (rank + 1)
    return library.torch.tensor(values.astype(np.float32))


def numbers(tensor):
    whole = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return np.array(whole.detach().float().tolist())


def wrapped(library, **options):
    device = library.torch.device("cpu")
    model = options.pop("model", None) or make(library)
    options.setdefault("use_orig_params", True)
    return library.fsdp.FullyShardedDataParallel(model, device_id=device, **options)


def train(library, model, clip=None, before=None, steps=2):
    """Train, and return losses, norms of gradients and the state in the end."""
    optimizer = library.torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    found = {}
    x = inputs(library)
    for step in range(steps):
        optimizer.zero_grad()
        if before is not None:
            before(x)
        loss = model(x).square().mean()
        loss.backward()
        found[f"loss {step}"] = numbers(loss)
        if clip is not None:
            found[f"norm {step}"] = numbers(clip())
        optimizer.step()
    return found | {name: numbers(value) for name, value in model.state_dict().items()}


def strategies(library):
    found = {}
    for name in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"):
        policy = library.wrap.ModuleWrapPolicy({library.nn.Sequential})
        strategy = library.fsdp.ShardingStrategy[name]
        model = wrapped(library, sharding_strategy=strategy, auto_wrap_policy=policy)
        found[name] = train(library, model, lambda model=model: model.clip_grad_norm_(0.5))
    return found


def precision(library):
    half, single = library.torch.bfloat16, library.torch.float32
    settings = library.fsdp.MixedPrecision(param_dtype=half, reduce_dtype=single)
    model = wrapped(library, mixed_precision=settings)
    assert model(inputs(library)).dtype == half
    model(inputs(library)).sum().backward()
    assert all(
        parameter.grad is None or parameter.grad.dtype == single for parameter in model.parameters()
    )
    policy = library.fsdp.MixedPrecisionPolicy(half, single, output_dtype=single)
    model = library.fsdp.fully_shard(
        make(library), mesh=library.mesh("cpu", (size,)), mp_policy=policy
    )
    assert model(inputs(library)).dtype == single
    return {"outputs": np.round(numbers(model(inputs(library))), 1)}


def accumulation(library):
    model = wrapped(library)

    def alone(x):
        with model.no_sync():
            model(x * 0.5).sum().backward()

    found = {"no_sync": train(library, model, before=alone)}
    sharded = library.fsdp.fully_shard(make(library), mesh=library.mesh("cpu", (size,)))

    def unsynchronized(x):
        sharded.set_requires_gradient_sync(False)
        sharded(x * 0.5).sum().backward()
        sharded.set_requires_gradient_sync(True)

    return found | {"fully_shard": train(library, sharded, before=unsynchronized)}


def waiting(library):
    """Sums that wait for the mean are cleared with the gradients, or averaged by the next pass."""
    found = {}
    for clears in ("module", "optimizer", "nothing"):
        model = wrapped(library)
        optimizer = library.torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(2):
            with model.no_sync():
                model(inputs(library)).square().sum().backward()
            if clears != "nothing":
                {"module": model, "optimizer": optimizer}[clears].zero_grad()
            model(inputs(library) * 2).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        found[clears] = {name: numbers(value) for name, value in model.state_dict().items()}
    model, mesh = make(library), library.mesh("cpu", (size,))
    for unit in (model[0], model[3], model):
        library.fsdp.fully_shard(unit, mesh=mesh)
    model.set_requires_gradient_sync(False)
    model(inputs(library)).square().sum().backward()
    model.set_requires_gradient_sync(True)
    model[0](inputs(library)).sum().backward()
    found["flushed"] = {name: numbers(p.grad) for name, p in model.named_parameters()}
    model.zero_grad()
    return found | {"later": train(library, model)}


def branches(library):
    """Each rank runs another branch, and none runs the third one."""

    class Branches(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = library.nn.ModuleList([library.nn.Linear(5, 5) for _ in range(3)])

        def forward(self, x):
            return self.parts[rank](x)

    model = wrapped(library, model=filled(library, Branches()))
    optimizer = library.torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        model(inputs(library)).square().mean().backward()
        optimizer.step()
    saved = library.fsdp.FullyShardedDataParallel.optim_state_dict(model, optimizer)["state"]
    return {
        "state": {name: numbers(value) for name, value in model.state_dict().items()},
        "slots": {name: np.ones(1) for name in saved},
    }


def policies(library):
    def count(module, recurse, nonwrapped_numel):
        return recurse or nonwrapped_numel == 56

    wrap, nn = library.wrap, library.nn
    chosen = {
        "always": wrap.always_wrap_policy,
        "size": functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=50),
        "transformer": functools.partial(
            wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}
        ),
        "function": count,
        "classes": wrap.ModuleWrapPolicy({nn.LayerNorm}),
        "custom": wrap.CustomPolicy(lambda module: isinstance(module, nn.Tanh | nn.Linear)),
    }
    found = {}
    for name, policy in chosen.items():
        model = wrapped(library, auto_wrap_policy=policy)
        units = library.fsdp.FullyShardedDataParallel
        names = [name for name, part in model.named_modules() if isinstance(part, units)]
        found[name] = {name: np.ones(1) for name in names}
        found[f"{name} trained"] = train(library, model)
    return found


def sharding(library):
    mesh = library.mesh("cpu", (size,))
    found = {}
    for reshards in (True, False):
        model = make(library)
        for unit in (model[2], model[0], model):
            assert library.fsdp.fully_shard(unit, mesh=mesh, reshard_after_forward=reshards) is unit
        assert isinstance(model, library.fsdp.FSDPModule)
        assert (type(model).__name__, type(model[1:]).__name__) == ("FSDPSequential", "Sequential")
        weight = model[0].weight
        assert isinstance(weight, library.tensor.DTensor)
        assert (tuple(weight.shape), weight.device_mesh.size()) == ((7, 5), size)
        assert weight.placements == (library.tensor.Shard(0),)
        parameters = list(model.parameters())
        clip = functools.partial(library.nn.utils.clip_grad_norm_, parameters, 0.5)
        found[str(reshards)] = train(library, model, clip)
        found[f"part {reshards}"] = {"part": numbers(model[0].weight.to_local())}
    return found


def columns(library):
    shard, nn = library.tensor.Shard, library.nn
    model = filled(library, nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)))
    library.fsdp.fully_shard(
        model,
        mesh=library.mesh("cpu", (1, size), mesh_dim_names=("copies", "parts")),
        shard_placement_fn=lambda x: shard(1) if x.ndim == 2 and x.shape[1] == 8 else None,
    )
    assert model[2].weight.placements == (library.tensor.Replicate(), shard(1))
    return train(library, model)


def checkpointing(library):
    class Inside(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = make(library)

        def forward(self, x):
            return library.checkpoint(self.body, x, use_reentrant=False)

    class Around(Inside):
        def __init__(self):
            super().__init__()
            self.body = wrapped(library, model=self.body)

    mesh = library.mesh("cpu", (size,))
    return {
        "inside": train(library, wrapped(library, model=Inside())),
        "around": train(library, wrapped(library, model=Around())),
        "fully_shard": train(library, library.fsdp.fully_shard(Inside(), mesh=mesh)),
    }


def states(library):
    wrapper, kinds = library.fsdp.FullyShardedDataParallel, library.fsdp.StateDictType
    policy = library.wrap.ModuleWrapPolicy({library.nn.Linear})
    model, other = (wrapped(library, auto_wrap_policy=policy) for _ in range(2))
    with wrapper.summon_full_params(model):
        shapes = {name: np.array(p.shape) for name, p in model.named_parameters()}
        for parameter in model.parameters():
            parameter.data.mul_(2)
    with wrapper.state_dict_type(
        model, kinds.FULL_STATE_DICT, library.fsdp.FullStateDictConfig(rank0_only=True)
    ):
        assert bool(model.state_dict()) == (rank == 0)
    for kind in (kinds.FULL_STATE_DICT, kinds.SHARDED_STATE_DICT):
        for part in (model, other):
            wrapper.set_state_dict_type(part, kind)
        assert not any(other.load_state_dict(model.state_dict()))
    for part in (model, other):
        wrapper.set_state_dict_type(part, kinds.FULL_STATE_DICT)
    optimizer = library.torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model(inputs(library)).square().mean().backward()
    optimizer.step()
    saved = wrapper.optim_state_dict(model, optimizer)
    options = (
        library.fsdp.FullStateDictConfig(),
        library.fsdp.FullOptimStateDictConfig(rank0_only=True),
    )
    with wrapper.state_dict_type(model, kinds.FULL_STATE_DICT, *options):
        first = wrapper.optim_state_dict(model, optimizer)
        first = wrapper.optim_state_dict_to_load(model, optimizer, first if rank == 0 else {})
    assert first["state"]
    other.load_state_dict(model.state_dict())
    again = library.torch.optim.SGD(other.parameters(), lr=0.5, momentum=0.9)
    again.load_state_dict(wrapper.optim_state_dict_to_load(other, again, saved))
    other(inputs(library)).square().mean().backward()
    again.step()
    slots = saved["state"].items()
    return {
        "shapes": shapes,
        "momentum": {name: numbers(values["momentum_buffer"]) for name, values in slots},
        "state": {name: numbers(value) for name, value in other.state_dict().items()},
    }


def meshes(library):
    mesh = library.mesh("cpu", (size, 1), mesh_dim_names=("copies", "parts"))
    part = mesh["copies"]
    tensors = library.tensor
    local = library.torch.ones(2, 3) * (rank + 1)
    whole = tensors.DTensor.from_local(local, part, [tensors.Shard(0)])
    summed = tensors.DTensor.from_local(local, part, [tensors.Partial()])
    spread = tensors.distribute_tensor(local, part, [tensors.Shard(1)])
    last = tensors.distribute_tensor(local, part, [tensors.Shard(1)], src_data_rank=size - 1)
    apart = tensors.distribute_tensor(local, part, [tensors.Shard(1)], src_data_rank=None)
    source = library.torch.ones(2, 2, requires_grad=True)
    leaf = tensors.distribute_tensor(source, part, [tensors.Shard(0)])
    assert (leaf.is_leaf, leaf.requires_grad) == (True, True)
    with pytest.raises(RuntimeError, match="leaf"):
        tensors.distribute_tensor(source * 2, part, [tensors.Shard(0)])
    assert last.device_mesh.mesh_dim_names == ("copies",)
    group = mesh.get_group("copies")
    return {
        "ranks": numbers(mesh.mesh),
        "place": np.array([*mesh.get_coordinate(), mesh.size(0), mesh.ndim]),
        "part": np.array([*part.mesh.tolist(), part.get_local_rank(), group.size(), group.rank()]),
        "whole": numbers(whole),
        "sum": numbers(summed.redistribute(placements=[tensors.Shard(0)]).to_local()),
        "spread": numbers(spread),
        "own": numbers(spread.to_local()),
        "last": numbers(last.to_local()),
        "apart": numbers(apart.to_local()),
    }


def scaling(library):
    """All ranks skip a step if the gradients of one are not finite."""
    scaler = library.scaler("cpu", init_scale=4.0, growth_interval=2)
    weight = library.nn.Parameter(library.torch.ones(2))
    optimizer, found = library.torch.optim.SGD([weight], lr=0.5), []
    for bad in (None, 0, 1, None, None):
        scaler.scale(weight.sum())
        weight.grad = library.torch.full((2,), np.inf if rank == bad else 4.0)
        scaler.step(optimizer)
        scaler.update()
        found.append([*weight.tolist(), scaler.get_scale()])
    assert found[0] == [*found[1][:2], 4.0]
    assert found[2] == [*found[0][:2], 1.0]
    return found


ROWS = (
    scaling,
    strategies,
    precision,
    accumulation,
    waiting,
    branches,
    policies,
    sharding,
    columns,
    checkpointing,
    states,
    meshes,
)


def buffers():
    """Buffers become those of the first rank; PyTorch refuses to do so on CPUs."""
    nn = in_place_of("torch").nn
    model = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3))
    model[1].running_mean.fill_(rank + 1.0)
    policy = in_place_of("torch.distributed.fsdp.wrap").ModuleWrapPolicy({nn.BatchNorm1d})
    wrapper = in_place_of("torch.distributed.fsdp").FullyShardedDataParallel
    wrapper(model, sync_module_states=True, auto_wrap_policy=policy)
    assert model[1].running_mean.tolist() == [1.0] * 3


def local_states():
    """Parts of states go back to where they were, also a bias that one rank has (only here)."""
    library = in_place_of("torch")
    fsdp = in_place_of("torch.distributed.fsdp")
    wrapper, kinds = fsdp.FullyShardedDataParallel, fsdp.StateDictType
    model = library.nn.Sequential(library.nn.Linear(5, 3), library.nn.Linear(3, 1))
    model = wrapper(model, ignored_modules=[model[0]])
    wrapper.set_state_dict_type(model, kinds.LOCAL_STATE_DICT)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    assert not any(model.load_state_dict(state))
    optimizer = library.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model(library.ones(2, 5)).sum().backward()
    optimizer.step()
    saved = wrapper.optim_state_dict(model, optimizer)
    loaded = wrapper.optim_state_dict_to_load(model, optimizer, saved, load_directly=True)
    names = [name for name, _ in model.named_parameters()]
    slot = loaded["state"][[name.endswith("1.bias") for name in names].index(True)]
    assert slot["momentum_buffer"].is_global
    assert not any(model.load_state_dict(model.state_dict()))


def compare(name, expected, found):
    if not isinstance(expected, dict):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=name)
        return
    assert sorted(expected) == sorted(found), name
    for key, value in expected.items():
        compare(f"{name}: {key}", value, found[key])


warnings.simplefilter("ignore")
outcomes = [{row.__name__: row(library) for row in ROWS} for library in libraries()]
buffers()
local_states()
for row in ROWS:
    compare(row.__name__, *[outcome[row.__name__] for outcome in outcomes])
torch.distributed.destroy_process_group()
