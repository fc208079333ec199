"""Symbolic graphs in PyTorch's place, compared with PyTorch's."""

from __future__ import annotations

import copy
import io
import math
import operator
import pickle

import pytest
import torch
from torch import fx as torch_fx

import oneflow as flow
from tests.in_place import enabled, in_place_of, overrides_enabled


@pytest.fixture(autouse=True, scope="module")
def symbolic_values():
    """Let functions ask symbolic values, and give other tests functions that do not."""
    with overrides_enabled():
        yield


FRAMEWORKS = (torch, in_place_of("torch"))
BOTH = pytest.mark.parametrize("framework", FRAMEWORKS, ids=["torch", "oneflow"])


def block(framework):
    nn = framework.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
            self.norm = nn.LayerNorm(4)
            self.weight = nn.Parameter(framework.arange(4.0))
            self.register_buffer("shift", framework.ones(4))

        def forward(self, x, scale=2.0, *, flag=None):
            y = self.layers(x) * self.weight[:4] + self.shift
            first, second = framework.split(y, 2, dim=-1)
            y = framework.cat([first, second], dim=-1).view(x.shape[0], -1)
            y = -(framework.relu(y) ** 2) @ framework.ones(4, 4)
            return {"result": self.norm(y) * scale, "count": x.size(0)}

    module = Block()
    with framework.no_grad():
        for member in module.parameters():
            member.copy_(framework.linspace(-1, 1, member.numel()).reshape(member.shape))
    return module


def nodes(graph, names):
    """The nodes of a graph, with functions by their names."""

    def text(target):
        return target if isinstance(target, str) else names.get(target, target.__name__)

    return [(x.op, x.name, text(x.target), str(x.args), str(x.kwargs)) for x in graph.nodes]


FUNCTIONS = {
    "methods": lambda torch: lambda x: x.sin().add(1).masked_fill(x > 0, math.inf)[..., 1:2].T,
    "operators": lambda torch: lambda x, y: (1 - x) / (2**y) + (~x & y) - (-x) * abs(y),
    "comparisons": lambda torch: lambda x, y: ((x < y) | (x >= 2)) ^ (x != y),
    "functions": lambda torch: lambda x: torch.where(torch.relu(x) > 0, x, torch.zeros_like(x)),
    "lists": lambda torch: lambda x: torch.stack([x, torch.ones(2)]).sum(dim=(0, 1)),
    "variadic": lambda torch: lambda *args, **kwargs: args[0] + kwargs["a"],
    "defaults": lambda torch: lambda x, y=3, *, z=(1, 2): (x * y, {"z": z}),
    "numbers": lambda torch: lambda x: math.floor(2.5) * x,
    "sizes": lambda torch: lambda x: x.reshape(x.shape[0] * x.size(1), -1),
    "pairs": lambda torch: lambda x: torch.max(x, dim=0)[1] + torch.max(x, dim=0).indices,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_become_pytorchs_graphs(name):
    found = []
    for framework in FRAMEWORKS:
        graph = framework.fx.symbolic_trace(FUNCTIONS[name](framework)).graph
        graph.lint()
        found.append(nodes(graph, {}))
    assert found[0] == found[1]


def test_modules_become_pytorchs_graphs():
    expected, ours = (framework.fx.symbolic_trace(block(framework)) for framework in FRAMEWORKS)
    assert nodes(ours.graph, {}) == nodes(expected.graph, {})
    code = expected.code.replace("torch.functional.split", "torch.split")
    assert ours.code.strip() == code.strip()
    assert list(ours.state_dict()) == list(expected.state_dict())


@BOTH
def test_traced_modules_compute_and_are_copied(framework):
    module = block(framework)
    x = framework.linspace(-1, 1, 6).reshape(2, 3)
    expected = module(x, 3.0)["result"]
    traced = framework.fx.symbolic_trace(module)
    found = [traced, copy.deepcopy(traced), framework.fx.Interpreter(traced)]
    for member in found:
        call = member.run if isinstance(member, framework.fx.Interpreter) else member
        assert framework.allclose(call(x, 3.0)["result"], expected)
    expected.sum().backward()
    assert traced.weight.grad is module.weight.grad is not None
    assert found[1].weight.grad is None
    assert isinstance(traced, framework.nn.Module)
    assert traced.training
    assert not getattr(traced.eval().layers, "0").training


def test_arguments_keep_their_names():
    found = [
        framework.fx.symbolic_trace(lambda input, *args: input + args[0])
        for framework in FRAMEWORKS
    ]
    assert found[0].code.strip() == found[1].code.strip()
    assert found[1](flow.ones(1), flow.ones(1)).item() == 2
    assert FRAMEWORKS[1].fx.symbolic_trace(lambda input: -input)(input=flow.ones(1)).item() == -1


def test_traced_modules_are_pickled():
    framework = FRAMEWORKS[1]
    traced = framework.fx.symbolic_trace(block(framework))
    with enabled():
        again = pickle.loads(pickle.dumps(traced))
    x = flow.ones(2, 3)
    assert again.code == traced.code
    assert flow.equal(again(x)["result"], traced(x)["result"])


@BOTH
def test_traced_modules_are_saved(framework):
    traced = framework.fx.symbolic_trace(block(framework))
    file = io.BytesIO()
    framework.save({"model": traced}, file)
    file.seek(0)
    again = framework.load(file, weights_only=False)["model"]
    x = framework.linspace(-1, 1, 6).reshape(2, 3)
    assert isinstance(again, framework.fx.GraphModule)
    assert again.code == traced.code
    assert framework.equal(again(x)["result"], traced(x)["result"])
    assert list(again.state_dict()) == list(traced.state_dict())


@BOTH
def test_graphs_are_changed(framework):
    traced = framework.fx.symbolic_trace(lambda x: framework.relu(x) + framework.sin(x))
    graph = traced.graph
    for node in graph.find_nodes(op="call_function", target=framework.relu):
        with graph.inserting_after(node):
            new = graph.call_function(framework.neg, node.args)
        assert node.replace_all_uses_with(new) == [next(iter(new.users))]
        with pytest.raises(RuntimeError):
            graph.erase_node(node.all_input_nodes[0])
        graph.erase_node(node)
    traced.recompile()
    x = framework.tensor([1.0, 2.0])
    assert framework.allclose(traced(x), x.sin() - x)
    with graph.inserting_before(graph.output_node()):
        graph.call_method("cos", (next(iter(graph.nodes)),))
    assert graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "neg", "sin", "add", "output"]
    add = next(node for node in graph.nodes if node.target is operator.add)
    add.update_arg(1, 5)
    assert [node.name for node in add.all_input_nodes] == ["neg"]


