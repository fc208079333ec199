"""Symbolic graphs in parts: submodules, and what is computed once, as in PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.in_place import in_place_of, module_of

pytestmark = pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
OURS = in_place_of("torch")


def _model(library: Any) -> Any:
    class Model(library.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.param = library.nn.Parameter(library.ones(4, 5))
            self.linear = library.nn.Linear(4, 5)
            self.inner = library.nn.Sequential(library.nn.ReLU())
            library.nn.init.constant_(self.linear.weight, 0.5)
            library.nn.init.constant_(self.linear.bias, -1.0)

        def forward(self, x: Any, y: Any) -> Any:
            z = self.linear(x + self.param[:, :4].sum())
            w = z.relu() + y
            v = self.inner(w) * self.param.sum()
            return v.sum(), z, self.param.exp() * 2

    return Model()


def _facts(module: Any) -> list[Any]:
    return [
        (node.op, node.name, getattr(node.target, "__name__", node.target), node.all_input_nodes)
        for node in module.graph.nodes
    ]


def _numbers(results: Any) -> list[Any]:
    return [result.detach().numpy() for result in results]


def _arguments(library: Any) -> tuple[Any, Any]:
    return library.arange(16.0).reshape(4, 4), library.arange(5.0)


#: The partition of the node of a number.
SPLITS: dict[str, Callable[[int], Any]] = {
    "one": lambda number: 0,
    "every third": lambda number: number // 3,
    "every node": lambda number: number,
    "names": lambda number: "first" if number < 5 else "second",
}


@pytest.mark.parametrize(
    "keep", [{}, {"keep_original_node_name"}, {"keep_original_order"}], ids=str
)
@pytest.mark.parametrize("name", SPLITS)
def test_modules_are_split_as_by_pytorch(name: str, keep: set[str]) -> None:
    def outcome(library: Any) -> tuple[Any, ...]:
        model, paths = _model(library), {}
        traced = library.fx.symbolic_trace(model)
        numbers = {
            node: number
            for number, node in enumerate(
                x for x in traced.graph.nodes if x.op not in ("placeholder", "get_attr", "output")
            )
        }
        split = module_of(library, "torch.fx.passes.split_module").split_module(
            traced,
            model,
            lambda node: SPLITS[name](numbers[node]),
            paths,
            **dict.fromkeys(keep, True),
        )
        children = {key: str(_facts(child)) for key, child in split.named_children()}
        keys = [key for key, _ in split.named_parameters()]
        return str(_facts(split)), children, paths, keys, _numbers(split(*_arguments(library)))

    ours, theirs = outcome(OURS), outcome(torch)
    assert ours[:-1] == theirs[:-1]
    for one, other in zip(ours[-1], theirs[-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_partitions_that_need_each_other_are_refused() -> None:
    for library in (OURS, torch):
        traced = library.fx.symbolic_trace(lambda x: (x.exp() + 1).sum())
        split_module = module_of(library, "torch.fx.passes.split_module").split_module
        with pytest.raises(RuntimeError, match="cycle"):
            split_module(traced, traced, lambda node: int(node.name.startswith("add")))


def _folded(library: Any, module: Any, **options: Any) -> Any:
    name = "torch.fx.experimental.const_fold"
    return module_of(library, name).split_const_subgraphs(module, **options)


def test_constants_are_computed_once() -> None:
    results = []
    for library in (OURS, torch):
        folded = _folded(library, _model(library), device_for_folded_attrs="cpu")
        assert folded.const_subgraph_module is not None
        results.append(_numbers(folded(*_arguments(library))))
        targets = {node.target for node in folded.graph.nodes}
        assert "exp" not in targets
        assert "linear" in targets
        folded.const_subgraph_module = None
        for one, other in zip(_numbers(folded(*_arguments(library))), results[-1], strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_module_stays_as_it_was() -> None:
    traced = OURS.fx.symbolic_trace(_model(OURS))
    before = str(_facts(traced))
    _folded(OURS, traced)(*_arguments(OURS))
    assert str(_facts(traced)) == before


def test_nodes_that_are_skipped_are_not_folded() -> None:
    for library in (OURS, torch):
        folded = _folded(library, _model(library), skip_folding_node_fn=lambda node: True)
        assert folded.const_subgraph_module is None
        assert len(folded(*_arguments(library))) == 3


def test_a_module_is_copied_with_its_constants() -> None:
    folded = _folded(OURS, _model(OURS))
    with pytest.raises(RuntimeError, match="run_folding"):
        copy.deepcopy(folded)
    folded.run_folding()
    results = (module(*_arguments(OURS)) for module in (folded, copy.deepcopy(folded)))
    for one, other in zip(*map(_numbers, results), strict=True):
        np.testing.assert_array_equal(one, other)
