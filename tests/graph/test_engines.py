"""Graphs that OpenVINO runs: its results, what stays with XLA, and what it refuses."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.compiler.export import ImportedProgram
from oneflow.graph.engine_executable import EngineExecutable
from oneflow.graph.engines import UnsupportedByEngine
from oneflow.nn import functional as F
from oneflow_onnx import openvino_connector
from tests.graph.helpers import graph_of


def pair(function, **modules):
    """The same graph, run by XLA and by OpenVINO."""
    plain, engine = graph_of(function, **modules), graph_of(function, **modules)
    engine.config.enable_openvino(True)
    return plain, engine


def left_to_xla(graph) -> dict[str, str]:
    """The operators of the last call that XLA runs, with the reasons; OpenVINO runs `graph`."""
    executable = graph.last_step.executable
    assert isinstance(executable, EngineExecutable)
    instructions = executable.program.instructions
    return {
        instructions[index].operation.primitive.name: reason
        for index, reason in executable.left_to_xla.items()
    }


def assert_same(result, expected, tolerance=1e-5):
    assert result.dtype is expected.dtype
    assert result.shape == expected.shape
    got, wanted = result.float().numpy(), expected.float().numpy()
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=4),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    ).eval()


def transformer() -> nn.Module:
    return nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True).eval()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (convolutions, (2, 3, 8, 8)),
        (transformer, (2, 5, 8)),
        (lambda: nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 5), nn.Softmax(-1)), (1, 6)),
        (lambda: nn.Sequential(nn.ConvTranspose2d(2, 3, 2, 2), nn.GroupNorm(3, 3)), (1, 2, 3, 4)),
    ],
    ids=["convolutions", "transformer", "perceptron", "transposed"],
)
def test_models_run_whole(make, shape):
    model = make()
    plain, engine = pair(lambda x: model(x), model=model)
    for _ in range(2):
        x = flow.randn(*shape)
        assert_same(engine(x), plain(x))
    assert left_to_xla(engine) == {}


def test_several_arguments_and_results_of_every_kind():
    weight = flow.randn(3, 3)

    def function(x, y):
        product = x @ weight
        return {"sum": (product + y, product), "given": x, "mask": product > 0}, y

    plain, engine = pair(function)
    x, y = flow.randn(2, 3), flow.randn(2, 3)
    (result, second), (expected, _) = engine(x, y), plain(x, y)
    for key in ("given", "mask"):
        assert flow.equal(result[key].float(), expected[key].float())
    for mine, theirs in zip(result["sum"], expected["sum"], strict=True):
        assert_same(mine, theirs)
    assert second is y
    assert result["given"] is x


def test_results_keep_their_values():
    _, engine = pair(lambda x: x @ x)
    first = engine(flow.eye(2))
    second = engine(2 * flow.eye(2))
    assert first.tolist() == [[1, 0], [0, 1]]
    assert second.tolist() == [[4, 0], [0, 4]]


def test_new_weights_are_seen():
    model = nn.Linear(2, 2, bias=False)
    _, engine = pair(lambda x: model(x), model=model)
    x = flow.ones(1, 2)
    before = engine(x).numpy()
    with flow.no_grad():
        model.weight.mul_(3)
    np.testing.assert_allclose(engine(x).numpy(), 3 * before, rtol=1e-6)
    model.load_state_dict({"weight": flow.ones(2, 2)})
    assert engine(x).tolist() == [[2, 2]]
    assert left_to_xla(engine) == {}


def test_clusters_around_what_xla_keeps():
    table, first, last = nn.Embedding(10, 4), nn.Linear(4, 4), nn.Linear(4, 6)

    def function(words):
        hidden = F.gelu(first(table(words)))
        scores = last(hidden.to(flow.float64).cumsum(1).to(flow.float32))
        return scores, scores.argmax(-1)

    plain, engine = pair(function, table=table, first=first, last=last)
    words = flow.tensor([[1, 9, 3], [0, 2, 2]])
    with pytest.warns(UserWarning, match="XLA runs in .*`argmax`.*int64.*`embedding`") as seen:
        scores, best = engine(words)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    expected_scores, expected_best = plain(words)
    assert_same(scores, expected_scores)
    assert flow.equal(best, expected_best)
    kept = left_to_xla(engine)
    assert kept["embedding"] == "its operands are checked when it runs"
    assert kept["cumsum"] == "it computes with float64"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine(words)
    result, _ = engine(flow.tensor([[1, 10, 3], [0, 2, 2]]))
    with pytest.raises(IndexError, match="10"):
        result.numpy()
    assert_same(engine(words)[0], expected_scores)


def test_clusters_without_products_stay_with_xla():
    table, layer = nn.Embedding(4, 3), nn.Linear(3, 3)
    _, engine = pair(lambda i: layer(table(i)).argmax(1).float().exp(), table=table, layer=layer)
    with pytest.warns(UserWarning, match="no product or convolution"):
        engine(flow.tensor([1, 2]))
    assert "linear" not in left_to_xla(engine)
    assert len(engine.last_step.executable._runs) == 3


def test_what_onnx_has_in_later_opsets_only():
    layer = nn.Linear(3, 3)

    def build(x):
        bits = layer(x).view(flow.int32)
        return layer(bits.view(flow.float32))

    plain, engine = pair(build, layer=layer)
    x = flow.randn(3, 3)
    with pytest.warns(UserWarning, match=r"`bitcast` \(ONNX has it in a later opset"):
        result = engine(x)
    assert_same(result, plain(x), 1e-4)
    assert len(engine.last_step.executable._runs) == 3


def test_what_the_engine_refuses_is_found(monkeypatch):
    from oneflow_onnx import openvino_connector as connector

    compiled = connector.compile_program

    def without_tanh(program, numbers, weights):
        if any(
            instruction.operation.primitive.name == "tanh" for instruction in program.instructions
        ):
            raise UnsupportedByEngine("not today")
        return compiled(program, numbers, weights)

    monkeypatch.setattr(connector, "compile_program", without_tanh)
    layer = nn.Linear(3, 3)
    plain, engine = pair(lambda x: layer(flow.tanh(layer(x)) * 2), layer=layer)
    x = flow.randn(2, 3)
    with pytest.warns(UserWarning, match=r"`tanh` \(not today\)"):
        result = engine(x)
    assert_same(result, plain(x))
    assert left_to_xla(engine) == {"tanh": "not today"}

    def nothing(program, numbers, weights):
        if len(program.instructions) > 1:
            raise UnsupportedByEngine("too long")
        return compiled(program, numbers, weights)

    monkeypatch.setattr(connector, "compile_program", nothing)
    _, engine = pair(lambda x: layer(x) * 2, layer=layer)
    with pytest.warns(UserWarning, match="too long"):
        assert_same(engine(x), layer(x) * 2)


def test_random_numbers_are_ours():
    layer = nn.Linear(8, 8)
    plain, engine = pair(lambda x: F.dropout(layer(x), 0.5, training=True), layer=layer)
    x = flow.randn(4, 8)
    flow.manual_seed(3)
    expected = [plain(x).numpy() for _ in range(2)]
    flow.manual_seed(3)
    with pytest.warns(UserWarning, match="its numbers are others in each call"):
        results = [engine(x).numpy() for _ in range(2)]
    np.testing.assert_allclose(results, expected, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(*results)


@pytest.mark.parametrize("dtype", [flow.bfloat16, flow.float64])
def test_precisions_that_xla_keeps(dtype):
    layer = nn.Linear(4, 4).to(dtype)
    plain, engine = pair(lambda x: F.relu(layer(x)), layer=layer)
    x = flow.randn(2, 4).to(dtype)
    with pytest.warns(UserWarning, match=f"it computes with {str(dtype).partition('.')[2]}"):
        result = engine(x)
    assert flow.equal(result, plain(x))


def test_half_precision():
    layer = nn.Linear(4, 4).half()
    plain, engine = pair(lambda x: F.relu(layer(x)), layer=layer)
    x = flow.randn(2, 4).half()
    assert_same(engine(x), plain(x), 2e-3)
    assert left_to_xla(engine) == {}


def test_graphs_that_change_buffers_run_in_xla():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    _, engine = pair(lambda x: model(x), model=model)
    with pytest.warns(UserWarning, match=r"XLA runs .*call `eval\(\)`"):
        engine(flow.randn(4, 3))
    assert not isinstance(engine.last_step.executable, EngineExecutable)
    assert model[1].num_batches_tracked.item() == 1
    model.eval()
    x = flow.randn(4, 3)
    assert_same(engine(x), model(x))
    assert left_to_xla(engine) == {}


def test_placements_run_in_xla():
    placement = flow.placement("cpu", [0])
    layer = nn.Linear(2, 2).to_global(placement, flow.sbp.broadcast)
    _, engine = pair(lambda x: layer(x), layer=layer)
    x = flow.ones(1, 2).to_global(placement, flow.sbp.broadcast)
    with pytest.warns(UserWarning, match="it is on"):
        engine(x)


def test_saved_graphs_run_in_xla(tmp_path):
    model = convolutions()
    _, engine = pair(lambda x: model(x), model=model)
    x = flow.randn(1, 3, 8, 8)
    expected = engine(x)
    engine.save(tmp_path / "graph")
    assert_same(nn.Graph.load(tmp_path / "graph")(x), expected)


def test_calls_from_several_threads():
    model = nn.Linear(4, 4)
    plain, engine = pair(lambda x: model(x), model=model)
    inputs = [flow.full((2, 4), float(n)) for n in range(8)]
    expected = [plain(operand).numpy() for operand in inputs]
    engine(inputs[0])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: engine(x).numpy(), inputs))
    np.testing.assert_allclose(results, expected, rtol=1e-5, atol=1e-6)


def test_its_makers_get_no_reports():
    _, engine = pair(lambda x: x @ x)
    engine(flow.eye(2))
    assert "openvino" in sys.modules
    assert "openvino_telemetry" not in sys.modules


def test_packages_for_onnx_are_missing(monkeypatch):
    def absent(group, name):
        raise ModuleNotFoundError("No module named 'onnx_ir'", name="onnx_ir")

    monkeypatch.setattr("oneflow.graph.engines.load_entry_point", absent)
    _, engine = pair(lambda x: x @ x)
    with pytest.raises(ImportError, match=r"needs the package `onnx_ir`.*oneflow-xla\[onnx\]"):
        engine(flow.eye(2))


@pytest.mark.parametrize(
    ("make", "shape"), [(convolutions, (2, 3, 8, 8)), (transformer, (2, 5, 8))]
)
def test_saved_graphs_run_in_the_engine(tmp_path, monkeypatch, make, shape):
    model = make()
    plain, engine = pair(lambda x: model(x), model=model)
    x = flow.randn(*shape)
    engine(x)
    engine.save(tmp_path / "model")
    loaded = nn.Graph.load(tmp_path / "model")
    with monkeypatch.context() as patch:
        patch.setattr(ImportedProgram, "__call__", None)  # XLA does not run it
        for _ in range(2):
            x = flow.randn(*shape)
            first, second = loaded(x), loaded(2 * x)
            assert_same(first, plain(x))  # the second call left it as it was
            assert_same(second, plain(2 * x))
        (step,) = loaded.steps
        first, second = (loaded.run_arrays(step, [k * x.numpy()])[0] for k in (1, 2))
        assert_same(flow.from_numpy(first), plain(x))
        assert_same(flow.from_numpy(second), plain(2 * x))
    find = importlib.util.find_spec
    missing = {"openvino": None}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: missing[name] if name in missing else find(name)
    )
    with pytest.warns(UserWarning, match="`openvino` is not installed, and XLA runs it"):
        without = nn.Graph.load(tmp_path / "model")
    assert_same(without(x), plain(x), tolerance=0)
    assert without.steps[0].inputs == step.inputs


def test_saved_graphs_of_which_xla_ran_a_part_run_in_xla(tmp_path):
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 2))
    _, engine = pair(lambda x: model(x), model=model)
    x = flow.tensor([[0, 4]])
    with pytest.warns(UserWarning, match="XLA runs"):
        expected = engine(x)
    engine.save(tmp_path / "model")
    assert not list(tmp_path.rglob("*.onnx"))
    assert_same(nn.Graph.load(tmp_path / "model")(x), expected)


@pytest.mark.parametrize("damage", ["content", "package", "refused"])
def test_damaged_programs_of_saved_graphs(tmp_path, monkeypatch, damage):
    model = nn.Linear(4, 2)
    plain, engine = pair(lambda x: model(x), model=model)
    x = flow.randn(3, 4)
    engine(x)
    engine.save(tmp_path / "model")
    if damage == "refused":
        loaded = nn.Graph.load(tmp_path / "model")
        refusal = UnsupportedByEngine("OpenVINO refuses it: no")
        monkeypatch.setattr(openvino_connector, "OpenVinoProgram", mock.Mock(side_effect=refusal))
        with pytest.warns(UserWarning, match="XLA runs a saved graph: OpenVINO refuses it"):
            result = loaded(x)
        assert_same(result, plain(x), tolerance=0)
        assert_same(loaded(x), result, tolerance=0)
        return
    if damage == "content":
        (file,) = tmp_path.rglob("*.onnx")
        file.write_bytes(b"other")
    else:
        file = tmp_path / "model" / "program.json"
        file.write_text(file.read_text().replace('"openvino"', '"other"'))
    with pytest.raises(RuntimeError, match=r"not the one that was saved|no engine 'other'"):
        nn.Graph.load(tmp_path / "model")
