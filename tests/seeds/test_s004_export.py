"""Features of the export to ONNX."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import flowvision
import oneflow as flow
import oneflow.typing as tp
from oneflow import nn
from oneflow.nn import functional as F
from oneflow_onnx.oneflow2onnx import flow2onnx, util
from oneflow_onnx.oneflow2onnx.handler import flow_op
from tests.onnx.runtime import Wrapped, assert_exported, operators_of, session_of
from tests.oracle import eager_mode

X, Y = flow.randn(2, 3), flow.rand(2, 3) + 0.5
UNIT = flow.rand(2, 3) * 0.8
IMAGE = flow.randn(2, 4, 6, 6)
TRUTH, OTHER = flow.tensor([[True], [False]]), flow.tensor([True, False, True])

# Row: function, arguments, the ONNX operator that it becomes.
OPERATORS = {
    "s004_E01": (lambda x, i: flow.gather_nd(x, i), [X, flow.tensor([[0, 1], [1, 2]])], "GatherND"),
    "s004_E02": (lambda x: flow.transpose(x, 0, 1), [X], "Transpose"),
    "s004_E03": (flow.add, [X, Y], "Add"),
    "s004_E04": (flow.sub, [X, Y], "Sub"),
    "s004_E05": (flow.mul, [X, Y], "Mul"),
    "s004_E06": (flow.div, [X, Y], "Div"),
    # The sum of several tensors is written as additions.
    "s004_E07": (lambda x, y: flow.math.add_n([x, y, x]), [X, Y], "Add"),
    "s004_E08": (F.leaky_relu, [X], "LeakyRelu"),
    "s004_E09": (F.softplus, [X], "Softplus"),
    "s004_E10": (flow.abs, [X], "Abs"),
    "s004_E11": (flow.ceil, [X], "Ceil"),
    "s004_E12": (F.elu, [X], "Elu"),
    "s004_E13": (flow.exp, [X], "Exp"),
    "s004_E14": (flow.floor, [X], "Floor"),
    "s004_E15": (flow.log, [Y], "Log"),
    "s004_E16": (flow.neg, [X], "Neg"),
    "s004_E17": (flow.sigmoid, [X], "Sigmoid"),
    "s004_E18": (lambda x: (flow.sqrt(x), flow.rsqrt(x)), [Y], "Sqrt"),
    "s004_E19": (flow.tanh, [X], "Tanh"),
    "s004_E20": (flow.reciprocal, [Y], "Reciprocal"),
    "s004_E21": (F.relu, [X], "Relu"),
    "s004_E22": (flow.acos, [UNIT], "Acos"),
    "s004_E23": (flow.asin, [UNIT], "Asin"),
    "s004_E24": (flow.atan, [X], "Atan"),
    "s004_E25": (flow.cos, [X], "Cos"),
    "s004_E26": (flow.sin, [X], "Sin"),
    "s004_E27": (flow.tan, [UNIT], "Tan"),
    "s004_E28": (flow.acosh, [Y + 1], "Acosh"),
    "s004_E29": (flow.asinh, [X], "Asinh"),
    "s004_E30": (flow.atanh, [UNIT], "Atanh"),
    "s004_E31": (flow.cosh, [X], "Cosh"),
    "s004_E32": (flow.sinh, [X], "Sinh"),
    "s004_E33": (flow.minimum, [X, Y], "Min"),
    "s004_E34": (flow.maximum, [X, Y], "Max"),
    "s004_E35": (lambda x: flow.clamp(x, -1, 1), [X], "Clip"),
    "s004_E36": (lambda x: F.softmax(x, -1), [X], "Softmax"),
    "s004_E37": (flow.sign, [X], "Sign"),
    "s004_E38": (flow.matmul, [X, flow.randn(3, 4)], "MatMul"),
    "s004_E39": (flow.erf, [X], "Erf"),
    # ONNX's operator for the rest of a division is `Mod`.
    "s004_E40": (lambda x, y: x % y, [X, Y], "Mod"),
    "s004_E41": (flow.round, [X], "Round"),
    "s004_E42": (flow.logical_not, [TRUTH], "Not"),
    "s004_E43": (flow.logical_and, [TRUTH, OTHER], "And"),
    "s004_E44": (flow.logical_or, [TRUTH, OTHER], "Or"),
    "s004_E45": (flow.eq, [X, X * 1], "Equal"),
    # ONNX has no operator for "not equal".
    "s004_E46": (flow.ne, [X, Y], "Not"),
    "s004_E47": (flow.gt, [X, Y], "Greater"),
    "s004_E48": (flow.lt, [X, Y], "Less"),
    "s004_E49": (lambda x: F.pad(x, (1, 1)), [X], "Pad"),
    "s004_E50": (lambda x: F.avg_pool2d(x, 2, 2), [IMAGE], "AveragePool"),
    "s004_E51": (lambda x: F.max_pool2d(x, 2, 2), [IMAGE], "MaxPool"),
    "s004_E52": (F.conv2d, [IMAGE, flow.randn(3, 4, 3, 3)], "Conv"),
    "s004_E53": (nn.FakeQuantization(), [X, flow.tensor([0.01]), flow.zeros(1)], "QuantizeLinear"),
    "s004_E54": (lambda x: flow.amin(x, 1), [X], "ReduceMin"),
    "s004_E55": (nn.BatchNorm2d(4).eval(), [IMAGE], "BatchNormalization"),
    "s004_E56": (lambda x: flow.sum(x, 1), [X], "ReduceSum"),
    "s004_E57": (lambda x: flow.prod(x, 1), [X], "ReduceProd"),
    "s004_E58": (lambda x: flow.argmax(x, -1), [X], "ArgMax"),
    "s004_E59": (lambda x: flow.argmin(x, -1), [X], "ArgMin"),
    "s004_E60": (lambda x: flow.reshape(x, (-1,)), [X], "Reshape"),
    "s004_E61": (lambda x: flow.squeeze(x, 0), [flow.randn(1, 3)], "Squeeze"),
    "s004_E62": (lambda x, y: flow.cat([x, y], 0), [X, Y], "Concat"),
    "s004_E63": (lambda x: flow.cast(x, flow.int32), [X], "Cast"),
    "s004_E64": (lambda x: x, [X], "Identity"),
}


@pytest.mark.parametrize("row", OPERATORS)
def test_operator(row):
    function, arguments, operator = OPERATORS[row]
    graph = Wrapped(function)
    assert operator in operators_of(assert_exported(graph, *arguments))


def test_s004_44_sixty_operators():
    assert len({operator for _, _, operator in OPERATORS.values()}) >= 60


# --- the tools and their requirements


def test_s004_01_s001_116_the_package():
    import oneflow_onnx

    assert oneflow_onnx.__version__ == flow.__version__
    assert callable(util.export_onnx_model)


def test_s004_05_python():
    assert sys.version_info >= (3, 5)


def test_s004_06_onnx():
    assert tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 8)


def test_s004_09_s001_115_onnxruntime():
    assert tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 9)


# --- job functions


@pytest.fixture
def job():
    """A job with a convolution and a dense layer."""
    flow.clear_default_session()

    @flow.global_function()
    def predict(x: tp.Numpy.Placeholder((2, 3, 6, 6))) -> tp.Numpy:
        hidden = flow.layers.conv2d(x, 4, 3, activation=flow.nn.relu, name="conv")
        return flow.layers.dense(flow.reshape(hidden, (2, -1)), 5, name="dense")

    yield predict
    flow.clear_default_session()


def test_s004_14_convert_and_check(job, tmp_path):
    util.convert_to_onnx_and_check(job, flow_weight_dir=None, onnx_model_path=tmp_path)
    assert (tmp_path / "model.onnx").exists()
    graph = Wrapped(nn.Linear(3, 2))
    graph(X)
    util.convert_to_onnx_and_check(graph, onnx_model_path=tmp_path)


def test_s004_15_s004_16_s004_18_s004_41_weights_of_a_checkpoint(job, tmp_path):
    folder, path = str(tmp_path / "weights"), str(tmp_path / "m.onnx")
    job(np.zeros((2, 3, 6, 6), np.float32))
    saved = {name: each.numpy().copy() for name, each in flow.get_all_variables().items()}
    flow.checkpoint.save(folder)
    assert (tmp_path / "weights" / "snapshot_done").exists()
    flow.load_variables({"dense-bias": np.full(5, 7, np.float32)})
    flow.onnx.export(job, folder, path, opset=11, external_data=False)
    onnx.checker.check_model(path)
    weights = {
        each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer
    }
    assert weights.keys() == saved.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight, saved[name])


def test_s004_17_signature():
    parameters = inspect.signature(flow2onnx.Export).parameters
    assert list(parameters)[1:8] == [
        "model_save_dir",
        "onnx_filename",
        "continue_on_error",
        "opset",
        "extra_opset",
        "shape_override",
        "external_data",
    ]
    defaults = [parameters[each].default for each in list(parameters)[3:8]]
    assert defaults == [False, None, None, None, False]


def test_s004_19_continue_on_error(tmp_path):
    graph = Wrapped(lambda x: flow.poisson(F.relu(x)))
    graph(Y)
    with pytest.raises(RuntimeError, match="poisson"):
        flow2onnx.Export(graph, None, tmp_path / "m.onnx", opset=13)
    with pytest.warns(UserWarning, match="poisson"):
        flow2onnx.Export(graph, None, tmp_path / "m.onnx", continue_on_error=True, opset=13)
    assert "Relu" in operators_of(onnx.load(tmp_path / "m.onnx"))


def test_s004_20_default_opset():
    assert flow.onnx.export(nn.ReLU(), X).opset_import[0].version == 10


def test_s004_21_further_domains(tmp_path):
    graph = Wrapped(nn.ReLU())
    graph(X)
    domain = onnx.helper.make_opsetid("custom", 1)
    flow2onnx.Export(graph, None, tmp_path / "m.onnx", extra_opset=[domain])
    assert "custom" in {each.domain for each in onnx.load(tmp_path / "m.onnx").opset_import}


def test_s004_22_other_shapes(tmp_path):
    class Named(nn.Graph):
        def build(self, x):
            return F.relu(x)

    named = Named()
    named(X)
    flow2onnx.Export(named, None, tmp_path / "m.onnx", shape_override={"x": [5, 7]})
    (value,) = onnx.load(tmp_path / "m.onnx").graph.input
    assert [each.dim_value for each in value.type.tensor_type.shape.dim] == [5, 7]


def test_s004_23_external_data(tmp_path):
    flow.onnx.export(nn.Linear(64, 64), flow.randn(1, 64), tmp_path / "m.onnx", external_data=True)
    assert len(list(tmp_path.iterdir())) == 2
    model = onnx.load(tmp_path / "m.onnx")
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).shape == (64, 64)


def test_s004_24_too_large_for_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr("oneflow_onnx.oneflow2onnx.files._LARGEST", 1000)
    with pytest.raises(ValueError, match="external_data=True"):
        flow.onnx.export(
            nn.Linear(32, 32), flow.ones(1, 32), tmp_path / "m.onnx", external_data=False
        )
    assert not list(tmp_path.iterdir())


def test_s004_26_no_job(tmp_path):
    def undecorated(x):
        return x

    with pytest.raises(ValueError, match='Cannot find job "undecorated" in jobset'):
        flow.onnx.export(undecorated, str(tmp_path), str(tmp_path / "m.onnx"))


def test_s004_27_process_flow_graph():
    graph = Wrapped(nn.Linear(3, 2))
    graph(X)
    model = flow2onnx.ProcessFlowGraph(graph, None)
    assert {node.domain for node in model.get_nodes()} == {""}


def test_s004_28_find_opset():
    assert util.FindOpset(None) == 10
    with pytest.warns(UserWarning, match="newer than"):
        assert util.FindOpset(999) == 999


@pytest.fixture
def _no_handlers():
    before = dict(flow_op._OPSETS)
    flow_op._OPSETS.clear()
    yield
    flow_op._OPSETS.clear()
    flow_op._OPSETS.update(before)


@pytest.mark.usefixtures("_no_handlers")
def test_s004_31_s004_32_s004_33_handlers():
    @flow_op(["relu"], onnx_op="LeakyRelu")
    class Relu:
        @classmethod
        def Version_10(cls, ctx, node, **kwargs):
            node.attrs["alpha"] = 0.5

        @classmethod
        def Version_11(cls, ctx, node, **kwargs):
            node.attrs["alpha"] = 0.25

    function, operator, _ = flow_op.CreateMapping(10, [])["relu"]
    assert (function.__name__, operator) == ("Version_10", "LeakyRelu")
    assert flow_op.CreateMapping(11, [])["relu"][0].__name__ == "Version_11"
    assert {version: set(ops) for version, ops in flow_op.get_opsets()[""].items()} == {
        10: {"relu"},
        11: {"relu"},
    }
    proto = flow.onnx.export(nn.ReLU(), X)
    assert operators_of(proto) == ["LeakyRelu"]


def test_s004_25_user_op_switch(job, tmp_path, monkeypatch):
    monkeypatch.setenv("ENABLE_USER_OP", "False")
    with pytest.raises(AssertionError, match="ENABLE_USER_OP"):
        flow.onnx.export(job, None, tmp_path / "m.onnx")
    monkeypatch.setenv("ENABLE_USER_OP", "True")
    flow.onnx.export(job, None, tmp_path / "m.onnx")


# --- models


def small(name: str, size: int):
    """A model of flowvision with statistics from one pass, and images."""
    model = getattr(flowvision.models, name)(num_classes=10)
    if name == "alexnet":  # two of its layers have 54 of 57 million parameters
        model.classifier[1] = nn.Linear(256 * 6 * 6, 64)
        model.classifier[4] = nn.Linear(64, 4096)
    images = flow.randn(2, 3, size, size)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    with eager_mode("cold"):
        model(images)
    return model.eval(), images


@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param("alexnet", 64, id="s004_M01_s004_42"),
        pytest.param("mobilenet_v2", 64, id="s004_M02_s001_113"),
        pytest.param("resnet50", 64, id="s004_M03"),
    ],
)
def test_model(name, size):
    model, images = small(name, size)
    # Deep networks with fresh weights enlarge rounding errors.
    others = [(images.flip(0) * 0.5,)]
    with eager_mode("cold"):
        proto = assert_exported(model, images, others=others, tolerance=2e-3)
    assert proto.opset_import[0].version == 10


def test_s001_112_devices(tmp_path):
    graph = Wrapped(nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU()))
    graph._compile(IMAGE)
    weights = tmp_path / "weights"
    flow.save(graph.state_dict(), str(weights))
    path = tmp_path / "m.onnx"
    util.convert_to_onnx_and_check(
        graph, device="cpu", onnx_model_path=path, flow_weight_dir=weights
    )
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(ValueError, match="CUDAExecutionProvider"):
            util.convert_to_onnx_and_check(graph, device="gpu", onnx_model_path=path)


def test_s001_114_prelu():
    proto = assert_exported(nn.PReLU(num_parameters=4), flow.randn(2, 4, 3, 3))
    assert "PRelu" in operators_of(proto)
    session_of(proto)
