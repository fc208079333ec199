"""Calling graphs: structure of arguments and results, compiling again, errors."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import TrainGraph, graph_of


def test_nested_arguments_and_results():
    def build(a, several, named, other=None):
        return {"sum": a + several[0], "none": None, "t": (named["k"] * 2, [other])}

    graph = graph_of(build)
    x = flow.ones(2)
    for _ in range(2):
        result = graph(x, [x * 2, None], {"k": x * 3}, other=x * 4)
        assert result["sum"].tolist() == [3.0, 3.0]
        assert result["none"] is None
        assert result["t"][0].tolist() == [6.0, 6.0]
        assert result["t"][1][0].tolist() == [4.0, 4.0]


def test_tensors_are_lazy_while_a_graph_is_built():
    weight, seen = flow.ones(2), []

    def build(x):
        seen.extend([x.is_lazy, (x * weight)[:1].is_lazy, weight.is_lazy, x.is_eager])
        return x * weight

    result = graph_of(build)(flow.ones(2))
    assert seen == [True, True, False, False]
    assert result.is_eager
    assert not result.is_lazy


class Pair(NamedTuple):
    """A named tuple of tensors."""

    first: flow.Tensor
    second: flow.Tensor


def test_named_tuples_and_python_values():
    graph = graph_of(
        lambda pair, scale, flag: Pair(pair.second * scale, pair.first),
    )
    pair = Pair(flow.ones(1), flow.zeros(1))
    result = graph(pair, 2.0, True)
    assert isinstance(result, Pair)
    assert (result.first.item(), result.second.item()) == (0.0, 1.0)
    with pytest.warns(UserWarning, match="compiled again"):
        assert graph(Pair(flow.ones(1), flow.ones(1)), 3.0, True).first.item() == 3.0


def test_dicts_of_other_kinds():
    def build(x):
        kept = defaultdict(list, a=[x])
        kept["b"].append(x * 2)
        return kept, OrderedDict(c=x)

    for _ in range(2):
        kept, ordered = graph_of(build)(flow.ones(1))
        assert kept["b"][0].item() == 2.0
        assert kept["c"] == []
        assert type(ordered) is OrderedDict


@dataclasses.dataclass
class _Batch:
    images: flow.Tensor
    masks: list[flow.Tensor]
    scale: float = 2.0


@dataclasses.dataclass(frozen=True)
class _FrozenBatch:
    images: flow.Tensor


@dataclasses.dataclass(frozen=True)
class _Options:
    scale: float


@dataclasses.dataclass
class _DictOutput(OrderedDict):
    """A dict that takes its items as keywords alone, as results of diffusers' models do."""

    sample: flow.Tensor
    other: flow.Tensor | None = None

    def __post_init__(self):
        self["sample"] = self.sample


def test_dataclasses():
    def build(batch, options):
        assert options is half
        return _Batch(batch.images * batch.scale, [mask * options.scale for mask in batch.masks])

    half = _Options(0.5)
    graph = graph_of(build)
    for number in (1.0, 3.0):
        x = flow.full((2,), number)
        result = graph(_Batch(x, [x, x * 2]), half)
        assert type(result) is _Batch
        assert result.images.tolist() == [2 * number] * 2
        assert [mask.tolist() for mask in result.masks] == [[number / 2] * 2, [number] * 2]
    graph = graph_of(lambda batch: _FrozenBatch(batch.images + 1))
    assert [graph(_FrozenBatch(flow.ones(1) * n)).images.item() for n in (1, 5)] == [2.0, 6.0]
    assert len(graph._steps) == 1
    graph = graph_of(lambda x: _DictOutput(sample=x * 2))
    for _ in range(2):
        result = graph(flow.ones(1))
        assert type(result) is _DictOutput
        assert result.sample.tolist() == result["sample"].tolist() == [2.0]


