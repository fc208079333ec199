"""Features of the export to ONNX."""

from __future__ import annotations

import inspect

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

# --- the tools and their requirements


def test_s004_01_s001_116_the_package(tmp_path):
    import oneflow_onnx

    assert oneflow_onnx.__version__ == flow.__version__
    graph, x = Wrapped(nn.Linear(3, 2)), flow.randn(2, 3)
    graph(x)
    util.export_onnx_model(graph, onnx_model_path=str(tmp_path))
    session = session_of(onnx.load(tmp_path / "model.onnx"))
    (result,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(result, graph(x).numpy(), rtol=1e-4, atol=1e-6)


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


def test_s004_14_convert_and_check(job, tmp_path, monkeypatch):
    util.convert_to_onnx_and_check(job, flow_weight_dir=None, onnx_model_path=tmp_path)
    assert (tmp_path / "model.onnx").exists()
    graph = Wrapped(nn.Linear(3, 2))
    graph(flow.randn(2, 3))
    util.convert_to_onnx_and_check(graph, onnx_model_path=tmp_path)
    # The check fails where ONNX Runtime gives something else.
    run_onnx = util.run_onnx

    def run_another_model(*args):
        inputs, output = run_onnx(*args)
        return inputs, output + 1

    monkeypatch.setattr(util, "run_onnx", run_another_model)
    with pytest.raises(AssertionError):
        util.convert_to_onnx_and_check(graph, onnx_model_path=tmp_path)


def test_s004_15_s004_16_s004_18_s004_41_weights_of_a_checkpoint(job, tmp_path):
    folder, path = str(tmp_path / "weights"), str(tmp_path / "m.onnx")
    job(np.zeros((2, 3, 6, 6), np.float32))
    saved = {name: variable.numpy().copy() for name, variable in flow.get_all_variables().items()}
    flow.checkpoint.save(folder)
    assert (tmp_path / "weights" / "snapshot_done").exists()
    flow.load_variables({"dense-bias": np.full(5, 7, np.float32)})
    flow.onnx.export(job, folder, path, opset=11, external_data=False)
    onnx.checker.check_model(path)
    weights = {
        initializer.name: onnx.numpy_helper.to_array(initializer)
        for initializer in onnx.load(path).graph.initializer
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
    defaults = [parameters[parameter].default for parameter in list(parameters)[3:8]]
    assert defaults == [False, None, None, None, False]


def test_s004_19_continue_on_error(tmp_path):
    graph = Wrapped(lambda x: flow.poisson(F.relu(x)))
    graph(flow.rand(2, 3))
    with pytest.raises(RuntimeError, match="poisson"):
        flow2onnx.Export(graph, None, tmp_path / "m.onnx", opset=13)
    with pytest.warns(UserWarning, match="poisson"):
        flow2onnx.Export(graph, None, tmp_path / "m.onnx", continue_on_error=True, opset=13)
    assert "Relu" in operators_of(onnx.load(tmp_path / "m.onnx"))


def test_s004_20_default_opset():
    assert flow.onnx.export(nn.ReLU(), flow.randn(2, 3)).opset_import[0].version == 10


def test_s004_21_further_domains(tmp_path):
    graph = Wrapped(nn.ReLU())
    graph(flow.randn(2, 3))
    domain = onnx.helper.make_opsetid("custom", 1)
    flow2onnx.Export(graph, None, tmp_path / "m.onnx", extra_opset=[domain])
    assert "custom" in {opset.domain for opset in onnx.load(tmp_path / "m.onnx").opset_import}


def test_s004_22_other_shapes(tmp_path):
    class Named(nn.Graph):
        def build(self, x):
            return F.relu(x)

    named = Named()
    named(flow.randn(2, 3))
    flow2onnx.Export(named, None, tmp_path / "m.onnx", shape_override={"x": [5, 7]})
    (value,) = onnx.load(tmp_path / "m.onnx").graph.input
    assert [part.dim_value for part in value.type.tensor_type.shape.dim] == [5, 7]


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
    graph(flow.randn(2, 3))
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
    proto = flow.onnx.export(nn.ReLU(), flow.randn(2, 3))
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
    graph._compile(flow.randn(2, 4, 6, 6))
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
