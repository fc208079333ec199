"""`OptimizeGraph`: all optimizers, in turn."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import (
    CommonSubexpressionEliminationPass,
    IdentityEliminationPass,
    NameFixPass,
    RemoveUnusedNodesPass,
)

from oneflow_onnx.onnx_wrapper import Graph
from oneflow_onnx.optimizer.back_to_back import BackToBackOptimizer
from oneflow_onnx.optimizer.constant_folding import ConstFoldOptimizer
from oneflow_onnx.optimizer.loops import LoopOptimizer
from oneflow_onnx.optimizer.transposes import TransposeOptimizer

# Rounds after which the optimizers stop, whether or not they find something.
_MOST_ROUNDS = 10


def OptimizeGraph(graph: Graph) -> Graph:
    """Simplify a graph until no optimizer finds anything, and return it.

    Transposes move towards the outputs and cancel, constants are folded, transposes of a loop's
    rows move behind it, equal nodes are merged, identities and pairs of inverse nodes removed.

    Example:
        >>> from onnx import helper
        >>> from oneflow_onnx import optimizer
        >>> from oneflow_onnx.onnx_wrapper import Graph
        >>> nodes = [
        ...     helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]),
        ...     helper.make_node("Exp", ["a"], ["b"]),
        ...     helper.make_node("Transpose", ["b"], ["y"], perm=[1, 0]),
        ... ]
        >>> [node.op_type for node in optimizer.OptimizeGraph(Graph(nodes)).get_nodes()]
        ['Exp']
    """
    graph.UpdateProto()
    rounds = ir.passes.PassManager(
        [
            TransposeOptimizer(),
            ConstFoldOptimizer(),
            LoopOptimizer(),
            CommonSubexpressionEliminationPass(),
            IdentityEliminationPass(),
            BackToBackOptimizer(),
            RemoveUnusedNodesPass(),
        ],
        steps=_MOST_ROUNDS,
    )
    rounds(graph.model)
    NameFixPass()(graph.model)
    return Graph.of(graph.model)