CONTAINERS = {
    "tensor": lambda x: x,
    "tuple": lambda x: (x,),
    "list": lambda x: [x],
    "dict": lambda x: {"key": x},
    "dict of lists": lambda x: {"key": [x]},
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "options",
    [{}, {"eq": False}, {"frozen": True}, {"unsafe_hash": True}, {"slots": True}],
    ids=str,
)
def test_tensors_of_dataclasses_are_read_in_each_call(options, container):
    kind = dataclasses.make_dataclass("Batch", [("content", Any), ("name", str, "a")], **options)
    contain = CONTAINERS[container]

    def content(batch):
        value = batch.content
        while not isinstance(value, flow.Tensor):
            value = value["key"] if isinstance(value, dict) else value[0]
        return value

    graph = graph_of(lambda batch: kind(contain(content(batch) * 2)))
    x = flow.ones(2)
    batch = kind(contain(x))
    for number in (1.0, 5.0, 7.0):
        x.fill_(number)
        result = graph(batch)
        assert type(result) is kind
        assert result.name == "a"
        assert content(result).tolist() == [2 * number] * 2
    assert content(graph(kind(contain(flow.zeros(2))))).tolist() == [0.0, 0.0]
    assert len(graph._steps) == 1


def test_dataclasses_are_not_computed_again():
    @dataclasses.dataclass
    class Doubled:
        x: flow.Tensor
        sum: flow.Tensor = dataclasses.field(init=False)
        start: dataclasses.InitVar[float] = 0.0

        def __post_init__(self, start):
            self.x = self.x * 2
            self.sum = self.x.sum() + start

    def build(batch):
        batch.later = batch.sum + 1
        return batch

    result = graph_of(build)(Doubled(flow.ones(2), start=1.0))
    assert result.x.tolist() == [2.0, 2.0]
    assert (result.sum.item(), result.later.item()) == (5.0, 6.0)


def test_dicts_with_attributes_beside_their_items_are_refused():
    batch = _DictOutput(flow.ones(1))
    batch.other = flow.ones(1)
    with pytest.raises(TypeError, match="is a _DictOutput"):
        graph_of(lambda x: x)(batch)


def test_results_of_saved_graphs_are_dicts_for_dataclasses(tmp_path):
    graph = graph_of(lambda batch: _Batch(batch.images, [batch.images + 1]))
    graph(_FrozenBatch(flow.ones(1)))
    flow.save(graph, tmp_path / "graph")
    loaded = flow.load(tmp_path / "graph")
    for batch in (_FrozenBatch(flow.ones(1)), {"images": flow.ones(1)}):
        result = loaded(batch)
        assert type(result) is dict
        assert result["masks"][0].tolist() == [2.0]
        assert result["scale"] == 2.0


def test_an_argument_given_twice_is_still_two_arguments():
    graph = graph_of(lambda a, b: a - b)
    x, y = flow.ones(2), flow.zeros(2)
    assert graph(x, x).tolist() == [0.0, 0.0]
    assert graph(x, y).tolist() == [1.0, 1.0]


def test_arguments_returned_and_unused():
    graph = graph_of(lambda a, b: (a, a.detach(), flow.ones(1)))
    x = flow.ones(2)
    for _ in range(2):
        same, alias, constant = graph(x, flow.zeros(3))
        assert same is x
        assert alias.tolist() == [1.0, 1.0]
        assert constant.item() == 1.0


def test_build_runs_once_per_shape_and_says_so_once():
    calls = []

    def build(x):
        calls.append(x.shape)
        return x + 1

    graph = graph_of(build)
    assert not graph.is_compiled
    for _ in range(3):
        graph(flow.ones(2))
    assert graph.is_compiled
    with pytest.warns(UserWarning, match="compiled again"):
        graph(flow.ones(3))
    for size in (4, 3, 2):
        assert graph(flow.ones(size)).tolist() == [2.0] * size
    assert len(calls) == 3


