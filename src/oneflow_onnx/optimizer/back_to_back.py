"""`BackToBackOptimizer`: pairs of nodes; one undoes or hides the effect of the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from oneflow_onnx.optimizer.rewriting import NodeRewriting, constant_of, producer_of, replace
from oneflow_onnx.optimizer.transposes import merge_transposes


class BackToBackOptimizer(NodeRewriting):
    """Joins a Transpose, Reshape or Cast with one before it, and a Squeeze with an Unsqueeze."""

    def rewrite(self, node: ir.Node) -> bool:
        """Join a node with the one before it."""
        rule = _RULES.get(node.op_type)
        return rule is not None and node.domain == "" and rule(node)


def _join_reshapes(node: ir.Node) -> bool:
    """Drop the first of two reshapes, if the second copies no size of its input."""
    first, shape = producer_of(node.inputs[0], "Reshape"), constant_of(node.inputs[1])
    copies = shape is None or (0 in shape and "allowzero" not in node.attributes)
    if first is None or copies:
        return False
    node.replace_input_with(0, first.inputs[0])
    return True


def _join_casts(node: ir.Node) -> bool:
    """Drop the first of two casts, if it keeps every value."""
    first = producer_of(node.inputs[0], "Cast")
    source = None if first is None else first.inputs[0]
    if first is None or source is None or source.dtype is None:
        return False
    between = ir.DataType(first.attributes["to"].as_int())
    if not np.can_cast(source.dtype.numpy(), between.numpy(), "safe"):
        return False
    if source.dtype == node.attributes["to"].as_int():
        replace(node, source)
    else:
        node.replace_input_with(0, source)
    return True


def _drop_pair(node: ir.Node) -> bool:
    """An Unsqueeze of the dimensions that a Squeeze removed, or the reverse, changes nothing."""
    other = "Squeeze" if node.op_type == "Unsqueeze" else "Unsqueeze"
    first = producer_of(node.inputs[0], other)
    source = None if first is None else first.inputs[0]
    if first is None or source is None or _axes(first) is None or _axes(first) != _axes(node):
        return False
    replace(node, source)
    return True


def _axes(node: ir.Node) -> list[int] | None:
    """The dimensions that a Squeeze or Unsqueeze names: an attribute, from opset 13 an operand."""
    if "axes" in node.attributes:
        return sorted(node.attributes["axes"].as_ints())
    array = constant_of(node.inputs[1]) if len(node.inputs) > 1 else None
    return None if array is None else sorted(array.tolist())


_RULES: dict[str, Callable[[ir.Node], bool]] = {
    "Transpose": merge_transposes,
    "Reshape": _join_reshapes,
    "Cast": _join_casts,
    "Squeeze": _drop_pair,
    "Unsqueeze": _drop_pair,
}
