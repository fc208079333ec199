"""Saved graphs: loaded without the class, nothing but the program run."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F
from tests.graph.helpers import TrainGraph, graph_of

SOURCE = Path(flow.__file__).parents[1]


def classifier():
    """An inference graph with buffers, and its module."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    model.eval()
    return graph_of(lambda x: {"scores": model(x), "none": [None, 1.5]}, model=model), model


def files_of(path):
    """The folder of the files that a saved graph names."""
    return path / json.loads((path / "program.json").read_text())["files"]


def test_a_saved_graph_runs_where_the_class_is_unknown(tmp_path):
    graph, model = classifier()
    x = flow.randn(2, 1, 4, 4)
    expected = graph(x)["scores"].numpy()
    graph.save(tmp_path / "one")
    flow.save(graph, tmp_path / "two")
    for name in ("one", "two"):
        names = {path.name for path in (tmp_path / name).iterdir()}
        assert names == {"program.json", files_of(tmp_path / name).name}
        names = {path.name for path in files_of(tmp_path / name).iterdir()}
        assert names == {"step0.stablehlo", "weights.safetensors"}
    np.save(tmp_path / "x.npy", x.numpy())
    script = (
        "import numpy as np, oneflow as flow\n"
        f"graph = flow.nn.Graph.load({str(tmp_path / 'one')!r})\n"
        f"result = graph(flow.tensor(np.load({str(tmp_path / 'x.npy')!r})))\n"
        "assert result['none'] == [None, 1.5]\n"
        f"np.save({str(tmp_path / 'y.npy')!r}, result['scores'].numpy())\n"
    )
    command = [sys.executable, "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)}
    subprocess.run(command, check=True, env=environment)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)
    loaded = flow.load(tmp_path / "two")
    assert set(loaded.state_dict()) == {
        f"model.{key}" for key in model.state_dict() if "num_batches" not in key
    }
    assert "8 tensors" in repr(loaded)
    with pytest.raises(TypeError, match="was saved for"):
        loaded(flow.randn(3, 1, 4, 4))


def test_several_shapes_random_draws_counters_and_checks(tmp_path):
    table = nn.Embedding(5, 3)
    table.register_buffer("calls", flow.zeros(1))

    def build(indices):
        table.calls += 1
        return F.dropout(table(indices), 0.5), table.calls, indices

    graph = graph_of(build, table=table)
    one, two = flow.tensor([1]), flow.tensor([1, 4])
    graph(one)
    with pytest.warns(UserWarning, match="compiled again"):
        graph(two)
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    for x in (two, one, two):
        flow.manual_seed(3)
        expected = graph(x)[0].tolist()
        flow.manual_seed(3)
        drawn, calls, same = loaded(x)
        assert drawn.tolist() == expected
        assert same is x
    assert calls.item() == 5.0
    with pytest.raises(IndexError, match=r"index 9, but .* 5 rows"):
        loaded(flow.tensor([9]))[0].numpy()


CHECKED = {
    "several indices": (lambda x, i, j: x[i, j], ([0, 1], [2, 0]), ([0, 1], [2, 7])),
    "several messages": (
        lambda x, i, j: flow.multinomial(x * (i + j).reshape(2, 1), 1),
        ([1, 2], [0, 1]),
        ([-1, 1], [0, 0]),
    ),
    "a size": (
        lambda x, i, j: flow.gather(x, 1, (i + j).reshape(2, 1)),
        ([0, 1], [0, 1]),
        ([0, -5], [0, 0]),
    ),
}


@pytest.mark.parametrize("case", CHECKED)
def test_failed_checks_raise_what_they_raise_in_eager_mode(tmp_path, case):
    function, *indices = CHECKED[case]
    good, bad = ([flow.tensor(numbers) for numbers in pair] for pair in indices)
    x = flow.ones(2, 3)
    graph = graph_of(function)
    graph(x, *good)
    graph.save(tmp_path / "graph")
    with pytest.raises(Exception) as expected:  # noqa: PT011 - compared below
        function(x, *bad).numpy()
    with pytest.raises(expected.type) as caught:
        nn.Graph.load(tmp_path / "graph")(x, *bad).numpy()
    assert str(caught.value).partition(" (in ")[0] == str(expected.value).partition(" (in ")[0]


@pytest.mark.parametrize("seed", [0, 2**63 + 5, 2**64 - 1, -1])
def test_every_seed(tmp_path, seed):
    flow.manual_seed(seed)
    graph = graph_of(lambda x: flow.rand(3) + x)
    x = flow.zeros(3)
    expected = graph(x).tolist()
    graph.save(tmp_path / "graph")
    flow.manual_seed(seed)
    assert nn.Graph.load(tmp_path / "graph")(x).tolist() == expected