def test_the_number_of_compiled_steps_is_bounded():
    calls = []
    graph = graph_of(lambda x, n: calls.append(n) or x * n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in [*range(11), 10, 0]:
            graph(flow.ones(1), n)
    assert calls == [*range(11), 0]


def test_results_come_before_the_work_is_done_and_need_no_gradient():
    model = nn.Linear(2, 2)
    result = graph_of(lambda x: model(x), model=model)(flow.ones(1, 2))
    assert not result.requires_grad
    assert flow.equal(result, model(flow.ones(1, 2)))


def test_checks_of_values_name_the_line_in_build():
    table = nn.Embedding(3, 2)
    graph = graph_of(lambda i: table(i), table=table)
    graph(flow.tensor([0, 2]))
    with pytest.raises(IndexError, match=r"5.*test_calls\.py"):
        graph(flow.tensor([0, 5])).numpy()


# --- errors


def test_build_is_needed():
    with pytest.raises(NotImplementedError, match="must define `build`"):
        type("Empty", (nn.Graph,), {})()()


def test_init_of_the_base_class_is_needed():
    class Forgot(nn.Graph):
        def __init__(self):
            self.linear = nn.Linear(1, 1)

    with pytest.raises(RuntimeError, match=r"super\(\).__init__\(\)"):
        Forgot()

    class Empty(nn.Graph):
        def __init__(self):
            pass

        def build(self, x):
            return x

    with pytest.raises(RuntimeError, match=r"super\(\).__init__\(\)"):
        Empty()(flow.ones(1))


def test_call_may_not_be_overridden():
    with pytest.raises(TypeError, match="define `build`"):
        type("Own", (nn.Graph,), {"__call__": lambda self: None})


def test_graphs_do_not_nest():
    inner = graph_of(lambda x: x + 1)
    with pytest.raises(TypeError, match="nested"):
        graph_of(lambda x: x).inner = inner
    with pytest.raises(RuntimeError, match="nested"):
        graph_of(lambda x: inner(x))(flow.ones(1))
    assert inner(flow.ones(1)).item() == 2.0
    with pytest.raises(RuntimeError, match="nested"):  # `inner` is compiled now
        graph_of(lambda x: inner(x))(flow.ones(1))


def test_wrong_arguments():
    graph = graph_of(lambda x: x)
    graph.__class__.build = lambda self, x, y: x + y
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        graph(flow.ones(1))
    with pytest.raises(TypeError, match="too many"):
        graph(flow.ones(1), flow.ones(1), flow.ones(1))
    with pytest.raises(TypeError, match="argument 0 is a ndarray"):
        graph(np.ones(1), flow.ones(1))
    with pytest.raises(TypeError, match=r"argument `y`\[0\] is a set"):
        graph(flow.ones(1), y=[{1}])


class Holder:
    """An object that is no list, tuple or dict."""

    def __init__(self, tensor):
        self.tensor = tensor


def test_tensors_hidden_in_objects_are_refused():
    with pytest.raises(TypeError, match="argument 0 is a Holder"):
        graph_of(lambda holder: holder.tensor)(Holder(flow.ones(1)))
    with pytest.raises(TypeError, match=r"result of .* is a generator"):
        graph_of(lambda x: (x for _ in range(2)))(flow.ones(1))
    with pytest.raises(TypeError, match="is a dict_values"):
        graph_of(lambda x: {"a": x}.values())(flow.ones(1))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * x.sum().item(),
        lambda x: x.numpy(),
        lambda x: x[x > 0],
    ],
)
def test_values_may_not_be_read_while_building(read):
    with pytest.raises(RuntimeError, match=r"read inside `build`.*test_calls\.py"):
        graph_of(read)(flow.ones(2))


def test_tensors_print_without_their_values_while_building():
    texts = []
    graph_of(lambda x: texts.append(f"{x * 2}") or x)(flow.ones(2, 3))
    assert texts == ["tensor(..., size=(2, 3), dtype=oneflow.float32)"]


