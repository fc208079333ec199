"""Private names of PyTorch that libraries import, beside PyTorch's."""

import importlib
import os
from collections import OrderedDict, deque, namedtuple

import numpy as np
import pytest
import torch
import torch.nn.utils._named_member_accessor
import torch.utils._pytree as torch_pytree

import oneflow as flow
import oneflow.mock_torch as mock

NAMES = [
    "torch._C Graph Value _is_alias_of _is_torch_function_mode_enabled",
    "torch._C._functorch _add_batch_dim _remove_batch_dim get_unwrapped is_batchedtensor "
    "is_functorch_wrapped_tensor is_gradtrackingtensor is_legacy_batchedtensor",
    "torch._functorch.vmap _add_batch_dim _broadcast_to_and_flatten _get_name "
    "_maybe_remove_batch_dim Tensor tree_flatten tree_unflatten",
    "torch _check _check_index _check_is_size _check_not_implemented _check_tensor_all "
    "_check_tensor_all_with _check_type _check_value _check_with _shape_as_tensor _standard_gamma",
    "torch._guards active_fake_mode",
    "torch._ops HigherOrderOperator OpOverload OpOverloadPacket",
    "torch._utils _get_available_device_type _get_device_module _take_tensors "
    "_flatten_dense_tensors",
    "torch.distributed._tensor DTensor DeviceMesh Shard distribute_tensor",
    "torch.distributed._tensor.experimental implicit_replication",
    "torch.distributed._tensor.device_mesh DeviceMesh init_device_mesh",
    "torch.distributed._tensor.placement_types Partial Placement Replicate Shard",
    "torch.distributed.fsdp._common_utils FSDP_PREFIX FSDP_WRAPPED_MODULE clean_tensor_name",
    "torch.distributed.tensor.experimental implicit_replication",
    "torch.distributions.kl _KL_REGISTRY",
    "torch.distributions.transforms _clipped_sigmoid",
    "torch.cuda.amp.grad_scaler OptState",
    "torch.fx.experimental.symbolic_shapes free_symbols free_unbacked_symbols guard_bool "
    "guard_float guard_int guard_or_false guard_or_true guard_size_oblivious has_free_symbols "
    "is_concrete_bool is_concrete_int is_symbolic statically_known_false statically_known_true "
    "sym_and sym_eq sym_or",
    "torch.hub tqdm",
    "torch.jit _get_trace_graph",
    "torch.nn.init _no_grad_fill_ _no_grad_normal_ _no_grad_trunc_normal_ _no_grad_uniform_ "
    "_no_grad_zero_",
    "torch.nn.modules.conv _ConvTransposeMixin",
    "torch.nn.modules.module _global_parameter_registration_hooks _global_forward_hooks",
    "torch.nn.parameter UninitializedTensorMixin",
    "torch.nn.utils._named_member_accessor swap_tensor",
    "torch.nn.utils.stateless _reparametrize_module",
    "torch.utils.benchmark Language Measurement TaskSpec Timer select_unit timer",
    "torch.utils._contextlib _DecoratorContextManager",
    "torch.utils._pytree _list_flatten _list_flatten_with_keys _list_unflatten",
    "torch.utils.data._utils.worker _generate_state",
    "torch.utils.data.dataloader _collate_fn_t _worker_init_fn_t",
]
Pair = namedtuple("Pair", "left right")
LEAF = "leaf"
# Trees that end early, and trees that go on below, or have other containers.
PREFIXES = [LEAF, [LEAF, LEAF], (LEAF, LEAF), {"a": LEAF, "b": [LEAF]}, Pair(LEAF, (LEAF,)), []]
PREFIXES += [deque([LEAF, LEAF], 3), OrderedDict(b=LEAF, a=LEAF)]
TREES = [1, [1, 2], [1, [2, 3]], (1, (2, 3)), [1], {"b": [4], "a": 5}, {"a": 1}, deque([1, [2]])]
TREES += [Pair(1, ([2, 3],)), OrderedDict(a=(1, 2), b=[3]), {"a": 1, "b": [2, 3]}, []]


def under_both(path):
    with mock.enable():
        module = importlib.import_module(path)
    with mock.disable():
        return importlib.import_module(path), module


def outcome(function, *args):
    try:
        return function(*args)
    except ValueError:
        return ValueError


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row.split()[0])
def test_names(row):
    path, *names = row.split()
    theirs, ours = under_both(path)
    assert [name for name in names if not hasattr(theirs, name)] == []
    assert [name for name in names if not hasattr(ours, name)] == []


@pytest.mark.parametrize("prefix", PREFIXES, ids=repr)
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees_that_go_on_below(prefix, tree):
    _, ours = under_both("torch.utils._pytree")
    outcomes = [
        [
            outcome(library.tree_structure(prefix).flatten_up_to, tree),
            outcome(library.tree_map, lambda _, part: repr(part), prefix, tree),
            library._broadcast_to_and_flatten(prefix, library.tree_structure(tree)),
        ]
        for library in (ours, torch_pytree)
    ]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("record", [os.stat("/"), (1, 2), Pair(1, 2), 3], ids=repr)
