"""Features of the import from ONNX and PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper
from torch import nn
from torch.nn import functional as F

import oneflow as flow
from oneflow_onnx.x2oneflow import registry
from oneflow_onnx.x2oneflow.handler import BackendHandler, flow_func, onnx_op
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx, from_pytorch
from oneflow_onnx.x2oneflow.registry import operator_names

rng = np.random.default_rng(0)


def real(*shape):
    """Normally distributed numbers."""
    return rng.standard_normal(shape).astype(np.float32)


def whole(*values):
    """64-bit integers."""
    return np.asarray(values, np.int64)


IMAGE = real(2, 4, 6, 6)
POSITIVE = np.abs(real(2, 3)) + 0.5
CHANNEL = [np.abs(real(4)) + 0.5 for _ in range(4)]

# Row: operator, attributes, operands; of operator set 13.
ONNX_OPERATORS = {
    "s004_X01": ("Conv", {"pads": [1, 1, 1, 1], "group": 2}, [IMAGE, real(4, 2, 3, 3), real(4)]),
    "s004_X02": ("BatchNormalization", {}, [IMAGE, *CHANNEL]),
    "s004_X03": ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [IMAGE]),
    "s004_X04": ("AveragePool", {"kernel_shape": [2, 2]}, [IMAGE]),
    "s004_X05": ("Concat", {"axis": 1}, [real(2, 3), real(2, 4)]),
    "s004_X06": ("Relu", {}, [real(2, 3)]),
    "s004_X08": ("Softmax", {"axis": 1}, [real(2, 3)]),
    "s004_X09": ("Unsqueeze", {}, [real(2, 3), whole(0)]),
    "s004_X10": ("Transpose", {"perm": [0, 2, 1]}, [real(2, 3, 4)]),
    "s004_X11": ("Clip", {}, [real(2, 3), np.float32(-0.5), np.float32(0.5)]),
    "s004_X12": ("Gather", {"axis": 0}, [real(3, 2), whole(2, 0, -1)]),
    "s004_X13": ("Slice", {}, [real(5, 4), whole(1, 3), whole(4, 0), whole(0, 1), whole(2, -1)]),
    "s004_X14": ("Split", {"axis": 0}, [real(2, 3), whole(1, 1)]),
    "s004_X15": ("Flatten", {"axis": 1}, [real(2, 3, 4)]),
    "s004_X16": ("Add", {}, [real(2, 3), real(3)]),
    "s004_X17": ("Sub", {}, [real(2, 3), real(2, 1)]),
    "s004_X18": ("Mul", {}, [real(2, 3), real(3)]),
    "s004_X19": ("Div", {}, [real(2, 3), POSITIVE]),
    "s004_X20": ("Sqrt", {}, [POSITIVE]),
    "s004_X21": ("Pow", {}, [POSITIVE, real(2, 3)]),
    "s004_X22": ("Tanh", {}, [real(2, 3)]),
    "s004_X23": ("Sigmoid", {}, [real(2, 3)]),
    "s004_X24": ("Cast", {"to": 6}, [real(2, 3) * 10]),
    "s004_X25": ("Pad", {"mode": "constant"}, [real(2, 3), whole(0, 1, 2, 0), np.float32(0.5)]),
    "s004_X26": ("ReduceMean", {"axes": [1], "keepdims": 0}, [real(2, 3)]),
    "s004_X27": ("Reshape", {}, [real(2, 3, 4), whole(0, -1)]),
    "s004_X29": ("Squeeze", {}, [real(1, 3), whole(0)]),
    "s004_X30": ("Expand", {}, [real(3, 1), whole(2, 1, 4)]),
    "s004_X31": ("Min", {}, [real(2, 3), real(3)]),
    "s004_X32": ("Max", {}, [real(2, 3), real(3)]),
    "s004_X33": ("Constant", {"value_floats": [1.0, 2.0]}, []),
    "s004_X34": ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}, [real(2, 3)]),
    "s004_X35": ("Gemm", {"transB": 1}, [real(2, 3), real(4, 3), real(4)]),
    "s004_X36": ("MatMul", {}, [real(2, 3, 4), real(4, 2)]),
    "s004_X37": ("Erf", {}, [real(2, 3)]),
    "s004_X38": ("GlobalMaxPool", {}, [IMAGE]),
    "s004_X39": ("GlobalAveragePool", {}, [IMAGE]),
    "s004_X40": ("ReduceMax", {"axes": [1]}, [real(2, 3)]),
    "s004_X41": ("Identity", {}, [real(2, 3)]),
}


def onnx_model(name, attributes, operands):
    """A model with one node, and its inputs by name."""
    named = {f"x{index}": np.asarray(value) for index, value in enumerate(operands)}
    outputs = ["y", "z"] if name == "Split" else ["y"]
    node = helper.make_node(name, list(named), outputs, **attributes)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in named.items()
    ]
    infos = [onnx.ValueInfoProto(name=n) for n in outputs]
    graph = helper.make_graph([node], "g", inputs, infos)
    opsets = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), named


@pytest.mark.parametrize("row", ONNX_OPERATORS)
def test_onnx_operators(row):
    model, inputs = onnx_model(*ONNX_OPERATORS[row])
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, inputs)
    outputs = from_onnx(model)(**{name: flow.tensor(value) for name, value in inputs.items()})
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for output, value in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(output.numpy(), value, rtol=1e-5, atol=1e-6)
        assert output.numpy().dtype == value.dtype


X = real(2, 3, 4)
CLASSES = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 1]])


def batch_norm():
    """One whose statistics, weight and bias differ from one another."""
    layer = nn.BatchNorm2d(4)
    with torch.no_grad():
        for first, values in enumerate(layer.state_dict().values()):
            if values.ndim:
                values.copy_(torch.linspace(first + 0.5, first + 1.5, 4))
    return layer


# Row: a function or module of PyTorch, and its operand.
PYTORCH_OPERATORS = {
    "s004_X07": (nn.AdaptiveMaxPool2d(1), IMAGE),
    "s004_X28": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "s004_P01": (torch.relu, X),
    "s004_P02": (lambda x: torch.cat([x, x], 1), X),
    "s004_P03": (lambda x: x.unsqueeze(0), X),
    "s004_P04": (lambda x: x.transpose(1, 2), X),
    "s004_P05": (batch_norm(), IMAGE),
    "s004_P06": (lambda x: x[:, 1:3], X),
    "s004_P07": (lambda x: x[:, [0, 2]] + torch.gather(x, 1, (x[:, :2] > 0).long()), X),
    "s004_P08": (lambda x: x.clamp(-1, 1), X),
    "s004_P09": (nn.Conv2d(4, 5, 3), IMAGE),
    "s004_P10": (nn.Conv2d(4, 4, 3, groups=4), IMAGE),
    "s004_P11": (lambda x: torch.flatten(x, 1), X),
    "s004_P12": (lambda x: x + x[:, :1], X),
    "s004_P13": (lambda x: x - x[:, :1], X),
    "s004_P14": (lambda x: x * x[:, :1], X),
    "s004_P15": (lambda x: x / (x[:, :1].abs() + 1), X),
    "s004_P16": (lambda x: torch.pow(x, 2), X),
    "s004_P17": (lambda x: torch.sqrt(x.abs()), X),
    "s004_P18": (torch.tanh, X),
    "s004_P19": (torch.sigmoid, X),
    "s004_P20": (torch.erf, X),
    "s004_P21": (lambda x: (x * 10).to(torch.int32), X),
    "s004_P22": (lambda x: F.pad(x, (1, 1, 1, 1)), X),
    "s004_P23": (nn.MaxPool2d(2), IMAGE),
    "s004_P24": (nn.AvgPool2d(2), IMAGE),
    "s004_P25": (lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE),
    "s004_P26": (lambda x: F.adaptive_max_pool2d(x, 1), IMAGE),
    "s004_P27": (lambda x: x.mean(1), X),
    "s004_P28": (lambda x: x.reshape(1, -1), X),
    "s004_P29": (lambda x: torch.softmax(x, 1), X),
    "s004_P30": (nn.ReLU6(), X * 5),
    "s004_P31": (lambda x: nn.CrossEntropyLoss()(x, CLASSES), X),
}


class Wrapped(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("row", PYTORCH_OPERATORS)
def test_pytorch_operators(row):
    function, x = PYTORCH_OPERATORS[row]
    network = Wrapped(function).eval()
    wanted = network(torch.tensor(x)).detach().numpy()
    output = from_pytorch(network, x)(flow.tensor(x)).numpy()
    np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-6)
    assert output.dtype == wanted.dtype


def test_s004_02_import_by_way_of_onnx():
    network = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    x = real(5, 3)
    module = from_pytorch(network, x)
    assert isinstance(module, flow.nn.Module)
    wanted = network(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(module(flow.tensor(x)).numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_s004_43_handlers(monkeypatch):
    copy = {key: dict(versions) for key, versions in registry._TABLE.items()}
    monkeypatch.setattr(registry, "_TABLE", copy)

    @onnx_op("Square")
    @flow_func(flow.square)
    class Square(BackendHandler):
        @classmethod
        def version_1(cls, node, tensor_dict, **kwargs):
            return cls.run_onnx_node(node, tensor_dict, **kwargs)

    model, _ = onnx_model("Square", {}, [real(2)])
    assert from_onnx(model)(flow.tensor([2.0, 3.0])).tolist() == [4.0, 9.0]


def recorded_operators(framework):
    """The operators in the exports of a framework that `test_s004_frameworks` imports."""
    data = Path(__file__).parents[1] / "onnx" / "data" / f"{framework}_ops.npz"
    with np.load(data) as file:
        models = [file[name] for name in file if name.endswith(".model")]
    graphs = [onnx.load_from_string(model.tobytes()).graph for model in models]
    return len(models), {node.op_type for graph in graphs for node in graph.node}


def test_s004_45_numbers_of_operators():
    """At least 40 operators of ONNX, and 30 of each framework, are imported by tests."""
    imported = {name for name, _, _ in ONNX_OPERATORS.values()}
    for framework in ("tensorflow", "paddle"):
        count, operators = recorded_operators(framework)
        assert count >= 30
        imported |= operators
    assert len(imported & {name for _, name in operator_names()} | {"Constant"}) >= 40
    assert sum(row.startswith("s004_P") for row in PYTORCH_OPERATORS) >= 30
