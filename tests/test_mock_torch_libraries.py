"""Libraries written for PyTorch, run on `oneflow`, and what PyTorch alone has for them."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import _pytree as torch_pytree

import oneflow as flow
from oneflow import mock_torch
from oneflow.mock_torch.pytorch.utils import _pytree
from tests.flowvision.torchvision_operators import torchvision
from tests.in_place import in_place_of, overrides_enabled

Pair = namedtuple("Pair", "first second")
TREES = [
    {"a": [1, (2, 3)], "b": OrderedDict(x=4)},
    Pair(1, [2, {"k": 3}]),
    [],
    5,
    ((), {}, [None]),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees_are_pytorchs(tree):
    leaves, spec = _pytree.tree_flatten(tree)
    assert leaves == torch_pytree.tree_leaves(tree)
    assert spec.num_leaves == len(leaves)
    assert _pytree.tree_unflatten(leaves, spec) == tree
    double = _pytree.tree_map(str, tree)
    assert double == torch_pytree.tree_map(str, tree)
    assert type(double) is type(torch_pytree.tree_map(str, tree))
    paths = [_pytree.keystr(path) for path, _ in _pytree.tree_flatten_with_path(tree)[0]]
    assert paths == [
        torch_pytree.keystr(p) for p, _ in torch_pytree.tree_flatten_with_path(tree)[0]
    ]


def test_registered_containers_are_flattened():
    class Box:
        def __init__(self, content):
            self.content = content

    _pytree.register_pytree_node(Box, lambda box: ([box.content], None), lambda x, _: Box(*x))
    assert _pytree.tree_map(lambda x: x + 1, [Box(1), 2])[0].content == 2
    with pytest.raises(ValueError, match="Box is registered"):
        _pytree.register_pytree_node(Box, lambda box: ([], None), lambda x, _: None)
    with pytest.raises(ValueError, match="has 2 leaves, got 1"):
        _pytree.tree_unflatten([1], _pytree.tree_structure([0, 0]))
    assert _pytree.tree_map_only(int, str, [1, 2.0]) == ["1", 2.0]
    assert _pytree.tree_all(bool, [1, [2]])
    assert not _pytree.tree_any(bool, [0, {}])


def test_operators_defined_in_python():
    mocked = in_place_of("torch")

    @mocked.library.custom_op("tests::cube", mutates_args=())
    def cube(x):
        return x**3

    x = flow.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        mocked.ops.tests.cube(x).backward()
    cube.register_autograd(
        lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    mocked.ops.tests.cube.default(x).backward()
    assert x.grad.item() == 12
    library = mocked.library.Library("tests", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match=r"`tests::twice` has no kernel for cpu"):
        mocked.ops.tests.twice(x)
    library.impl("twice", lambda x: x * 2, "CPU")
    assert mocked.ops.tests.twice(x).item() == 4
    with pytest.raises(AttributeError, match="tests::missing"):
        _ = mocked.ops.tests.missing
    with pytest.raises(OSError, match="cannot be loaded"):
        mocked.ops.load_library("/somewhere/else.so")


def test_libraries_find_pytorchs_version():
    with mock_torch.enable():
        assert importlib.metadata.version("torch") == importlib.import_module("torch").__version__
    assert importlib.metadata.version("torch").startswith(torch.__version__.partition("+")[0])


def test_what_cannot_act_says_what_can():
    mocked = in_place_of("torch")
    for call in (
        lambda: in_place_of("torch.distributed._functional_collectives").all_reduce(flow.ones(2)),
        lambda: in_place_of("torch.ao.quantization").prepare(flow.nn.ReLU()),
        lambda: mocked.cuda.CUDAGraph(),
    ):
        with pytest.raises(NotImplementedError, match="`"):
            call()
    assert not mocked.compiler.is_compiling()
    assert mocked.compiler.disable(len) is len
    with pytest.raises(TypeError, match="`dtype` must be one that tensors have"):
        flow.ones(2, dtype=mocked.float8_e4m3fn)


def test_data_parallel_modules_are_known_by_their_type():
    kind = in_place_of("torch.nn.parallel").DistributedDataParallel
    plain = flow.nn.Linear(2, 2)
    parallel = kind(plain)
    assert isinstance(parallel, kind)
    assert not isinstance(plain, kind)
    assert parallel.module is plain
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    with parallel.join(), parallel.no_sync():
        parallel(flow.ones(1, 2)).sum().backward()
    assert plain.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(RuntimeError, match="any parameter that requires a gradient"):
        kind(flow.nn.ReLU())
    with pytest.raises(ValueError, match="`device_ids`"):
        kind(plain, device_ids=[0, 1])


@pytest.mark.parametrize(
    "name",
    [
        "delay_all_reduce_named_params",
        "param_to_hook_all_reduce",
        "mixed_precision",
        "device_mesh",
    ],
)
def test_what_data_parallel_modules_cannot_do_is_refused(name):
    kind = in_place_of("torch.nn.parallel").DistributedDataParallel
    with pytest.raises(NotImplementedError, match=f"`{name}`.*; use `"):
        kind(flow.nn.Linear(2, 2), **{name: object()})


def hook_with_annotations(bucket, returned):
    def hook(state, bucket):
        return bucket

    hook.__annotations__ = {"bucket": bucket, "return": returned}
    return hook


def test_functions_that_exchange_gradients_are_checked():
    t, parallel = in_place_of("torch"), in_place_of("torch.nn.parallel").DistributedDataParallel
    future_of_tensor = in_place_of("torch.futures").Future[t.Tensor]
    model = parallel(flow.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="must be callable"):
        model.register_comm_hook(None, 1)
    with pytest.raises(ValueError, match=r"bucket annotation should be dist\.GradBucket"):
        model.register_comm_hook(None, hook_with_annotations(int, future_of_tensor))
    with pytest.raises(ValueError, match="return annotation should be"):
        model.register_comm_hook(None, hook_with_annotations(t.distributed.GradBucket, int))
    hook = hook_with_annotations(t.distributed.GradBucket, future_of_tensor)
    model.register_comm_hook(None, hook)
    with pytest.raises(RuntimeError, match="can only be called once"):
        model.register_comm_hook(None, hook)


@pytest.mark.parametrize(
    ("exchange", "error"),
    [
        (lambda buffer: buffer, "must return a Future, got Tensor"),
        (lambda buffer: future_of([buffer]), "must hold one tensor, got list"),
        (lambda buffer: future_of(buffer[1:]), "returned 5 elements for a bucket of 6"),
        (lambda buffer: future_of(buffer).then(lambda future: 1 // 0), "ZeroDivisionError"),
    ],
)
def test_gradients_stay_where_their_exchange_fails(exchange, error):
    model = in_place_of("torch.nn.parallel").DistributedDataParallel(flow.nn.Linear(2, 2))
    model.register_comm_hook(None, lambda state, bucket: exchange(bucket.buffer()))
    with pytest.raises((TypeError, RuntimeError), match=error):
        model(flow.ones(1, 2)).sum().backward()
    assert model.module.weight.grad.tolist() == [[1, 1], [1, 1]]


def future_of(result):
    future = in_place_of("torch.futures").Future()
    future.set_result(result)
    return future


@pytest.mark.parametrize("name", ["powerSGD_hook", "batched_powerSGD_hook"])
@pytest.mark.parametrize(("rank", "epsilon"), [(1, 0), (2, 0), (2, 1e-8)])
def test_what_factors_lack_is_added_in_the_next_step(name, rank, epsilon):
    """The mean of many steps is that of the gradients, though each step's is of low rank."""
    hooks = in_place_of("torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook")
    bucket_of = in_place_of("torch.distributed").GradBucket
    state = hooks.PowerSGDState(
        None, rank, start_powerSGD_iter=2, orthogonalization_epsilon=epsilon
    )
    weight, total = flow.zeros(12, 12), flow.zeros(144)
    gradient = flow.randn(144, generator=flow.Generator().manual_seed(0))
    for step in range(200):
        bucket = bucket_of(0, gradient.clone(), [weight], True)
        mean = getattr(hooks, name)(state, bucket).wait()
        if step >= 2:
            assert np.linalg.matrix_rank(mean.view(12, 12).numpy(), tol=1e-4) == rank
        total += mean
    assert (total / 200 - gradient).norm() < 0.1 * gradient.norm()
    assert state.compression_stats() == (144 / (24 * rank), 198 * 144, 198 * 24 * rank)


