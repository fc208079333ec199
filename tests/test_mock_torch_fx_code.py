"""The source of symbolic graphs in PyTorch's place, and its values, beside PyTorch's."""

from __future__ import annotations

import inspect
import math
import operator
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.fx.passes.shape_prop import ShapeProp

import oneflow as flow
from tests.in_place import in_place_of, overrides_enabled

FRAMEWORKS = (torch, in_place_of("torch"))
Pair = namedtuple("Pair", "first second")


@pytest.fixture(autouse=True, scope="module")
def symbolic_values():
    """Let functions ask symbolic values, and give other tests functions that do not."""
    with overrides_enabled():
        yield


def helper(x):
    return x + 1


torch.fx.wrap("helper")
FRAMEWORKS[1].fx.wrap("helper")


def module_named_torch(framework):
    class Holder(framework.nn.Module):
        def __init__(self):
            super().__init__()
            self.torch = framework.nn.ReLU()

        def forward(self, x):
            return framework.sin(self.torch(x)) + math.inf

    return Holder()


def infinities(framework):
    def call(x):
        low = x.masked_fill(x > 0, float("-inf")).masked_fill(x < 0, float("-inf"))
        return low, x + float("inf"), x * float("-inf"), x + float("nan"), x - float("nan")

    return call


def annotated(framework):
    def call(x, y=2):
        return x + y

    call.__annotations__.update(x=framework.Tensor, y=int)
    call.__annotations__["return"] = framework.Tensor
    return call


#: Programs of a framework; their source is PyTorch's.
PROGRAMS = {
    "infinities": infinities,
    "pairs": lambda torch: lambda x: Pair(x, x + 1),
    "pairs_in_dicts": lambda torch: lambda x: {"a": [x, {1.5: x}], "b": (x,)},
    "wrapped": lambda torch: lambda x: torch.relu(helper(helper(x))),
    "named_torch": module_named_torch,
    "named_device": lambda torch: lambda device, nan_=1.0: torch.sin(device) * nan_ + math.inf,
    "modules": lambda torch: lambda x: operator.getitem(x, (slice(0, None), None, ...)),
    "dtypes": lambda torch: lambda x: x.to(torch.float64) + torch.ones(2, dtype=torch.float64),
    "formats": lambda torch: lambda x: x.contiguous(memory_format=torch.contiguous_format),
    "devices": lambda torch: lambda x: x.to(torch.device("meta")).shape[0] + x,
    "layouts": lambda torch: (
        lambda x: torch.zeros_like(
            x, dtype=torch.int64, layout=torch.strided, device=torch.device("cpu")
        )
    ),
    "complex": lambda torch: lambda x: x + 2j,
    "annotated": annotated,
}


def values(found):
    if isinstance(found, dict):
        return {key: values(member) for key, member in found.items()}
    if isinstance(found, tuple | list):
        return [type(found).__name__, *(values(member) for member in found)]
    return np.asarray(found).tolist()


def _assert_same_as_pytorch(program, concrete_args=None, arguments=()):
    expected, ours = (
        framework.fx.symbolic_trace(program(framework), concrete_args) for framework in FRAMEWORKS
    )
    results = [
        module(framework.tensor([1.0, -2.0]), *arguments)
        for framework, module in zip(FRAMEWORKS, (expected, ours), strict=True)
    ]
    np.testing.assert_equal(values(results[1]), values(results[0]))
    code = [
        line
        for line in expected.code.strip().splitlines()
        if line and not line.startswith("torch.fx._symbolic_trace.wrap")
    ]
    assert ours.code.strip().splitlines() == code
    assert [x.name for x in ours.graph.nodes] == [x.name for x in expected.graph.nodes]
    return ours


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_pytorchs_source_and_values(name):
    _assert_same_as_pytorch(PROGRAMS[name])


def test_annotations_are_kept():
    expected, ours = (x.fx.symbolic_trace(annotated(x)).graph for x in FRAMEWORKS)
    assert str(ours) == str(expected)
    kinds = [node.type for node in ours.nodes]
    assert kinds == [flow.Tensor, int, None, flow.Tensor]


