"""Folding of what depends on constants alone: ``torch.fx.experimental.const_fold``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.mock_torch.pytorch.fx._symbolic_trace import symbolic_trace
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule, _copy_attr
from oneflow.mock_torch.pytorch.fx.node import Node
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.tensor.tensor import Tensor

_FOLDED = "_FX_CONST_FOLDED_ATTRS"


class FoldedGraphModule(GraphModule):
    """A graph module whose constant part is computed once, before the first call.

    Args:
        root: the module with what the graph names.
        graph: the graph, which reads the results of the constant part as attributes.
        const_subgraph: the graph of the constant part; None if there is none.
        fx_const_folded_attrs_names: the attributes for its results.
        device_for_folded_attrs: where the results are; where they are computed by default.
    """

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_names: Sequence[str] = (),
        device_for_folded_attrs: Any = None,
    ) -> None:
        super().__init__(root, graph, type(root).__name__)
        self.const_subgraph_module = (
            None if const_subgraph is None else GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = const_subgraph is None
        self.fx_const_folded_attrs_names = tuple(fx_const_folded_attrs_names)
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the constant part if that has not been done, and call the module."""
        self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constant part, unless that has been done."""
        if self.has_folding_been_run or self.const_subgraph_module is None:
            return
        results = self.const_subgraph_module()
        for name, result in zip(self.fx_const_folded_attrs_names, results, strict=True):
            delattr(self, name)
            setattr(self, name, self._attribute(result))
        self.has_folding_been_run = True

    def _attribute(self, result: Any) -> Any:
        if not isinstance(result, Tensor):
            return result
        constant = result.detach().to(device=self.device_for_folded_attrs or result.device)
        return Parameter(constant, requires_grad=result.requires_grad)

    def _like(self, root: Module) -> GraphModule:
        _require_folding(self)
        return super()._like(root)

    def __reduce__(self) -> Any:
        _require_folding(self)
        return super().__reduce__()


def _require_folding(module: FoldedGraphModule) -> None:
    """Refuse to copy a module that lacks its constants.

    Raises:
        RuntimeError: `run_folding` has not been called.
    """
    if not module.has_folding_been_run:
        raise RuntimeError("call `run_folding()` before the module is copied or saved")


def split_const_subgraphs(
    module: Module,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: Any = None,
) -> GraphModule:
    """Divide a module into what depends on its attributes alone, computed once, and the rest.

    Args:
        module: a module, which is traced if it is no graph module. It stays as it is.
        skip_folding_node_fn: returns True for nodes that stay in the rest.
        device_for_folded_attrs: where the constants are; where they are computed by default.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.fx.experimental import const_fold
        >>> class Scaled(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = torch.nn.Parameter(torch.tensor([3.0]))
        ...     def forward(self, x):
        ...         return x * self.scale.exp().log()
        >>> folded = const_fold.split_const_subgraphs(Scaled())
        >>> print(folded.code.strip())
        def forward(self, x):
            _fx_const_folded_attrs_0 = self._FX_CONST_FOLDED_ATTRS_0
            mul = x * _fx_const_folded_attrs_0;  x = _fx_const_folded_attrs_0 = None
            return mul
        >>> folded(torch.ones(1)).item()
        3.0
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constants = _constants(traced.graph, skip_folding_node_fn or (lambda node: False))
    results = [
        node
        for node in constants
        if node.op != "get_attr" and any(user not in constants for user in node.users)
    ]
    copies: dict[Node, Node] = {}
    graph, constant_graph = Graph(), Graph()
    for node in constants if results else ():
        copies[node] = constant_graph.node_copy(node, copies.__getitem__)
    constant_graph.output(tuple(copies[node] for node in results))
    constant_graph.eliminate_dead_code()
    for node in traced.graph.nodes:
        if node in results:
            values = graph.get_attr(f"{_FOLDED}_{results.index(node)}")
            values.meta = node.meta.copy()
            copies[node] = values
        elif node not in constants or not results or node.op == "get_attr":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.eliminate_dead_code()
    names = [f"{_FOLDED}_{place}" for place in range(len(results))]
    return FoldedGraphModule(
        _root(traced, [graph, constant_graph], names),
        graph,
        constant_graph if results else None,
        names,
        device_for_folded_attrs,
    )


def _constants(graph: Graph, is_skipped: Callable[[Node], bool]) -> dict[Node, None]:
    """The nodes that depend on attributes alone, in order."""
    constants: dict[Node, None] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or is_skipped(node) or node.is_impure():
            continue
        if all(operand in constants for operand in node.all_input_nodes):
            constants[node] = None
    return constants


def _root(traced: GraphModule, graphs: Sequence[Graph], names: Sequence[str]) -> Module:
    """A module with all that graphs name; the results of the constant part are still None."""
    root = Module()
    root.training = traced.training
    for name in names:
        setattr(root, name, None)
    for graph in graphs:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module") and node.target not in names:
                _copy_attr(traced, root, str(node.target))
    return root


__all__ = ["FoldedGraphModule", "split_const_subgraphs"]
