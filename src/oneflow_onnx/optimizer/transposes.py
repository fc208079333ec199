"""`TransposeOptimizer`: transposes move towards the outputs until they meet their inverse."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from oneflow_onnx.optimizer.rewriting import (
    NodeRewriting,
    constant_of,
    insert_before,
    new_constant,
    only_reader,
    permutation,
    producer_of,
    replace,
)

# Operators that compute each element from those in its place, where one operand lies as another.
_NAMES = """
Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
Cast Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid
HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not
Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub
Sum Tan Tanh ThresholdedRelu Where Xor
"""
_ELEMENTWISE = frozenset(_NAMES.split())


class TransposeOptimizer(NodeRewriting):
    """Moves transposes behind operators that compute element by element; merges those that meet.

    A transpose moves if all operands of the operator are transposed alike, or constant.
    """

    def rewrite(self, node: ir.Node) -> bool:
        """Merge a transpose with the one before it, or move those before another node behind it."""
        if node.domain != "" or len(node.outputs) != 1:
            return False
        if node.op_type == "Transpose":
            return merge_transposes(node)
        if node.op_type not in _ELEMENTWISE and node.op_type != "Concat":
            return False
        transposes = {
            input_: producer_of(input_, "Transpose") for input_ in node.inputs if input_ is not None
        }
        permutations = {
            permutation(transpose) for transpose in transposes.values() if transpose is not None
        }
        if len(permutations) != 1 or None in permutations:
            return False
        (perm,) = permutations
        assert perm is not None
        if not all(
            only_reader(value) if producer is not None else _has_rank(node, value, len(perm))
            for value, producer in transposes.items()
        ):
            return False
        _move_after(node, perm)
        return True


def merge_transposes(node: ir.Node) -> bool:
    """Join a transpose with the one before it; drop one that changes nothing."""
    perm, first = permutation(node), producer_of(node.inputs[0], "Transpose")
    before = None if first is None else permutation(first)
    if first is not None and perm is not None and before is not None:
        joint = [before[dim] for dim in perm]
        node.attributes["perm"] = ir.AttrInt64s("perm", joint)
        node.replace_input_with(0, first.inputs[0])
        return True
    source = node.inputs[0]
    if perm is None or source is None or perm != tuple(range(len(perm))):
        return False
    replace(node, source)
    return True


def _has_rank(node: ir.Node, value: ir.Value, rank: int) -> bool:
    """Return True for a constant that broadcasts to the rank of the transposed operands."""
    array = constant_of(value)
    return array is not None and node.op_type != "Concat" and array.ndim <= rank


def _move_after(node: ir.Node, perm: tuple[int, ...]) -> None:
    """Let a node read the value before the transpose, and transpose its result."""
    inverse = np.argsort(perm)
    for place, value in enumerate(node.inputs):
        transpose, array = producer_of(value, "Transpose"), constant_of(value)
        if transpose is not None:
            node.replace_input_with(place, transpose.inputs[0])
        elif array is not None and array.size > 1:
            expanded = array.reshape((1,) * (len(perm) - array.ndim) + array.shape)
            node.replace_input_with(place, new_constant(node, expanded.transpose(inverse)))
    attributes = dict(node.attributes)
    if node.op_type == "Concat":
        attributes["axis"] = ir.AttrInt64("axis", perm[attributes["axis"].as_int()])
    moved = insert_before(node, node.op_type, node.inputs, **attributes)
    moved.type = node.outputs[0].type
    replace(node, insert_before(node, "Transpose", [moved], perm=perm))