PROGRAM = """
import sys
import numpy as np
from oneflow import mock_torch
mock_torch.enable()
import torch, timm, torchvision
import safetensors.torch
assert torch.__package__ == "oneflow"
folder = sys.argv[1]
images = torch.from_numpy(np.load(folder + "/images.npy"))
results = {}
for name, model in (
    ("timm", timm.create_model("resnet10t", num_classes=7)),
    ("torchvision", torchvision.models.squeezenet1_1(num_classes=7)),
):
    model.load_state_dict(torch.load(f"{folder}/{name}.pth"))
    safetensors.torch.save_file(model.state_dict(), folder + "/saved.safetensors")
    saved = safetensors.torch.load_file(folder + "/saved.safetensors")
    assert all(saved[key].equal(each) for key, each in model.state_dict().items())
    results[name] = model.eval()(images).detach().numpy()
boxes, scores = (torch.from_numpy(np.load(f"{folder}/{each}.npy")) for each in ("boxes", "scores"))
results["nms"] = torchvision.ops.nms(boxes, scores, 0.4).numpy()
rois = torch.cat([torch.zeros(len(boxes), 1), boxes], 1)
results["roi_align"] = torchvision.ops.roi_align(images, rois, 5, 1.0, 2, True).numpy()
np.savez(folder + "/results.npz", **results)
"""


