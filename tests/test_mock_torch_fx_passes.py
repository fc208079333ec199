"""Passes over symbolic graphs, and patterns in them, compared with PyTorch's."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
import torch.fx.annotate
import torch.fx.immutable_collections
import torch.fx.passes.dialect.common.cse_pass
import torch.fx.passes.infra.pass_manager
import torch.fx.passes.utils.fuser_utils
import torch.fx.passes.utils.matcher_utils
import torch.fx.tensor_type

from tests.in_place import in_place_of

OURS = in_place_of("torch")
for name in (
    "annotate",
    "immutable_collections",
    "proxy",
    "tensor_type",
    "subgraph_rewriter",
    "passes.infra.pass_manager",
    "passes.infra.pass_base",
    "passes.dialect.common.cse_pass",
    "passes.utils.matcher_utils",
    "passes.utils.fuser_utils",
):
    in_place_of(f"torch.fx.{name}")

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def traced(lib, function):
    return lib.fx.symbolic_trace(function)


def program(module):
    """The nodes, by what they call and read."""
    return [
        (node.op, getattr(node.target, "__name__", node.target), str(node.args))
        for node in module.graph.nodes
    ]


def after(lib, module):
    return program(module), np.round(module(lib.tensor(X)).detach().numpy(), 5).tolist()


def rewritten(lib, function, pattern, replacement, **options):
    module = traced(lib, function)
    if options or replacement is None:
        places = lib.fx.subgraph_rewriter.replace_pattern_with_filters(
            module, pattern, replacement, **options
        )
        counts = [len(place.replacements) for place in places]
    else:
        counts = [
            sorted(map(str, place.nodes_map.values()))
            for place in lib.fx.replace_pattern(module, pattern, replacement)
        ]
    return counts, after(lib, module)


def twice(lib):
    def function(x):
        return lib.relu(x + 1) + lib.relu(x + 2).neg()

    return rewritten(lib, function, lambda a: lib.relu(a), lambda a: lib.sigmoid(a) * 2)


def chained(lib):
    """One place reads what another one gives."""
    return rewritten(
        lib, lambda x: x.neg().neg().neg().neg(), lambda a: a.neg().neg(), lambda a: a.exp()
    )


def kept_inside(lib):
    """A node of the pattern is read outside of it, so that it is not there."""

    def function(x):
        inner = x + 1
        return lib.relu(inner) * inner

    return rewritten(lib, function, lambda a: lib.relu(a + 1), lambda a: a)


def literals(lib, ignore):
    return rewritten(
        lib,
        lambda x: (x + 1).relu() - (x + 2).relu(),
        lambda a: (a + 2).relu(),
        lambda a: a * 3,
        ignore_literals=ignore,
    )


def two_results(lib):
    def pattern(a):
        b = a.neg()
        return b.relu(), b.exp()

    def replacement(a):
        return a.exp(), a.relu()

    def function(x):
        b = x.neg()
        return b.relu() * b.exp()

    return rewritten(lib, function, pattern, replacement)


def filtered(lib):
    return rewritten(
        lib,
        lambda x: x.neg().relu() + x.relu(),
        lambda a: a.relu(),
        lambda a: a.abs(),
        match_filters=[
            lambda match, graph, pattern: match.placeholder_nodes[0].op == "placeholder"
        ],
    )


def by_callback(lib):
    def make(match, graph, pattern):
        return traced(lib, lambda a: a.cos()).graph

    return rewritten(lib, lambda x: x.sin() + 1, lambda a: a.sin(), None, replacement_callback=make)


def of_modules(lib):
    class Layer(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.act = lib.nn.ReLU()

        def forward(self, x):
            return self.act(x)

    class Whole(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = lib.nn.Tanh()

        def forward(self, x):
            return self.first(x).sin()

    module = traced(lib, Whole())
    lib.fx.replace_pattern(module, traced(lib, lambda a: a.sin()), traced(lib, Layer()))
    return after(lib, module), sorted(name for name, _ in module.named_modules())


def common(lib, banned=False):
    def function(x):
        left, right = x + 1, x + 1
        return left * right + lib.neg(x) + lib.neg(x)

    cse = lib.fx.passes.dialect.common.cse_pass.CSEPass({operator.add} if banned else None)
    module = traced(lib, function)
    result = cse(module)
    again = cse(result.graph_module)
    return result.modified, again.modified, after(lib, result.graph_module)


def constant_shapes(lib):
    class Layer(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = lib.nn.Parameter(lib.ones(3))

        def forward(self, x):
            weight = self.weight
            sizes = (weight.shape[0], weight.size()[0], weight.dim(), weight.ndim)
            if sizes == (3, 3, 1, 1) and weight.numel() == weight.nelement() == 3:
                return x * weight
            return x

    with pytest.raises(lib.fx.proxy.TraceError):
        lib.fx.Tracer().trace(Layer())
    layer = Layer()
    graph = lib.fx.Tracer(param_shapes_constant=True).trace(layer)
    return after(lib, lib.fx.GraphModule(layer, graph))


def types(lib):
    kinds = lib.fx.tensor_type
    dyn, kind = kinds.Dyn, kinds.TensorType
    pairs = [
        (kind((1, 2)), kind((1, dyn))),
        (kind((1, dyn)), kind((1, 2))),
        (kind((1, dyn)), kind((dyn, 2))),
        (kind((1, 2)), kind((1, 3))),
        (kind((1, 2)), kind((1, 2, 3))),
        (kind((1, 2)), dyn),
        (dyn, int),
        (int, int),
        (int, float),
    ]
    relations = [
        (kinds.is_consistent(*pair), kinds.is_more_precise(*pair), pair[0] == pair[1])
        for pair in pairs
    ]
    marked = lib.fx.symbolic_trace(lambda x: lib.fx.annotate.annotate(x + 1, kind((1, 2))) * 2)
    with pytest.raises(RuntimeError, match="already had a type"):
        lib.fx.symbolic_trace(
            lambda x: lib.fx.annotate.annotate(lib.fx.annotate.annotate(x + 1, dyn), dyn)
        )
    return relations, str(kind[1, dyn]), [str(node.type) for node in marked.graph.nodes]


def orders(lib):
    manager = lib.fx.passes.infra.pass_manager
    calls = []

    def first(module):
        calls.append("first")

    def second(module):
        calls.append("second")
        return module

    def third(module):
        calls.append("third")
        return lib.fx.passes.infra.pass_base.PassResult(module, False)

    wrapped = [manager.pass_result_wrapper(function) for function in (first, second, third)]
    passes = manager.PassManager(wrapped[::-1], steps=2)
    passes.add_constraint(manager.this_before_that_pass_constraint(wrapped[0], wrapped[1]))
    passes.add_checks(lambda module: calls.append("check"))
    modified = passes(traced(lib, lambda x: x + 1)).modified
    with pytest.raises(RuntimeError, match="constraint violated"):
        manager.PassManager(
            wrapped[::-1], [manager.this_before_that_pass_constraint(wrapped[0], wrapped[1])]
        ).validate_constraints()
    around = [
        manager.this_before_that_pass_constraint(*pair)
        for pair in ((wrapped[0], wrapped[1]), (wrapped[1], wrapped[0]))
    ]
    with pytest.raises(RuntimeError, match="Circular dependency"):
        manager.PassManager(wrapped, around).solve_constraints()
    with pytest.raises(TypeError, match="one variable"):
        passes.add_checks(lambda: None)
    return calls, modified


def partitions(lib):
    module = traced(lib, lambda x: ((x + 1).relu() + x.neg()).exp())
    nodes = {node.name: node for node in module.graph.nodes}
    valid = lib.fx.passes.utils.fuser_utils.validate_partition
    names = sorted(nodes)
    return names, [
        valid([nodes[name] for name in group])
        for group in (("add", "relu"), ("add", "add_1"), ("add", "neg", "exp"), ("relu", "add_1"))
    ]


def unchangeable(lib):
    kinds = lib.fx.immutable_collections
    numbers, names = kinds.immutable_list([1, 2]), kinds.immutable_dict(a=1)
    refused = 0
    for change in (
        lambda: numbers.append(1),
        lambda: operator.setitem(numbers, 0, 1),
        lambda: names.update(b=1),
        lambda: names.pop("a"),
    ):
        with pytest.raises((NotImplementedError, TypeError)):
            change()
        refused += 1
    return refused, numbers == [1, 2], names == {"a": 1}, hash(numbers) == hash((1, 2))


CASES = {
    "two places": twice,
    "a place behind another": chained,
    "a node that others read": kept_inside,
    "literals": lambda lib: literals(lib, False),
    "any literals": lambda lib: literals(lib, True),
    "two results": two_results,
    "filters": filtered,
    "a graph for each place": by_callback,
    "modules": of_modules,
    "common subexpressions": common,
    "banned operators": lambda lib: common(lib, True),
    "sizes that are constant": constant_shapes,
    "types": types,
    "order of passes": orders,
    "partitions": partitions,
    "lists that do not change": unchangeable,
}


@pytest.mark.parametrize("case", CASES)
def test_passes_do_what_pytorchs_do(case):
    assert CASES[case](OURS) == CASES[case](torch)


def test_numbers_of_different_types_are_no_common_subexpression():
    """PyTorch takes 1 and 1.0 for one, and gives the sum of integers for that of floats."""
    module = traced(OURS, lambda x: ((x + 1) * 2, (x + 1.0) * 2))
    result = OURS.fx.passes.dialect.common.cse_pass.CSEPass()(module)
    assert not result.modified
    assert OURS.fx.passes.dialect.common.cse_pass.get_CSE_banned_ops()
