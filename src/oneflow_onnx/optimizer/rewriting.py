"""`NodeRewriting`: a pass that offers every node of a model to one function; and its steps."""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir


class NodeRewriting(ir.passes.InPlacePass):
    """A pass that rewrites nodes, also in subgraphs, as long as there is one to rewrite.

    A pass that always finds one would never end: each rewriting must bring the graph closer to one
    in which there is none.
    """

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Rewrite the nodes of a model."""
        modified = False
        for graph in [*model.graphs()]:
            while self._rewrite_all(graph):
                modified = True
        return ir.passes.PassResult(model, modified)

    def _rewrite_all(self, graph: ir.Graph | ir.Function) -> bool:
        changed = False
        for node in [*graph]:
            # A rewrite of an earlier node may have removed this one.
            changed |= node.graph is graph and self.rewrite(node)
        return changed

    @abc.abstractmethod
    def rewrite(self, node: ir.Node) -> bool:
        """Rewrite one node, if there is something to do; return True if there was."""


def only_reader(value: ir.Value) -> bool:
    """Return True if one node reads a value, and nothing else does."""
    return len(value.uses()) == 1 and not value.is_graph_output()


def producer_of(value: ir.Value | None, operator: str) -> ir.Node | None:
    """Return the node that makes a value, if it is one of an operator of ONNX."""
    producer = None if value is None else value.producer()
    is_that = producer is not None and producer.op_type == operator and producer.domain == ""
    return producer if is_that else None


def permutation(node: ir.Node) -> tuple[int, ...] | None:
    """Return how a Transpose permutes dimensions; None where that is not known."""
    if "perm" in node.attributes:
        return tuple(node.attributes["perm"].as_ints())
    shape = node.outputs[0].shape
    return None if shape is None else tuple(reversed(range(len(shape))))


def insert_before(
    node: ir.Node,
    operator: str,
    inputs: Sequence[ir.Value | None],
    **attributes: ir.Attr | Sequence[int],
) -> ir.Value:
    """Put a node of an operator before another one; return its result."""
    assert isinstance(node.graph, ir.Graph)
    new_node = ir.node(operator, inputs, attributes)
    node.graph.insert_before(node, new_node)
    return new_node.outputs[0]


def replace(node: ir.Node, value: ir.Value) -> None:
    """Remove a node; what read its result reads `value` from then on."""
    (result,) = node.outputs
    if result.is_graph_output():
        if value.is_graph_output() or value.is_graph_input() or value.is_initializer():
            value = insert_before(node, "Identity", [value])
        value.name, result.name = result.name, None
    value.type, value.shape = value.type or result.type, value.shape or result.shape
    result.replace_all_uses_with(value, replace_graph_outputs=True)
    assert isinstance(node.graph, ir.Graph)
    node.graph.remove(node, safe=True)


def constant_of(value: ir.Value | None) -> np.ndarray | None:
    """Return the elements of a value that is always the same; None of any other."""
    if value is None or value.is_graph_input():
        return None
    tensor = ir.convenience.get_const_tensor(value)
    return None if tensor is None else tensor.numpy()


def new_constant(node: ir.Node, array: np.ndarray) -> ir.Value:
    """Return an array as a value that a node can read: a Constant before it."""
    return insert_before(node, "Constant", [], value=ir.AttrTensor("value", ir.Tensor(array)))