def test_networks_of_timm_and_torchvision(tmp_path):
    timm = importlib.import_module("timm")
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 3, 64, 64, generator=generator)
    corners = torch.rand(20, 2, generator=generator) * 40
    boxes = torch.cat([corners, corners + 4 + torch.rand(20, 2, generator=generator) * 20], 1)
    scores = torch.rand(20, generator=generator)
    expected = {
        "nms": torchvision.ops.nms(boxes, scores, 0.4),
        "roi_align": torchvision.ops.roi_align(
            images, torch.cat([torch.zeros(20, 1), boxes], 1), 5, 1.0, 2, True
        ),
    }
    for name, array in (("images", images), ("boxes", boxes), ("scores", scores)):
        np.save(tmp_path / f"{name}.npy", array.numpy())
    for name, model in (
        ("timm", timm.create_model("resnet10t", num_classes=7)),
        ("torchvision", torchvision.models.squeezenet1_1(num_classes=7)),
    ):
        torch.save(model.state_dict(), tmp_path / f"{name}.pth")
        expected[name] = model.eval()(images).detach()
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=300)
    results = np.load(tmp_path / "results.npz")
    for name, tensor in expected.items():
        np.testing.assert_allclose(
            results[name], tensor.numpy(), rtol=1e-4, atol=1e-5, err_msg=name
        )


