"""`ConstFoldOptimizer`: what depends on constants only is computed now."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from onnx import defs

from oneflow_onnx.optimizer.rewriting import NodeRewriting, constant_of, new_constant, replace
from oneflow_onnx.x2oneflow.reference import reference_evaluator

# Results of more bytes than this stay computed, unless their operands take as many.
_LARGEST = 2**20
# Operators whose results differ from call to call.
_RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike"}


class ConstFoldOptimizer(NodeRewriting):
    """Computes nodes whose operands are constants, with ONNX's reference implementation."""

    def rewrite(self, node: ir.Node) -> bool:
        """Replace a node by its result, if that is always the same."""
        arrays = [constant_of(input_) for input_ in node.inputs if input_ is not None]
        constants = [array for array in arrays if array is not None]
        if not arrays or len(constants) < len(arrays) or not _is_function(node):
            return False
        assert isinstance(node.graph, ir.Graph)
        evaluator = reference_evaluator(ir.to_proto(node), {"": node.graph.opset_imports[""]})
        names = [input_.name or "" for input_ in node.inputs if input_ is not None]
        try:
            (result,) = evaluator.run(None, dict(zip(names, constants, strict=True)))
        except Exception:  # The reference implementation lacks it; the runtime may not.
            return False
        if not isinstance(result, np.ndarray | np.generic):
            return False
        if result.nbytes > max(_LARGEST, sum(array.nbytes for array in constants)):
            return False
        replace(node, new_constant(node, np.asarray(result)))
        return True


def _is_function(node: ir.Node) -> bool:
    """Return True if a node of ONNX has one result, which its operands determine."""
    if node.domain != "" or len(node.outputs) != 1 or not defs.has(node.op_type):
        return False
    inner = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
    has_graph = any(attribute.type in inner for attribute in node.attributes.values())
    return not has_graph and node.op_type not in _RANDOM
