"""Features of the export to ONNX: its stages, and graphs that users change."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow import nn
from oneflow_onnx import optimizer
from oneflow_onnx.oneflow2onnx import flow2onnx
from oneflow_onnx.onnx_wrapper import Graph
from tests.onnx.runtime import Wrapped, session_of

NUMBERS = np.random.default_rng(0)
X, IMAGE = (NUMBERS.standard_normal(shape, np.float32) for shape in ((2, 3), (2, 4, 6, 6)))


def test_s004_29_operators_one_by_one():
    graph = Wrapped(nn.Sequential(nn.Conv2d(4, 3, 3, padding=1), nn.ReLU(), nn.ReLU()))
    graph(flow.tensor(IMAGE))
    nodes, operators, attributes, types, shapes = flow2onnx.FlowToOnnxNaive(graph, None)
    assert [node.op_type for node in nodes if node.op_type in ("conv", "relu")] == [
        "conv",
        "relu",
        "relu",
    ]
    assert (operators["conv"], operators["relu"]) == (1, 2)
    (convolution,) = [node for node in nodes if node.op_type == "conv"]
    values = {
        attribute.name: onnx.helper.get_attribute_value(attribute)
        for attribute in convolution.attribute
    }
    assert (values["dilation"], values["groups"]) == ([1, 1], 1)
    assert all(attributes[attribute.name] >= 1 for attribute in convolution.attribute)
    assert nodes[-1].input[0] == nodes[-2].output[0]
    assert shapes[nodes[-1].output[0]] == [2, 3, 6, 6]
    assert types[nodes[-1].output[0]] == onnx.TensorProto.FLOAT


def test_s004_29_other_shapes():
    class Product(nn.Graph):
        def build(self, x):
            return x @ x.T

    graph = Product()
    graph(flow.tensor(X))
    *_, shapes = flow2onnx.FlowToOnnxNaive(graph, {"x": [5, 3]})
    assert list(shapes.values()) == [[5, 3], [3, 5], [5, 5]]
    with pytest.raises(ValueError, match="inputs are"):
        flow2onnx.FlowToOnnxNaive(graph, {"z": [5, 3]})


def chain(*operators: str) -> Graph:
    """A graph in which each node reads what the one before makes: n0, n1, ..."""
    nodes = [
        onnx.helper.make_node(operator, [f"v{place}"], [f"v{place + 1}"], name=f"n{place}")
        for place, operator in enumerate(operators)
    ]
    return Graph(nodes, None, {"v0": [2, 3]}, opset=17)


def names_of(graph: Graph) -> list[str]:
    return [node.op_type for node in graph.get_nodes()]


def outputs_of(graph: Graph, x: np.ndarray) -> list[np.ndarray]:
    """The outputs of a graph of one input, in ONNX Runtime."""
    session = session_of(graph.MakeModel("g"))
    return session.run(None, {session.get_inputs()[0].name: x})


def test_s004_34_order_of_nodes():
    nodes = [
        onnx.helper.make_node("Exp", ["a"], ["b"], name="second"),
        onnx.helper.make_node("Neg", ["x"], ["a"], name="first"),
    ]
    graph = Graph(nodes)
    flow2onnx.TopologicalSort(graph)
    assert [node.name for node in graph.get_nodes()] == ["first", "second"]
    first, second = graph.get_nodes()
    graph.ReplaceInput(first, "x", second.output)
    with pytest.raises(ValueError, match="cycle"):
        flow2onnx.TopologicalSort(graph)
    with pytest.warns(UserWarning, match="stay as they are"):
        flow2onnx.TopologicalSort(graph, continue_on_error=True)


def test_s004_30_wrapper():
    x = np.float32([[1, -2, 3], [4, 5, -6]])
    graph = chain("Exp", "Neg")
    assert names_of(graph) == ["Exp", "Neg"]
    graph.InsertNewNodeOnOutput("Tanh", "v1")
    graph.InsertNewNodeOnInput(graph.get_node_by_name("n0"), "Abs", "v0")
    graph.InsertNewNodeOnOutput("LeakyRelu", "v2", alpha=0.5)
    assert names_of(graph) == ["Abs", "Exp", "Tanh", "Neg", "LeakyRelu"]
    (result,) = outputs_of(graph, x)
    np.testing.assert_allclose(result, -np.tanh(np.exp(np.abs(x))) * 0.5, rtol=1e-6)
    assert graph.model.graph.outputs[0].name == "v2"

    with pytest.raises(ValueError, match="n0"):
        graph.RemoveNode("n0")
    graph.ReplaceAllInputs("v1", "v0")
    graph.RemoveNode("n0")
    half = graph.MakeConst(np.float32(0.5))
    negation = graph.get_node_by_name("n1")
    graph.ReplaceNode(negation, graph.MakeNode("Mul", [negation.inputs[0], half]))
    graph.RemoveNode(graph.FindOutputConsumers("v0")[0])
    assert names_of(graph) == ["Tanh", "Mul", "LeakyRelu"]
    np.testing.assert_allclose(
        outputs_of(graph, x)[0], (y := np.tanh(x) * 0.5) * np.where(y > 0, 1, 0.5), rtol=1e-6
    )
    with pytest.raises(KeyError, match="nothing"):
        graph.get_node_by_name("nothing")


def test_s004_30_s004_41_weights(tmp_path):
    graph = Wrapped(nn.Linear(3, 2))
    graph(flow.tensor(X))
    flow.save(graph.state_dict(), str(tmp_path / "weights"))
    nodes, _, _, types, shapes = flow2onnx.FlowToOnnxNaive(graph)
    (linear,) = nodes
    linear.domain, linear.op_type = "", "Gemm"
    linear.ClearField("attribute")
    wrapped = Graph(nodes, tmp_path / "weights", shapes, types, opset=13)
    wrapped.get_nodes()[0].attrs = {"transB": 1}
    proto = wrapped.MakeModel("job", tmp_path / "m.onnx", external_data=True)
    assert {initializer.name for initializer in proto.graph.initializer} == {
        "model.weight",
        "model.bias",
    }
    (result,) = session_of(proto).run(None, {proto.graph.input[0].name: X})
    np.testing.assert_allclose(result, graph(flow.tensor(X)).numpy(), rtol=1e-5)
    onnx.checker.check_model(tmp_path / "m.onnx")
    with pytest.raises(FileNotFoundError, match="no weights"):
        Graph(nodes, tmp_path / "elsewhere")


def test_s004_37_attributes_reach_the_protobuf():
    graph = chain("LeakyRelu", "Exp")
    node = graph.get_node_by_name("n0")
    node.attrs["alpha"] = 0.25
    assert not node.proto.attribute
    graph.UpdateProto()
    assert [attribute.f for attribute in node.proto.attribute] == [0.25]
    node.attrs["alpha"] = 0.5
    assert [attribute.f for attribute in node.UpdateProto().attribute] == [0.5]
    (result,) = outputs_of(graph, -np.ones((2, 3), np.float32))
    np.testing.assert_allclose(result, np.exp(-0.5), rtol=1e-6)


class Handlers:
    """Handlers, as `flow_op` registers them."""

    @staticmethod
    def leaky(ctx, node, **kwargs):
        node.attrs["alpha"] = 0.5

    @staticmethod
    def negated(ctx, node, **kwargs):
        exponential = ctx.MakeNode("Exp", node.inputs, shape=ctx.get_shape(node.inputs[0]))
        return ctx.MakeNode("Neg", [exponential.output])

    @staticmethod
    def failing(ctx, node, **kwargs):
        raise OSError("no such operator")


def naive(*modules: nn.Module) -> Graph:
    """The operators of a sequence of modules, before they are converted."""
    graph = Wrapped(nn.Sequential(*modules))
    graph(flow.tensor(X))
    nodes, _, _, types, shapes = flow2onnx.FlowToOnnxNaive(graph)
    return Graph(nodes, None, shapes, types, opset=17)


def test_s004_35_conversion_one_by_one(caplog):
    graph = naive(nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.Softsign(), nn.Softsign())
    mapping = {
        "relu": (Handlers.leaky, "LeakyRelu", {}),
        "sigmoid": (Handlers.negated, None, {}),
        "tanh": (Handlers.failing, "Tanh", {}),
    }
    mapped, unmapped, exceptions = flow2onnx.FlowOnnxMapping(graph, mapping)
    assert mapped == {"relu": 1, "sigmoid": 1}
    assert unmapped == {"softsign": 2}
    assert [str(exception) for exception in exceptions] == ["no such operator"]
    assert "Unsupported ops: Counter({'softsign': 2})" in caplog.text
    kept = [(node.domain, node.op_type) for node in graph.get_nodes()]
    assert kept[:4] == [("", "LeakyRelu"), ("", "Exp"), ("", "Neg"), ("oneflow", "tanh")]
    mapping = dict.fromkeys(("tanh", "softsign"), (Handlers.leaky, "LeakyRelu", {}))
    assert not flow2onnx.FlowOnnxMapping(graph, mapping)[1]
    (result,) = outputs_of(graph, X)
    expected = -np.exp(np.where(X > 0, X, X / 2)) / 8
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_s004_36_nodes_left_out():
    graph = naive(nn.ReLU(), nn.ReLU())
    first, _ = graph.get_nodes()
    first.skip_conversion = True
    before = first.proto
    mapped, unmapped, _ = flow2onnx.FlowOnnxMapping(graph, {"relu": (Handlers.leaky, "Elu", {})})
    assert (mapped, unmapped) == ({"relu": 1}, {})
    assert first.proto == before
    assert names_of(graph) == ["relu", "Elu"]


def test_s004_39_optimizers():
    """Each of the six has its test in `tests/onnx/test_optimizer.py`."""
    graph = chain("Transpose", "Relu", "Exp", "Identity", "Transpose")
    for node in (graph.get_node_by_name("n0"), graph.get_node_by_name("n4")):
        node.attrs["perm"] = [1, 0]
    optimized = optimizer.OptimizeGraph(graph)
    assert names_of(optimized) == ["Relu", "Exp"]
    (result,) = outputs_of(optimized, X)
    np.testing.assert_allclose(result, np.exp(np.maximum(X, 0)), rtol=1e-6)


def test_s004_38_counts_are_logged(caplog):
    with caplog.at_level("DEBUG", logger="oneflow_onnx"):
        flow.onnx.export(nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.ReLU()), flow.tensor(X))
    (line,) = [record.message for record in caplog.records if "operators" in record.message]
    assert "operators: {'linear': 1, 'relu': 2}" in line
    assert "mapped: {'linear': 1, 'relu': 2}; unmapped: {}" in line
    assert "attributes: " in line


def test_s004_40_transposes_of_channels_last():
    """A network on channels-last images is written without a transpose around each layer."""

    @flow.global_function()
    def alexnet(x: tp.Numpy.Placeholder((1, 67, 67, 3))) -> tp.Numpy:
        x = flow.layers.conv2d(x, 8, 11, 4, data_format="NHWC", activation=flow.nn.relu, name="a")
        x = flow.nn.max_pool2d(x, 3, 2, "VALID", data_format="NHWC")
        x = flow.layers.conv2d(x, 16, 3, 1, "SAME", data_format="NHWC", activation=flow.nn.relu)
        x = flow.layers.conv2d(x, 16, 3, 1, "SAME", data_format="NHWC", activation=flow.nn.relu)
        return flow.layers.dense(flow.reshape(x, (1, -1)), 10)

    flow.clear_default_session()
    x = np.random.default_rng(0).random((1, 67, 67, 3), np.float32)
    expected = alexnet(x)
    model = flow2onnx.ProcessFlowGraph(alexnet, None, opset=11)
    flow.clear_default_session()
    nodes = names_of(model)
    (result,) = outputs_of(model, x)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    assert nodes.count("Conv") == 3
    assert nodes.count("Transpose") <= 2
