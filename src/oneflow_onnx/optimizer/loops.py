"""`LoopOptimizer`: what every step of a loop does to its results is done once, behind it."""

from __future__ import annotations

import onnx_ir as ir

from oneflow_onnx.optimizer.rewriting import NodeRewriting, permutation, producer_of

# The condition and the number of the step come before what a `Loop` carries.
_FIRST = 2


class LoopOptimizer(NodeRewriting):
    """Moves transposes of the rows that the steps of a `Loop` give behind the loop."""

    def rewrite(self, node: ir.Node) -> bool:
        """Move the transposes of one loop."""
        if node.op_type != "Loop" or node.domain != "":
            return False
        body, carried = node.attributes["body"].as_graph(), len(node.inputs) - _FIRST
        places = [
            place
            for place in range(carried, len(node.outputs))
            if _can_move(body.outputs[place + 1], body)
        ]
        for place in places:
            _move_transpose(node, body, place)
        return bool(places)


def _can_move(row: ir.Value, body: ir.Graph) -> bool:
    """Return True for what a transpose of a value that the body makes gives, for this only."""
    transpose = producer_of(row, "Transpose")
    if transpose is None or row.uses() or permutation(transpose) is None:
        return False
    (source,) = transpose.inputs
    is_local = source is not None and source.producer() is not None and source.graph is body
    return is_local and source not in body.outputs and row in list(body.outputs)


def _move_transpose(node: ir.Node, body: ir.Graph, place: int) -> None:
    """Let the body return the input of its transpose, and transpose all rows behind the loop."""
    row = body.outputs[place + 1]
    transpose = producer_of(row, "Transpose")
    perm = None if transpose is None else permutation(transpose)
    assert transpose is not None
    assert perm is not None
    assert isinstance(node.graph, ir.Graph)
    source = transpose.inputs[0]
    assert source is not None
    source.type, source.shape = source.type or row.type, source.shape
    body.outputs[place + 1] = source
    body.remove(transpose, safe=True)
    rows = node.outputs[place]
    name, uses, is_output = rows.name, list(rows.uses()), rows.is_graph_output()
    new_transpose = ir.node("Transpose", [rows], {"perm": [0, *(dim + 1 for dim in perm)]})
    new_transpose.outputs[0].type, new_transpose.outputs[0].shape = rows.type, rows.shape
    rows.shape = None
    node.graph.insert_after(node, new_transpose)
    for reader, position in uses:
        reader.replace_input_with(position, new_transpose.outputs[0])
    if is_output:
        rows.name, new_transpose.outputs[0].name = None, name
        node.graph.outputs[node.graph.outputs.index(rows)] = new_transpose.outputs[0]