@BOTH
def test_graphs_are_made_by_hand(framework):
    fx = framework.fx
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    x = fx.Proxy(graph.placeholder("x", framework.Tensor), tracer=tracer)
    weight = fx.Proxy(graph.get_attr("weight"), tracer=tracer)
    y = framework.einsum("i,ij->j", x * 2, weight)
    graph.output(y.node, framework.Tensor)
    graph.lint()
    module = fx.GraphModule({"weight": framework.ones(2, 3)}, graph, "Made")
    assert module(framework.ones(2)).tolist() == [4.0] * 3
    assert type(module).__name__ == "Made"
    assert list(dict(module.named_buffers())) == ["weight"]
    copied = fx.Graph()
    copied.output(copied.graph_copy(graph, {}))
    assert [node.name for node in copied.nodes] == [node.name for node in graph.nodes]
    with pytest.raises(RuntimeError):
        fx.GraphModule({}, graph)


@BOTH
def test_what_depends_on_values_is_refused(framework):
    trace = framework.fx.symbolic_trace
    error = framework.fx.proxy.TraceError
    with pytest.raises(error):
        trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(error):
        trace(lambda x: list(x))
    with pytest.raises(RuntimeError, match="len"):
        trace(lambda x: len(x))
    chosen = trace(lambda x, flag: x if flag else -x, concrete_args={"flag": True})
    assert chosen(framework.ones(1), True).item() == 1


