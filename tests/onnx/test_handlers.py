"""Handlers of users."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

import oneflow as flow
from oneflow_onnx.x2oneflow import registry
from oneflow_onnx.x2oneflow.handler import BackendHandler, domain, flow_func, onnx_op
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx


@pytest.fixture
def _table(monkeypatch):
    """A copy of the table, so that handlers of tests do not stay."""
    copy = {key: dict(versions) for key, versions in registry._TABLE.items()}
    monkeypatch.setattr(registry, "_TABLE", copy)


def model_of(name, name_domain="", opset=1, **attributes):
    """A model with one node."""
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy"]
    node = helper.make_node(name, ["x"], ["y"], domain=name_domain, **attributes)
    opsets = [helper.make_opsetid("", 21)]
    if name_domain:
        opsets.append(helper.make_opsetid(name_domain, opset))
    graph = helper.make_graph([node], "g", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=opsets)


@pytest.mark.usefixtures("_table")
def test_versions_of_a_custom_operator():
    @onnx_op("Scale")
    @domain("my.company")
    @flow_func(lambda x, *, factor=1.0: x * factor)
    class Scale(BackendHandler):
        @classmethod
        def version_1(cls, node, tensor_dict, **kwargs):
            return cls.run_onnx_node(node, tensor_dict, **kwargs)

        @classmethod
        def version_3(cls, node, tensor_dict, **kwargs):
            x = tensor_dict[node.input_tensor_names[0]]
            return x * node.attrs["factor"] + 1

    x = flow.tensor([1.0, 2.0])
    for opset, wanted in ((1, [3.0, 6.0]), (2, [3.0, 6.0]), (3, [4.0, 7.0]), (9, [4.0, 7.0])):
        module = from_onnx(model_of("Scale", "my.company", opset, factor=3.0))
        assert module(x).tolist() == wanted


@pytest.mark.usefixtures("_table")
def test_a_handler_replaces_a_built_in_one():
    @onnx_op("Relu")
    class Relu(BackendHandler):
        @classmethod
        def version_1(cls, node, tensor_dict, **kwargs):
            return tensor_dict[node.input_tensor_names[0]] * 10

    assert from_onnx(model_of("Relu"))(flow.tensor([-1.0])).tolist() == [-10.0]


def test_a_handler_without_versions_is_an_error():
    with pytest.raises(TypeError, match="no method version_N"):
        onnx_op("Nothing")(BackendHandler)


def test_operators_are_registered_once():
    with pytest.raises(ValueError, match="registered twice"):
        registry.operator("Relu")(lambda x: x)


@pytest.mark.parametrize(
    ("name", "opset", "weights", "attributes"),
    [
        ("InstanceNormalization", 13, 4, {}),
        ("GroupNormalization", 18, 4, {"num_groups": 4}),
        ("GroupNormalization", 21, 4, {"num_groups": 4}),
    ],
)
def test_single_elements_are_normalised(name, opset, weights, attributes):
    infos = [
        helper.make_tensor_value_info(key, TensorProto.FLOAT, shape)
        for key, shape in {"x": [1, 4, 1], "s": [weights], "b": [weights], "y": [1, 4, 1]}.items()
    ]
    node = helper.make_node(name, ["x", "s", "b"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos[:3], infos[3:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    bias = flow.arange(4.0)
    y = from_onnx(model)(flow.ones(1, 4, 1), flow.full((4,), 2.0), bias)
    assert y.flatten().tolist() == bias.tolist()