def test_variadic_arguments_have_no_types():
    def call(*args: int, **kwargs: int):
        return args[0] + kwargs["a"]

    expected, ours = (framework.fx.symbolic_trace(call) for framework in FRAMEWORKS)
    assert ours.code.strip() == expected.code.strip()


def test_generic_types_are_constants():
    def call(x: flow.Tensor, kind: list[int]):
        return x, list[int]

    traced = FRAMEWORKS[1].fx.symbolic_trace(call)
    kinds = [traced(1, 2)[1], traced.graph.output_node().args[0][1]]
    assert kinds == [list[int]] * 2


def chosen(framework):
    def call(x, flag, scale=3, bias=None, text="a"):
        return x * scale if flag else x

    return call


CHOICES = {
    "one": ({"flag": True}, (True,)),
    "all": ({"flag": True, "scale": 3, "bias": None, "text": "a"}, (True,)),
    "other_values": ({"flag": False, "scale": 2.5}, (False, 2.5)),
}


@pytest.mark.parametrize("name", CHOICES)
def test_specialized_arguments_are_checked(name):
    concrete_args, arguments = CHOICES[name]
    traced = _assert_same_as_pytorch(chosen, concrete_args, arguments)
    with pytest.raises(AssertionError, match="flag has been specialized to have value"):
        traced(flow.ones(2), not arguments[0])


def test_specialized_arguments_that_cannot_be_compared_are_warned_of():
    for framework in FRAMEWORKS:
        options = SimpleNamespace(scale=3)
        with pytest.warns(UserWarning, match="options"):
            traced = framework.fx.symbolic_trace(
                lambda x, options: x * options.scale, {"options": options}
            )
        assert traced(framework.ones(1), options).item() == 3


def test_source_keeps_the_operands_of_powers():
    traced = FRAMEWORKS[1].fx.symbolic_trace(lambda x: (-2) ** x)
    assert traced(flow.tensor([2.0])).item() == 4.0


@pytest.mark.parametrize("name", ["helper", "Pair", "math_floor", "call"])
def test_nodes_and_what_they_call_have_names_of_their_own(name):
    framework = FRAMEWORKS[1]
    functions = {"helper": helper, "Pair": Pair, "math_floor": math.floor, "call": lambda x: -x}
    function = functions[name]
    graph = framework.fx.Graph()
    argument = graph.placeholder(name)
    names = [f"{home}{name}" for home in ("", "math_", "tests_test_mock_torch_fx_code_", "_")]
    nodes = [argument]
    for own in names:
        second = (nodes[-1],) if name == "Pair" else ()
        called = graph.call_function(function, (argument, *second), name=own)
        nodes.append(graph.call_function(operator.add, (argument, argument), name=own))
    graph.output(called)
    graph.lint()
    module = framework.fx.GraphModule({}, graph)
    assert values(module(2.0)) == values(function(2.0, 4.0) if name == "Pair" else function(2.0))


def test_arguments_may_be_called_as_globals_are():
    ours = FRAMEWORKS[1]
    traced = ours.fx.symbolic_trace(lambda torch, inf=2.0: ours.sin(torch) * inf + math.inf)
    assert traced(flow.zeros(1)).item() == math.inf


def test_shapes_are_described_as_pytorchs():
    found = []
    for framework, propagate in ((torch, ShapeProp), (FRAMEWORKS[1], None)):
        propagate = propagate or in_place_of("torch.fx.passes.shape_prop").ShapeProp
        traced = framework.fx.symbolic_trace(lambda x: x + 1)
        propagate(traced).propagate(framework.ones(2, 3))
        metadata = next(iter(traced.graph.nodes)).meta["tensor_meta"]
        found.append([str(member).rpartition(".")[2] for member in metadata])
        assert inspect.isclass(type(metadata))
    assert found[0] == found[1]