def test_results_that_are_parameters_and_buffers(tmp_path):
    model = nn.Linear(2, 2)
    model.register_buffer("last", flow.zeros(2))

    def build(x):
        model.last.copy_(x)
        return {"weight": model.weight, "last": model.last, "x": x}

    graph = graph_of(build, model=model)
    graph(flow.ones(2))
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    result = loaded(flow.full((2,), 3.0))
    assert flow.equal(result["weight"], model.weight)
    assert result["last"].tolist() == result["x"].tolist() == [3.0, 3.0]
    assert set(loaded.state_dict()) == {"model.weight", "model.last"}


def test_what_cannot_be_saved(tmp_path):
    graph, _ = classifier()
    with pytest.raises(RuntimeError, match="has not been called"):
        graph.save(tmp_path / "graph")
    model = nn.Linear(1, 1)
    training = TrainGraph(model, lambda m, x: m(x).sum(), flow.optim.SGD(model.parameters()))
    training(flow.ones(1, 1))
    with pytest.raises(RuntimeError, match="trains"):
        training.save(tmp_path / "graph")
    generator = flow.Generator()
    drawing = graph_of(lambda: flow.rand(2, generator=generator))
    drawing()
    with pytest.raises(RuntimeError, match="generator other than the default"):
        drawing.save(tmp_path / "graph")
    assert not list(tmp_path.iterdir())


def test_folders_are_replaced_as_a_whole_and_damage_is_told(tmp_path):
    graph, _ = classifier()
    graph(flow.randn(2, 1, 4, 4))
    path = tmp_path / "graph"
    path.touch()
    with pytest.raises(FileExistsError, match="is a file"):
        graph.save(path)
    path.unlink()
    path.mkdir()
    (path / "notes").touch()
    with pytest.raises(FileExistsError, match="no saved graph, but holds `notes`"):
        graph.save(path)
    (path / "notes").unlink()
    graph.save(path)
    graph.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["graph"]
    assert len(list(path.iterdir())) == 2
    (files_of(path) / "step0.stablehlo").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="not the one that was saved"):
        nn.Graph.load(path)
    (files_of(path) / "step0.stablehlo").unlink()
    with pytest.raises(RuntimeError, match="damaged, or was saved again"):
        nn.Graph.load(path)
    with pytest.raises(FileNotFoundError, match=r"program\.json"):
        nn.Graph.load(tmp_path)


# The results of a changed description. Each is a path into it and the value that is put there.
DAMAGE = [
    (["version"], 99, "format 99"),
    (["files"], "../elsewhere", "not a name of a folder that saving makes"),
    (["files"], None, "damaged"),
    (["steps"], 5, "damaged"),
    (["steps", 0, "called"], ["list", [], []], "`called`"),
    (["steps", 0, "structure"], ["list", [], []], "`structure`"),
    (["steps", 0, "structure"], ["value", "int", "text"], "not of the type"),
    (["steps", 0, "arguments"], [], "`called`"),
    (["steps", 0, "arguments", 0, 0], [2, 1, 4, 5], "does not fit"),
    (["steps", 0, "read"], [-1], "`read`"),
    (["steps", 0, "read"], [], "does not fit"),
    (["steps", 0, "results"], ["nowhere"], "`results`"),
    (["steps", 0, "results"], [[[1], "float32"]], "does not fit"),
    (["steps", 0, "variables", 0], "nowhere", "nowhere"),
    (["steps", 0, "variables"], [], "does not fit|`changed`"),
    (["steps", 0, "changed"], 70, "`changed`"),
    (["steps", 0, "floats"], [1.5], "does not fit"),
    (["steps", 0, "integers"], [1.5], "`integers`"),
    (["steps", 0, "draws"], [{"count": 1, "seeds": [0], "streams": []}], "`draws`"),
    (["steps", 0, "checks"], [["IndexError"]], "damaged"),
    (["steps", 0, "checks"], [{"primitive": "exit"}], "no primitive `exit` with a run-time check"),
    (["steps", 0, "sha256"], "", "not the one that was saved"),
]


def test_damaged_descriptions(tmp_path):
    graph, _ = classifier()
    graph(flow.randn(2, 1, 4, 4))
    path = tmp_path / "graph"
    graph.save(path)
    text = (path / "program.json").read_text()
    for steps, value, match in DAMAGE:
        data = json.loads(text)
        functools.reduce(lambda at, step: at[step], steps[:-1], data)[steps[-1]] = value
        (path / "program.json").write_text(json.dumps(data))
        with pytest.raises(RuntimeError, match=match) as caught:
            nn.Graph.load(path)
        assert str(path) in str(caught.value)
    (path / "program.json").write_text("[" * 100_000)
    with pytest.raises(RuntimeError, match="damaged"):
        nn.Graph.load(path)
    (path / "program.json").write_text(text)
    nn.Graph.load(path)