@pytest.mark.parametrize("framework", [torch, flow], ids=["torch", "oneflow"])
def test_subclasses_of_distributions_keep_what_they_need_where_they_like(framework):
    distributions = framework.distributions

    class Lazy(distributions.MultivariateNormal):
        def __init__(self, loc, root):
            self.loc, self._root = loc, root
            distributions.Distribution.__init__(self, (), (2,), validate_args=False)

        @property
        def _unbroadcasted_scale_tril(self):
            return self._root.tril()

    class Prior(distributions.LogNormal):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._transform = "of a prior"

    root = framework.tensor([[1.0, 5.0], [0.5, 2.0]])
    x, mean = framework.ones(2), framework.zeros(2)
    whole = distributions.MultivariateNormal(mean, scale_tril=root.tril())
    assert Lazy(mean, root).log_prob(x).item() == pytest.approx(whole.log_prob(x).item())
    prior, like = Prior(0.0, 1.0), distributions.LogNormal(0.0, 1.0)
    two = framework.tensor(2.0)
    assert prior._transform == "of a prior"
    assert prior.log_prob(two).item() == pytest.approx(like.log_prob(two).item())


@pytest.mark.parametrize("framework", [torch, flow], ids=["torch", "oneflow"])
def test_subclasses_of_distributions_expand_themselves(framework):
    distributions = framework.distributions

    class Scaled(distributions.Normal):
        def __init__(self, loc, scale, factor):
            self.factor = factor
            super().__init__(loc, scale)

        def expand(self, batch_shape, _instance=None):
            made = self._get_checked_instance(Scaled, _instance)
            made.factor = self.factor.expand(batch_shape) * 2
            return super().expand(batch_shape, made)

    class Without(distributions.Independent):
        def __init__(self, loc):
            super().__init__(distributions.Normal(loc, 1.0), 1)

    class With(Without):
        def expand(self, batch_shape, _instance=None):
            return super().expand(batch_shape, self._get_checked_instance(With, _instance))

    zeros = framework.zeros(2)
    wide = Scaled(zeros, zeros + 1, zeros + 3).expand((4, 2))
    assert type(wide) is Scaled
    assert wide.factor.tolist() == [[6.0, 6.0]] * 4
    assert tuple(wide.log_prob(zeros).shape) == tuple(wide.batch_shape) == (4, 2)
    many = With(zeros).expand((3,))
    assert (type(many), tuple(many.batch_shape), tuple(many.event_shape)) == (With, (3,), (2,))
    assert tuple(many.log_prob(zeros).shape) == (3,)
    with pytest.raises(NotImplementedError, match="Without"):
        Without(zeros)._get_checked_instance(distributions.Independent)


@pytest.mark.parametrize("place", ["torch", "oneflow"])
def test_users_say_how_their_samples_become_batches(place, monkeypatch):
    data = torch.utils.data if place == "torch" else in_place_of("torch.utils.data")

    class Sample:
        def __init__(self, number):
            self.number = number

    functions = data._utils.collate.default_collate_fn_map
    monkeypatch.setitem(
        functions, Sample, lambda batch, *, collate_fn_map: sum(sample.number for sample in batch)
    )
    loader = data.DataLoader([{"x": Sample(n), "y": n} for n in range(4)], batch_size=2)
    assert [(batch["x"], batch["y"].tolist()) for batch in loader] == [(1, [0, 1]), (5, [2, 3])]


@pytest.mark.parametrize("place", ["torch", "oneflow"])
@overrides_enabled()
def test_batches_of_subclasses_have_their_class(place):
    framework = torch if place == "torch" else in_place_of("torch")
    kind = type("Described", (framework.Tensor,), {})
    samples = [framework.ones(2).as_subclass(kind) for _ in range(2)]
    collate = framework.utils.data._utils.collate
    for batch in (collate.default_collate(samples), collate.collate_tensor_fn(samples)):
        assert type(batch) is kind
        assert batch.tolist() == [[1.0, 1.0], [1.0, 1.0]]


class Marked(flow.Tensor):
    """A class of a user, which processes find by its name."""


class MarkedSamples(flow.utils.data.Dataset):
    """Samples of that class."""

    def __len__(self):
        return 2

    def __getitem__(self, number):
        return flow.tensor([float(number)]).as_subclass(Marked)


