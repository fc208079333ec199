"""``torch.onnx.export`` in PyTorch's place: its options, and where it writes."""

import importlib
import inspect
import io

import onnx
import pytest
import torch

import oneflow as flow
import oneflow.mock_torch as mock

# As scripts spell them for any version of PyTorch.
USUAL = {
    "verbose": False,
    "export_params": True,
    "do_constant_folding": True,
    "keep_initializers_as_inputs": False,
    "opset_version": 13,
    "input_names": ["x"],
    "output_names": ["y"],
    "dynamic_axes": {"x": {0: "batch"}},
    "dynamo": False,
}


@pytest.fixture
def export():
    with mock.enable():
        return importlib.import_module("torch").onnx.export


def names(model):
    return [model.graph.input[0].name, model.graph.output[0].name, model.opset_import[0].version]


def test_usual_options_write_to_files_and_paths(export, tmp_path):
    layer, x = flow.nn.Linear(2, 3), flow.ones(1, 2)
    file = io.BytesIO()
    assert export(layer, x, file, **USUAL) is None
    export(layer, (x,), tmp_path / "path.onnx", **USUAL)
    program = export(layer, x, **USUAL)
    program.save(tmp_path / "program.onnx")
    models = [onnx.load_from_string(file.getvalue()), program.model_proto]
    models += [onnx.load(path) for path in sorted(tmp_path.iterdir())]
    assert [names(model) for model in models] == [["x", "y", 13]] * 4


@pytest.mark.parametrize(
    "name",
    sorted(set(inspect.signature(torch.onnx.export).parameters) - {"model", "args", "f"}),
)
def test_every_option_of_pytorchs_is_known(export, name):
    default = inspect.signature(torch.onnx.export).parameters[name].default
    value = None if name in ("external_data", "training", "opset_version") else default
    options = {} if name == "training" else {name: value}
    assert export(flow.nn.ReLU(), flow.ones(2), **options).model_proto.graph.node


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("export_params", False),
        ("keep_initializers_as_inputs", True),
        ("export_modules_as_functions", True),
        ("custom_translation_table", {len: len}),
    ],
)
def test_other_models_are_refused(export, name, value):
    with pytest.raises(NotImplementedError, match=name):
        export(flow.nn.ReLU(), flow.ones(2), **{name: value})
    with pytest.raises(TypeError, match="opset"):
        export(flow.nn.ReLU(), flow.ones(2), opset=13)


def test_modes_of_training_have_names(export):
    with mock.enable():
        modes = importlib.import_module("torch").onnx.TrainingMode
    assert {mode.name: int(mode) for mode in modes} == {
        name: int(mode) for name, mode in torch.onnx.TrainingMode.__members__.items()
    }
    layer = flow.nn.Sequential(flow.nn.Dropout(0.5), flow.nn.ReLU())
    kinds = {
        mode.name: [node.op_type for node in program.model_proto.graph.node]
        for mode in modes
        for program in [export(layer, flow.ones(2), training=mode, opset_version=13)]
    }
    assert kinds["EVAL"] == ["Relu"]
    assert kinds["TRAINING"] == kinds["PRESERVE"] != kinds["EVAL"]


class Difference(flow.nn.Module):
    def forward(self, x, y):
        return x - y


def test_programs_keep_their_model_whatever_becomes_of_the_file(export, tmp_path):
    x = flow.tensor([1.0, -2.0])
    program = export(flow.nn.ReLU(), x, tmp_path / "model.onnx")
    export(Difference(), (x, x), tmp_path / "model.onnx")
    assert program(x)[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
def test_programs_take_inputs_by_name(export, order):
    x, y = flow.tensor([1.0]), flow.tensor([5.0])
    program = export(Difference(), (x, y))
    named = {"x": x, "y": y}
    assert program(**{name: named[name] for name in order})[0].item() == -4.0
    assert program(x, y=y)[0].item() == -4.0