@BOTH
def test_leaves_are_what_a_tracer_says(framework):
    class Deep(framework.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, framework.nn.ReLU)

    class Holder(framework.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = block(framework)

        def forward(self, x):
            return self.inner(x)["result"]

    graph = framework.fx.Tracer().trace(Holder())
    called = [node.target for node in graph.nodes if node.op == "call_module"]
    assert called == ["inner.layers.0", "inner.layers.1", "inner.norm"]
    module = framework.nn.Sequential(framework.nn.ReLU(), framework.nn.ReLU())
    assert [x.op for x in Deep().trace(module).nodes].count("call_module") == 2


@BOTH
def test_transformers_make_new_graphs(framework):
    class Smooth(framework.fx.Transformer):
        def call_function(self, target, args, kwargs):
            chosen = framework.sigmoid if target is framework.relu else target
            return super().call_function(chosen, args, kwargs)

    traced = framework.fx.symbolic_trace(lambda x: framework.relu(x) * 2)
    assert Smooth(traced).transform()(framework.zeros(1)).item() == 1.0
    assert traced(framework.zeros(1)).item() == 0.0


def test_the_names_are_pytorchs():
    ours = in_place_of("torch.fx")
    names = {"Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer"}
    assert names | {"has_side_effect", "map_arg", "symbolic_trace", "wrap"} <= set(dir(ours))
    assert set(torch_fx.__all__) - set(dir(ours)) == set()


def own_tracer(framework):
    """A tracer that traces by itself, with PyTorch's tools, as torch_geometric's does."""
    st = framework.fx._symbolic_trace

    class Own(framework.fx.Tracer):
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root, concrete_args=None):
            self.root = root
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            self.graph = framework.fx.Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            names = type(root).forward.__globals__
            function, args = self.create_args_for_root(type(root).forward, True, concrete_args)
            proxies = {}

            @st.functools.wraps(st._orig_module_getattr)
            def get(module, name):
                return self.getattr(name, st._orig_module_getattr(module, name), proxies)

            @st.functools.wraps(st._orig_module_call)
            def call(module, *args, **kwargs):
                def forward(*args, **kwargs):
                    return st._orig_module_call(module, *args, **kwargs)

                return self.call_module(module, forward, args, kwargs)

            with st._Patcher() as patcher:
                patcher.patch_method(framework.nn.Module, "__getattr__", get, deduplicate=False)
                patcher.patch_method(framework.nn.Module, "__call__", call, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                for home in (names, *[module.__dict__ for module in self._autowrap_search]):
                    st._autowrap_check(patcher, home, self._autowrap_function_ids)
                result = self.create_arg(function(*args))
                self.create_node("output", "output", (result,), {})
            self.submodule_paths = None
            return self.graph

    return Own()


def rooted(framework, scale):
    class Rooted(framework.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = framework.nn.Parameter(framework.ones(3))
            self.block = framework.nn.ReLU()

        def forward(self, x):
            return self.block(x * self.weight) * math.sqrt(scale if scale else x.shape[0])

    return Rooted()


@pytest.mark.parametrize("scale", [None, 4.0])
@pytest.mark.parametrize("make", ["own", "plain"])
def test_tracers_that_trace_by_themselves_use_what_pytorch_has(scale, make):
    def outcome(framework):
        nn = framework.nn
        calls = nn.Module.__call__, nn.Module.__getattr__, math.sqrt
        module = rooted(framework, scale)
        tracer = own_tracer(framework) if make == "own" else framework.fx.Tracer()
        graph = tracer.trace(module)
        assert calls == (nn.Module.__call__, nn.Module.__getattr__, math.sqrt)
        result = framework.fx.GraphModule(module, graph)(framework.ones(2, 3))
        ops = [(node.op, getattr(node.target, "__name__", node.target)) for node in graph.nodes]
        return ops, result.tolist()

    ours, theirs = (outcome(framework) for framework in reversed(FRAMEWORKS))
    assert ours == theirs


@BOTH
def test_patches_are_put_back(framework):
    symbolic = framework.fx._symbolic_trace
    names = {"sqrt": math.sqrt, "own": operator.neg}
    before = dict(names)

    class Base:
        def method(self):
            return 1

    class Derived(Base):
        pass

    with symbolic._Patcher() as patcher:
        patcher.patch(names, "sqrt", lambda x: x)
        patcher.patch(names, "len", lambda x: 7)
        patcher.patch_method(Derived, "method", lambda self: 2)
        assert (names["sqrt"](9), names["len"]([])) == (9, 7)
        assert (Base().method(), Derived().method()) == (1, 2)
        assert patcher.visit_once(names)
        assert not patcher.visit_once(names)
    assert names == before
    assert Derived().method() == 1


@BOTH
def test_docstrings_say_what_stays(framework):
    compatibility = framework.fx._compatibility.compatibility
    promised = compatibility(is_backward_compatible=True)(lambda: None)
    assert "Backwards-compatibility for this API is guaranteed" in promised.__doc__
    tried = compatibility(is_backward_compatible=False)(lambda: None)
    assert "experimental" in tried.__doc__


def _negate(graph, name):
    return graph.call_function(operator.neg, (next(iter(graph.nodes)),), name=name)


def _behind_in_a_block(graph, x, relu, output):
    with graph.inserting_after(x):
        _negate(graph, "p")
        _negate(graph, "q")
    _negate(graph, "r")


def _behind_from_then_on(graph, x, relu, output):
    graph.inserting_after(x)
    _negate(graph, "p")
    graph.inserting_after(_negate(graph, "q"))
    _negate(graph, "r")


def _before(graph, x, relu, output):
    with graph.inserting_before(output):
        _negate(graph, "p")
        with graph.inserting_after(relu):
            _negate(graph, "q")
        _negate(graph, "r")


def _at_the_beginning(graph, x, relu, output):
    with graph.inserting_before():
        graph.placeholder("p")
        graph.placeholder("q")


def _at_the_end(graph, x, relu, output):
    with graph.inserting_after():
        _negate(graph, "p")
        _negate(graph, "q")


@pytest.mark.parametrize(
    "edit",
    [_behind_in_a_block, _behind_from_then_on, _before, _at_the_beginning, _at_the_end],
    ids=lambda edit: edit.__name__,
)
def test_nodes_are_added_where_pytorch_adds_them(edit):
    def names(framework):
        graph = framework.fx.Graph()
        x = graph.placeholder("x")
        relu = graph.call_function(framework.relu, (x,))
        edit(graph, x, relu, graph.output(relu))
        return [node.name for node in graph.nodes]

    ours, theirs = (names(framework) for framework in reversed(FRAMEWORKS))
    assert ours == theirs


@BOTH
def test_nodes_are_not_added_beside_those_of_another_graph(framework):
    other = framework.fx.Graph().placeholder("x")
    for name in ("inserting_after", "inserting_before"):
        with pytest.raises(AssertionError):
            getattr(framework.fx.Graph(), name)(other)