def test_programs_call_no_native_functions_but_our_own(tmp_path):
    graph = graph_of(lambda x: flow.linalg.svd(x @ flow.linalg.inv(x))[1] + flow.linalg.qr(x)[1])
    x = flow.eye(3)
    expected = graph(x)
    graph.save(tmp_path / "graph")
    np.testing.assert_allclose(nn.Graph.load(tmp_path / "graph")(x).numpy(), expected.numpy())
    path = tmp_path / "graph"
    program = files_of(path) / "step0.stablehlo"
    for foreign in (calls_python, calls_an_address):
        content = bytes(exported(foreign).serialize())
        program.write_bytes(content)
        data = json.loads((path / "program.json").read_text())
        data["steps"][0]["sha256"] = hashlib.sha256(content).hexdigest()
        (path / "program.json").write_text(json.dumps(data))
        with pytest.raises(RuntimeError, match=r"graph`: a program calls `\w+`"):
            nn.Graph.load(path)


def calls_python(x):
    form = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.ffi.ffi_call("xla_ffi_python_cpu_callback", form)(x, index=np.uint64(123456))


def calls_an_address(x):
    return jax.ffi.ffi_call("xla_python_cpu_callback", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def exported(function):
    targets = ("xla_ffi_python_cpu_callback", "xla_python_cpu_callback")
    unsafe = [jax.export.DisabledSafetyCheck.custom_call(target) for target in targets]
    form = jax.ShapeDtypeStruct((3, 3), np.float32)
    return jax.export.export(jax.jit(function), disabled_checks=unsafe)(form)


class Named(nn.Graph):
    """Returns a dict with its nested arguments in it."""

    def build(self, x, pair, *rest, scale=None, **others):
        total = x + pair[0] + pair[1] + rest[0]
        return {"sum": total, "parts": (x, others["more"]["y"] * scale), "n": 1}


def test_tensors_of_a_saved_graph_have_names(tmp_path):
    graph = Named()
    x, y, scale = flow.ones(2), flow.ones(3), flow.tensor(2.0)
    graph(x, [x, x], x, scale=scale, more={"y": y})
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    (step,) = loaded.steps
    assert {name: tuple(spec.shape) for name, spec in step.inputs.items()} == {
        "x": (2,),
        "pair.0": (2,),
        "pair.1": (2,),
        "input_2": (2,),
        "scale": (),
        "more.y": (3,),
    }
    assert list(step.outputs) == ["sum", "parts.0", "parts.1"]
    results = loaded.run_step(step, [x, x, x, x, scale, y])
    assert [result.tolist() for result in results] == [[4.0, 4.0], [1.0, 1.0], [2.0, 2.0, 2.0]]
    arrays = [tensor.numpy() for tensor in (x, x, x, x, scale, y)]
    results = loaded.run_arrays(step, arrays)
    assert [result.tolist() for result in results] == [[4.0, 4.0], [1.0, 1.0], [2.0, 2.0, 2.0]]


def test_a_saved_graph_runs_on_arrays(tmp_path):
    table = flow.arange(10.0).reshape(5, 2)
    graph = graph_of(lambda i: (F.embedding(i, table), i, table))
    graph(flow.tensor([1, 2]))
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    (step,) = loaded.steps
    content = b"?" + np.array([3, 4]).tobytes()  # at an address that suits no number
    rows, indices, whole = loaded.run_arrays(step, [np.frombuffer(content, np.int64, 2, 1)])
    assert (rows.tolist(), indices.tolist()) == ([[6, 7], [8, 9]], [3, 4])
    np.testing.assert_array_equal(whole, table.numpy())
    with pytest.raises(IndexError, match=r"index 9, but .* 5 rows"):
        loaded.run_arrays(step, [np.array([0, 9])])
    assert loaded.run_arrays(step, [np.array([0, 1])])[0].tolist() == [[0, 1], [2, 3]]


def test_draws_of_a_saved_graph_on_arrays_are_those_on_tensors(tmp_path):
    graph = graph_of(lambda x: x + flow.rand(3))
    graph(flow.zeros(3))
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    (step,) = loaded.steps
    flow.manual_seed(5)
    expected = [loaded(flow.zeros(3)).tolist() for _ in range(2)]
    flow.manual_seed(5)
    zeros = np.zeros(3, np.float32)
    assert [loaded.run_arrays(step, [zeros])[0].tolist() for _ in range(2)] == expected


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (lambda x: x, ["output"]),
        (lambda x: (x, [x]), ["output_0", "output_1.0"]),
        (lambda x: {"a": {"b": x}, "a.b": x}, ["a.b", "a.b_1"]),
    ],
)
def test_results_have_different_names(tmp_path, build, names):
    graph = graph_of(build)
    graph(flow.ones(1))
    graph.save(tmp_path / "graph")
    assert list(nn.Graph.load(tmp_path / "graph").steps[0].outputs) == names