def test_records_of_the_operating_system(record):
    _, ours = under_both("torch.utils._pytree")
    assert ours.is_structseq_instance(record) is torch_pytree.is_structseq_instance(record)


@pytest.mark.parametrize(("seed", "worker"), [(1, 0), (2**40 + 5, 3), (2**63 - 1, 100)])
def test_seeds_of_workers(seed, worker):
    theirs, ours = under_both("torch.utils.data._utils.worker")
    assert ours._generate_state(seed, worker) == theirs._generate_state(seed, worker)


def test_contexts_that_decorate():
    theirs, ours = under_both("torch.utils._contextlib")
    for base in (theirs._DecoratorContextManager, ours._DecoratorContextManager):
        entered = []

        class Named(base):
            def __init__(self, name, entered=entered):
                self.name, self.entered = name, entered

            def __enter__(self):
                self.entered.append(self.name)

            def __exit__(self, *exception):
                self.entered.append(f"not {self.name}")

            def clone(self):
                return type(self)(self.name + "'")

        @Named("x")
        def double(number):
            return 2 * number

        assert double(1) + double(2) == 6
        assert entered == ["x'", "not x'"] * 2


@pytest.mark.parametrize("library", [torch, flow], ids=["torch", "oneflow"])
def test_tensors_put_in_place_of_others(library):
    theirs, ours = under_both("torch.nn.utils._named_member_accessor")
    swap = (theirs if library is torch else ours).swap_tensor
    layer = library.nn.Linear(2, 2)
    weight, new = layer.weight, library.ones(2, 2)
    assert swap(layer, "weight", new) is weight
    assert layer.weight is new
    with pytest.raises(AttributeError):
        swap(layer, "scale", new)
    with pytest.raises(TypeError):
        swap(layer, "weight", 3)
    theirs, ours = under_both("torch.nn.utils.stateless")
    given = {"running_mean": library.zeros(2), "weight": library.ones(2)}
    norm = library.nn.BatchNorm1d(2)
    with (theirs if library is torch else ours)._reparametrize_module(norm, given):
        norm(library.tensor([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(given["running_mean"].numpy(), [0.2, 0.3], rtol=1e-6)
    assert norm.running_mean.tolist() == [0, 0]


def test_memory_that_tensors_share():
    _, ours = under_both("torch._C")
    for library, alias in ((torch, torch._C._is_alias_of), (flow, ours._is_alias_of)):
        x = library.zeros(4)
        others = [x, x[1:], x.view(2, 2), x.detach(), x.clone(), x + 1, library.zeros(4)]
        assert [alias(x, other) for other in others] == [True] * 4 + [False] * 3


def test_operator_of_all_convolutions():
    with mock.enable():
        aten = importlib.import_module("torch").ops.aten
    x = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    weight = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3)
    for transposed in (False, True):
        settings = ([2, 2], [1, 1], [1, 1], transposed, [0, 0], 1, False, False, True, True)
        results = [
            operators._convolution(make(x), make(weight), None, *settings).numpy()
            for operators, make in ((aten, flow.tensor), (torch.ops.aten, torch.tensor))
        ]
        np.testing.assert_allclose(*results)


@pytest.mark.parametrize("name", ["qint8", "qint32", "quint8", "quint4x2", "quint2x4"])
def test_quantized_data_types_are_names(name):
    _, ours = under_both("torch")
    dtype = getattr(ours, name)
    assert dtype.itemsize == getattr(torch, name).itemsize
    with pytest.raises(TypeError, match="one that tensors have"):
        flow.zeros(2, dtype=dtype)


def test_what_is_refused_says_so():
    with mock.enable():
        tensor = importlib.import_module("torch.distributed._tensor.experimental")
        jit = importlib.import_module("torch.jit")
    with pytest.raises(NotImplementedError, match="to_global"):
        tensor.implicit_replication()
    with pytest.raises(NotImplementedError, match="flop_counter"):
        jit._get_trace_graph(flow.nn.ReLU(), flow.ones(1))


@pytest.mark.parametrize("limit", [1, 16, 40, 1000])
def test_tensors_in_lists_of_limited_size(limit):
    theirs, ours = under_both("torch._utils")
    results = []
    for library, take in ((torch, theirs._take_tensors), (flow, ours._take_tensors)):
        kinds = (library.float32, library.int64)
        tensors = [library.full((2 + n,), n, dtype=kinds[n % 2]) for n in range(6)]
        results.append([[tensor.tolist() for tensor in part] for part in take(tensors, limit)])
    assert results[0] == results[1]
