"""Optimizers of ONNX graphs: what is left, and that it computes the same."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnx_ir as ir
import pytest

from oneflow_onnx import optimizer
from oneflow_onnx.onnx_wrapper import Graph
from tests.onnx.runtime import session_of

# Name: nodes of a graph from a [2,3,4,5] to y, and the operators that are left of them.
CASES = {
    "inverse_pair": (
        "a = Transpose<perm=[0,2,3,1]>(x) b = Relu(a) c = Mul(b, two) "
        "y = Transpose<perm=[0,3,1,2]>(c)",
        ["Relu", "Mul"],
    ),
    "weights_of_a_dimension": (
        "a = Transpose<perm=[0,2,3,1]>(x) b = Add(three, a) c = PRelu(b, three) "
        "y = Transpose<perm=[0,3,1,2]>(c)",
        ["Add", "PRelu"],
    ),
    "two_branches": (
        "e = Exp(x) a = Transpose<perm=[3,2,1,0]>(x) b = Transpose<perm=[3,2,1,0]>(e) "
        "c = Add(a, b) d = Concat<axis=1>(c, a2) a2 = Transpose<perm=[3,2,1,0]>(e) "
        "y = Transpose<perm=[3,2,1,0]>(d)",
        ["Exp", "Add", "Concat"],
    ),
    "other_permutations": (
        "a = Transpose<perm=[0,2,3,1]>(x) b = Exp(a) y = Transpose<perm=[0,2,3,1]>(b)",
        ["Exp", "Transpose"],
    ),
    "two_readers": (
        "a = Transpose<perm=[0,2,3,1]>(x) b = Exp(a) c = Transpose<perm=[0,3,1,2]>(b) "
        "d = Transpose<perm=[0,3,1,2]>(a) y = Add(c, d)",
        None,
    ),
    "operands_that_differ": (
        "a = Transpose<perm=[0,2,1,3]>(x) s = ReduceSum<keepdims=1>(x) y = Add(a, s)",
        ["Transpose", "ReduceSum", "Add"],
    ),
    "without_permutation": ("a = Transpose(x) b = Exp(a) y = Transpose(b)", None),
    "constants": (
        "a = Add(two, two) b = Exp(a) c = Shape(x) y = Mul(x, b)",
        ["Mul"],
    ),
    "duplicates": ("a = Exp(x) b = Exp(x) y = Add(a, b)", ["Exp", "Add"]),
    "identities": ("a = Identity(x) b = Identity(a) c = Exp(b) y = Identity(c)", ["Exp"]),
    "whole_identity": ("a = Transpose<perm=[0,1,2,3]>(x) y = Identity(a)", ["Identity"]),
    "reshapes": ("a = Reshape(x, flat) y = Reshape(a, wide)", ["Reshape"]),
    "reshapes_with_a_copied_size": ("a = Reshape(x, flat) y = Reshape(a, copy)", ["Reshape"] * 2),
    "casts": ("a = Cast<to=11>(x) b = Cast<to=1>(a) y = Exp(b)", ["Exp"]),
    "lossy_casts": ("a = Cast<to=6>(x) b = Cast<to=1>(a) y = Exp(b)", ["Cast", "Cast", "Exp"]),
    "squeezes": ("a = Unsqueeze(x, one) b = Squeeze(a, one) y = Exp(b)", ["Exp"]),
    "other_squeezes": (
        "a = Unsqueeze(x, one) b = Squeeze(a, last) y = Exp(b)",
        ["Unsqueeze", "Squeeze", "Exp"],
    ),
}
_WEIGHTS = """float two = {2.0}, float[3] three = {1.0, -2.0, 3.0}, int64[1] flat = {-1},
int64[2] wide = {6, 20}, int64[2] copy = {0, 1}, int64[1] one = {1}, int64[1] last = {-4}"""


def model_of(nodes: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[2,3,4,5] x) => (float[] y) <{_WEIGHTS}> '
        f"{{ {nodes} }}"
    )


def assert_same(before: onnx.ModelProto, after: onnx.ModelProto, *arrays: np.ndarray) -> None:
    feeds = [
        session.run(None, dict(zip([i.name for i in session.get_inputs()], arrays, strict=True)))
        for session in (session_of(before), session_of(after))
    ]
    for mine, theirs in zip(*feeds, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def operators(graph: Graph) -> list[str]:
    return [node.op_type for node in graph.get_nodes() if node.op_type != "Constant"]


@pytest.mark.parametrize("name", CASES)
def test_graph(name):
    nodes, left = CASES[name]
    graph = Graph.of(ir.from_proto(model_of(nodes)))
    graph.TopologicalSort()
    before = graph.MakeModel("before")
    after = optimizer.OptimizeGraph(graph)
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    assert_same(before, after.MakeModel("after"), x)
    if left is not None:
        assert operators(after) == left


def test_loops():
    """Transposes of a loop's rows move behind the loop; what a loop carries stays."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[2,3] x) => (float[2,3] last, float[4,3,2] rows, float[4,2,3] plain)
        <int64 trips = {4}, bool go = {1}> {
            last, rows, plain = Loop (trips, go, x) <body = body (int64 i, bool c, float[2,3] s)
                => (bool c2, float[2,3] s2, float[3,2] row, float[2,3] same) {
                c2 = Identity(c)
                s2 = Add(s, s)
                e = Exp(s)
                row = Transpose<perm=[1,0]>(e)
                same = Neg(e)
            }>
        }""")
    graph = optimizer.OptimizeGraph(Graph.of(ir.from_proto(model)))
    assert operators(graph) == ["Loop", "Transpose"]
    (loop, transpose) = [n for n in graph.get_nodes() if n.op_type != "Constant"]
    assert transpose.attrs["perm"] == (0, 2, 1)
    inner = [node.op_type for node in loop.attrs["body"]]
    assert sorted(inner) == ["Add", "Exp", "Identity", "Neg"]
    assert_same(model, graph.MakeModel("after"), np.float32([[1, 2, 3], [-1, 0, 0.5]]))


def test_random_numbers_are_not_folded():
    graph = Graph.of(ir.from_proto(model_of("a = RandomNormalLike(two) y = Mul(x, a)")))
    assert operators(optimizer.OptimizeGraph(graph)) == ["RandomNormalLike", "Mul"]