def test_tensors_stay_on_the_device_of_the_graph():
    with pytest.raises(RuntimeError, match="from `cpu:0` to `cuda:0` inside `build`"):
        graph_of(lambda x: x.cuda())(flow.ones(1))


def test_graphs_are_not_copied():
    graph = graph_of(lambda x: x)
    for make in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            make(graph)


def test_modules_in_lists_are_not_seen():
    graph = graph_of(lambda x: x)
    with pytest.warns(UserWarning, match=r"layers is a list with modules.*nn\.ModuleList"):
        graph.layers = [nn.Linear(1, 1)]


def test_tensors_that_require_grad_and_belong_to_no_module():
    layer = nn.Linear(1, 1)
    with pytest.warns(UserWarning, match=r"belongs to no module.*test_calls\.py"):
        graph_of(lambda x: layer(x))(flow.ones(1, 1))
    graph_of(lambda x: x + flow.ones(1))(flow.ones(1))  # other constants are ordinary


def test_only_scalars_go_backward():
    model = nn.Linear(2, 2)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(RuntimeError, match="scalar"):
        TrainGraph(model, lambda m, x: m(x), optimizer)(flow.ones(2, 2))


@pytest.mark.parametrize("dtype", [flow.float32, flow.int32, flow.bool, flow.float64])
@pytest.mark.parametrize(
    "fill",
    [
        lambda x: flow.full((2, 3), x.sum()),
        lambda x: flow.full((2,), x[:1], dtype=flow.float64),
        lambda x: flow.full_like(x, x.max()),
        lambda x: flow.full_like(x, x.sum(), dtype=flow.int8),
        lambda x: x.new_full((2,), x.sum()),
        lambda x: flow.zeros(3).fill_(x.sum()),
    ],
)
def test_filled_with_a_number_that_is_computed(fill, dtype):
    x = flow.tensor([0, 1, 3]).to(dtype)
    result, expected = graph_of(fill)(x), fill(x)
    assert result.dtype is expected.dtype
    np.testing.assert_array_equal(result.numpy(), expected.numpy())


def test_optimizers_and_schedules_are_checked():
    graph = graph_of(lambda x: x)
    optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(TypeError, match="must be an Optimizer"):
        graph.add_optimizer(nn.Linear(1, 1))
    with pytest.raises(TypeError, match="LBFGS computes the loss several times"):
        graph.add_optimizer(flow.optim.LBFGS([flow.ones(1, requires_grad=True)]))
    with pytest.raises(TypeError, match="lr_sch"):
        graph.add_optimizer(optimizer, lr_sch=optimizer)
    schedule = flow.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    with pytest.raises(TypeError, match="ReduceLROnPlateau"):
        graph.add_optimizer(optimizer, lr_sch=schedule)
    other = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
    graph.add_optimizer(optimizer)
    with pytest.raises(ValueError, match="was added"):
        graph.add_optimizer(optimizer)
    with pytest.raises(ValueError, match="another optimizer"):
        graph.add_optimizer(other, lr_sch=flow.optim.lr_scheduler.StepLR(optimizer, 1))


def test_a_failed_build_leaves_everything_as_it_was():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = flow.optim.Adam(model.parameters(), lr=0.1)
    before = [t.numpy() for t in model.state_dict().values()]

    def loss_of(module, x):
        loss = module(x).sum()
        loss.backward()
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        TrainGraph(model, loss_of, optimizer)(flow.ones(2, 2))
    after = [t.numpy() for t in model.state_dict().values()]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert model[0].weight.grad is None
    assert not optimizer.state
    assert flow.ones(2).sum().item() == 2.0


def test_tensors_kept_from_build_explain_themselves():
    kept = []
    graph_of(lambda x: kept.append(x * 2) or x)(flow.ones(1))
    with pytest.raises(RuntimeError, match="made inside `build`"):
        kept[0].numpy()