@overrides_enabled()
def test_batches_from_workers_have_the_class_of_samples():
    (batch,) = flow.utils.data.DataLoader(MarkedSamples(), batch_size=2, num_workers=1)
    assert type(batch) is Marked
    assert batch.tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("place", ["torch", "oneflow"])
def test_loaders_of_users_begin_epochs_themselves(place):
    data = (torch if place == "torch" else in_place_of("torch")).utils.data

    class Endless(data.DataLoader):
        def __iter__(self):
            while True:
                yield from self._get_iterator()

    batches = iter(Endless(range(2), batch_size=2))
    assert [next(batches).tolist() for _ in range(3)] == [[0, 1]] * 3


def test_names_that_libraries_compare_with():
    distributed = in_place_of("torch.distributed")
    assert {distributed.Backend.MPI, distributed.Backend.UCC} == {"mpi", "ucc"}
    dispatch = in_place_of("torch.utils._python_dispatch")
    assert not dispatch.is_traceable_wrapper_subclass(flow.ones(1))
    with pytest.raises(NotImplementedError, match="fully_shard"):
        in_place_of("torch.distributed.optim").DistributedOptimizer([])


QUANTIZATION = (torch.ao.quantization, in_place_of("torch.ao.quantization"))


@pytest.mark.parametrize("quantization", QUANTIZATION)
@pytest.mark.parametrize("name", ["ObserverBase", "FakeQuantizeBase"])
def test_bases_of_quantization_are_abstract(quantization, name):
    base = getattr(quantization, name)
    arguments = [torch.qint8] if name == "ObserverBase" else []
    with pytest.raises(TypeError, match=r"abstract class.*calculate_qparams"):
        base(*arguments)
    with pytest.raises(TypeError, match=r"abstract class .* calculate_qparams"):
        type("Half", (base,), {"forward": lambda self, x: x})(*arguments)


def _concrete(base):
    """A class with the methods that a base of quantization leaves to it."""
    methods = {"forward": lambda self, x: x, "calculate_qparams": lambda self: (1.0, 0)}
    return type("Concrete", (base,), methods)


@pytest.mark.parametrize("quantization", QUANTIZATION)
def test_factories_of_observers_keep_arguments(quantization):
    observer = _concrete(quantization.ObserverBase)
    counts = iter(range(9))
    factory = observer.with_args(is_dynamic=True).with_callable_args(dtype=lambda: next(counts))
    made = [factory(), factory(), factory(dtype="given"), factory.with_args(is_dynamic=False)()]
    found = [(observer.dtype, observer.is_dynamic) for observer in made]
    assert found == [(0, True), (1, True), ("given", True), (2, False)]
    made = observer.with_callable_args(dtype=lambda: 7).with_args(is_dynamic=True)()
    assert (made.dtype, made.is_dynamic) == (7, True)
    assert repr(observer.with_args(dtype=1)).endswith("dtype=1){}")


@pytest.mark.parametrize("quantization", QUANTIZATION)
def test_modules_that_round_have_switches(quantization):
    fake = _concrete(quantization.FakeQuantizeBase).with_args()()
    fake.disable_fake_quant()
    fake.disable_observer()
    fake.enable_observer()
    state = {name: value.tolist() for name, value in fake.state_dict().items()}
    assert state == {"fake_quant_enabled": [0], "observer_enabled": [1]}


def test_wrappers_of_optimizers_ask_for_hooks() -> None:
    class Wrapper(flow.optim.Optimizer):
        def __init__(self, optimizer: flow.optim.Optimizer) -> None:
            self._patch_step_function()
            self.optimizer, self.defaults = optimizer, optimizer.defaults
            self.param_groups = optimizer.param_groups

        def step(self, closure: Any = None) -> Any:
            return self.optimizer.step(closure)

    weight = flow.nn.Parameter(flow.ones(2))
    wrapper = Wrapper(flow.optim.SGD([weight], lr=0.5))
    weight.sum().backward()
    wrapper.step()
    assert weight.tolist() == [0.5, 0.5]
