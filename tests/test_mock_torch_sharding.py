"""The parts of ``torch.distributed.fsdp`` that one process has, beside PyTorch's."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect

import pytest

from tests.in_place import in_place_of

FSDP = "torch.distributed.fsdp"


def libraries(*names):
    for find in (lambda name: __import__(name, fromlist=["_"]), in_place_of):
        yield [find(name) for name in names]


def nested(nn):
    inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4))
    return nn.Sequential(inner, nn.ModuleList([nn.Linear(4, 40)]), nn.MultiheadAttention(8, 2))


POLICIES = {
    "always": lambda wrap, nn: wrap.always_wrap_policy,
    "large": lambda wrap, nn: functools.partial(
        wrap.size_based_auto_wrap_policy, min_num_params=25
    ),
    "excluded": lambda wrap, nn: functools.partial(
        wrap.size_based_auto_wrap_policy,
        min_num_params=25,
        exclude_wrap_modules={nn.Sequential},
        force_leaf_modules={nn.ModuleList},
    ),
    "classes": lambda wrap, nn: functools.partial(
        wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}
    ),
    "function": lambda wrap, nn: functools.partial(
        wrap.lambda_auto_wrap_policy, lambda_fn=lambda module: isinstance(module, nn.ReLU)
    ),
    "either": lambda wrap, nn: functools.partial(
        wrap._or_policy,
        policies=[
            functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.ReLU}),
            wrap.ModuleWrapPolicy({nn.BatchNorm1d}),
        ],
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_choose_the_same_modules(policy):
    outcomes = []
    for library, wrap in libraries("torch", f"{FSDP}.wrap"):
        nn = library.nn

        class Wrapper(nn.Module):
            def __init__(self, module):
                super().__init__()
                self.inner = module

        module, count = wrap._recursive_wrap(
            nested(nn), POLICIES[policy](wrap, nn), Wrapper, set(), set()
        )
        names = [name for name, part in module.named_modules() if isinstance(part, Wrapper)]
        outcomes.append((names, count))
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_that_are_functions_wrap_below_a_root(policy):
    (library, wrap), (ours, our_wrap) = libraries("torch", f"{FSDP}.wrap")

    class Wrapper(library.nn.Module):
        def __init__(self, module):
            super().__init__()
            self._fsdp_wrapped_module = module

    chosen = POLICIES[policy](wrap, library.nn)
    module, _ = wrap._recursive_wrap(
        nested(library.nn), chosen, Wrapper, set(), set(), only_wrap_children=True
    )
    sharded = in_place_of(FSDP).FullyShardedDataParallel
    root = sharded(nested(ours.nn), auto_wrap_policy=POLICIES[policy](our_wrap, ours.nn))
    expected, found = (
        [name for name, part in parent.named_modules() if isinstance(part, kind)]
        for parent, kind in ((module, Wrapper), (root.module, sharded))
    )
    assert found == expected


@pytest.mark.parametrize("kind", ["classes", "function"])
def test_policies_that_are_objects(kind):
    outcomes = []
    for library, wrap in libraries("torch", f"{FSDP}.wrap"):
        nn = library.nn

        def choose(module, nn=nn):
            return {"extra": 1} if isinstance(module, nn.ReLU) else isinstance(module, nn.Linear)

        policy = {
            "classes": wrap.ModuleWrapPolicy({nn.Linear, nn.ReLU}),
            "function": wrap.CustomPolicy(choose),
        }[kind]
        root = nested(nn)
        chosen = policy._run_policy(root, {root[0][0]}, {"base": 0})
        names = {module: name for name, module in root.named_modules()}
        outcomes.append([(names[module], options) for module, options in chosen.items()])
    assert sorted(outcomes[1], key=str) == sorted(outcomes[0], key=str)


def test_modules_are_wrapped_in_a_block():
    for library, wrap in libraries("torch", f"{FSDP}.wrap"):
        module = library.nn.ReLU()
        assert wrap.wrap(module) is module
        with wrap.enable_wrap(wrapper_cls=lambda module, **options: (module, options), a=1, b=2):
            assert wrap.wrap(module, b=3) == (module, {"a": 1, "b": 3})
        assert wrap.wrap(module) is module


def test_settings_have_the_same_fields():
    theirs, ours = next(zip(*libraries(FSDP), strict=True))
    kinds = [name for name in theirs.__all__ if dataclasses.is_dataclass(getattr(theirs, name))]
    for name in kinds:
        if name != "DataParallelMeshDims":
            expected = [field.name for field in dataclasses.fields(getattr(theirs, name))]
            assert [field.name for field in dataclasses.fields(getattr(ours, name))] == expected


def test_arguments_are_in_the_same_places():
    theirs, ours = next(zip(*libraries(FSDP), strict=True))
    for name in ("FullyShardedDataParallel", "fully_shard", "register_fsdp_forward_method"):
        expected = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == expected


def test_what_is_refused():
    library, fsdp = in_place_of("torch"), in_place_of(FSDP)
    model = library.nn.Linear(2, 2)
    with pytest.raises(NotImplementedError, match="param_init_fn"):
        fsdp.FullyShardedDataParallel(model, param_init_fn=print)
    with pytest.raises(ValueError, match="device_mesh"):
        fsdp.FullyShardedDataParallel(model, sharding_strategy=fsdp.ShardingStrategy.HYBRID_SHARD)
    sharded = fsdp.fully_shard(model)
    with pytest.raises(NotImplementedError, match="deepcopy"):
        copy.deepcopy(sharded)
    with pytest.raises(ValueError, match="`module` must have a method"):
        fsdp.register_fsdp_forward_method(sharded, "generate")
    with pytest.raises(ValueError, match="`module` must be sharded once"):
        fsdp.fully_shard(sharded)
    with pytest.raises(ValueError, match="`module` must have a `forward`"):
        fsdp.fully_shard(library.nn.ModuleList([library.nn.Linear(2, 2)]))
    tied = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    fsdp.fully_shard(tied[0])
    for module in (tied[1], tied):
        with pytest.raises(ValueError, match=r"share no parameter .* got `weight` of a Linear"):
            fsdp.fully_shard(module)


def test_a_leaf_that_passes_through_keeps_no_hooks(monkeypatch):
    library, fsdp = in_place_of("torch"), in_place_of(FSDP)
    kind, calls = in_place_of(f"{FSDP}.gathered_parameters").GatheredParameters, []
    monkeypatch.setattr(kind, "_before_backward", lambda self, *others: calls.append(self))

    class Around(library.nn.Linear):
        def forward(self, x):
            return x, super().forward(x)

    model, x = fsdp.fully_shard(Around(2, 2)), library.ones(1, 2, requires_grad=True)
    for _ in range(3):
        model(x)[1].sum().backward()
    assert len(calls) == 3


def test_names_are_those_of_the_module():
    library, fsdp = in_place_of("torch"), in_place_of(FSDP)
    wrapper = fsdp.FullyShardedDataParallel
    model = wrapper(library.nn.Sequential(wrapper(library.nn.Linear(2, 1)), library.nn.ReLU()))
    inner = "_fsdp_wrapped_module"
    assert [name for name, _ in model.named_parameters()] == [
        f"{inner}.0.{inner}.weight",
        f"{inner}.0.{inner}.bias",
    ]
    assert list(model.state_dict()) == ["0.weight", "0.bias"]
    assert [part.check_is_root() for part in wrapper.fsdp_modules(model)] == [True, False]
    assert model[0].weight is model.module[0].weight


def test_a_mesh_has_names():
    meshes = in_place_of("torch.distributed.device_mesh")
    mesh = meshes.DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("a", "b"))
    assert (mesh.shape, mesh.size(), mesh.size(1), mesh.ndim) == ((2, 2), 4, 2, 2)
    assert mesh["a"] == meshes.DeviceMesh("cpu", [0, 2])
    assert mesh["b", "a"].mesh.tolist() == [[0, 2], [1, 3]]
    assert mesh.mesh.dtype == in_place_of("torch").int32
    alone = meshes.init_device_mesh("cpu", (1,), mesh_dim_names=("a",))
    assert alone.get_local_rank(-1) == 0
    with pytest.raises(IndexError, match="mesh_dim"):
        alone.get_local_rank(5)
    with pytest.raises(KeyError, match="mesh_dim"):
        mesh["c"]
    with pytest.raises(ValueError, match="mesh_dim_names"):
        meshes.DeviceMesh("cpu", [0, 1], mesh_dim_names=("a", "b"))
    with pytest.raises(RuntimeError, match="mesh_shape"):
        meshes.init_device_mesh("cpu", (2,))


@pytest.mark.parametrize(("regathers", "count"), [(True, 2), (False, 1)])
def test_parameters_are_gathered_again_for_the_backward_pass(regathers, count, monkeypatch):
    library, fsdp = in_place_of("torch"), in_place_of(FSDP)
    kind = in_place_of(f"{FSDP}.gathered_parameters").GatheredParameters
    copies, calls = kind.copies, []

    def counted(self, parts):
        calls.append(len(parts))
        return copies(self, parts)

    monkeypatch.setattr(kind, "copies", counted)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Linear(4, 2))
    fsdp.fully_shard(model, reshard_after_forward=regathers)
    model(library.ones(2, 3)).square().sum().backward()
    assert calls == [4] * count


def test_the_outermost_module_gathers_once_by_default(monkeypatch):
    library, fsdp = in_place_of("torch"), in_place_of(FSDP)
    kind = in_place_of(f"{FSDP}.gathered_parameters").GatheredParameters
    copies, calls = kind.copies, []

    def counted(self, parts):
        calls.append(len(parts))
        return copies(self, parts)

    monkeypatch.setattr(kind, "copies", counted)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Linear(4, 2, bias=False))
    fsdp.fully_shard(model[0])
    fsdp.fully_shard(model)
    model(library.ones(2, 3, requires_grad=True)).square().sum().backward()
    assert sorted(calls) == [1, 2, 2]
