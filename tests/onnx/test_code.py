"""Generated code: readable, clean by the linter, and with the outputs of the model."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
import torch
from torch import nn

import oneflow as flow
from oneflow_onnx.command import main
from oneflow_onnx.x2oneflow.codegen.writer import write_code
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from oneflow_onnx.x2oneflow.values import as_host
from tests.onnx.models import parsed

ROOT = Path(__file__).resolve().parents[2]


class Residual(nn.Module):
    """A block with an addition."""

    def __init__(self, before, after):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, padding=1)
        self.skip = nn.Conv2d(before, after, 1)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        return torch.relu(self.second(y) + self.skip(x))


class Attention(nn.Module):
    """One layer of a transformer."""

    def __init__(self, size=16, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, x):
        batch, steps, size = x.shape
        split = self.qkv(self.norm1(x)).reshape(batch, steps, 3, self.heads, size // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, steps, size))
        return x + self.mlp(self.norm2(x))


def convnet():
    blocks = [Residual(4, 4), Residual(4, 8), Residual(8, 16), Residual(16, 16)]
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3)]
    return nn.Sequential(nn.Conv2d(3, 4, 3), *blocks, nn.MaxPool2d(2), *pool), (2, 3, 12, 12)


def transformer():
    return nn.Sequential(*[Attention() for _ in range(5)], nn.LayerNorm(16)), (2, 6, 16)


def mixed():
    """Operators without a plain form."""

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 6, batch_first=True)
            self.table = nn.Parameter(torch.randn(1, 6))

        def forward(self, x):
            y = self.lstm(x)[0] + self.table
            y = nn.functional.interpolate(y.unsqueeze(1), scale_factor=2, mode="bilinear")
            return nn.functional.pad(y, (1, 2, 0, 1), mode="reflect").cumsum(-1) * self.table.sum()

    return Mixed(), (2, 5, 4)


def exported(network, shape):
    """A network as ONNX, with a batch of any size."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network.eval(),
            (torch.randn(shape),),
            buffer,
            input_names=["x"],
            dynamic_axes={"x": {0: "n"}},
            opset_version=17,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
            dynamo=False,
        )
    return buffer.getvalue()


def loaded(path):
    """The module of generated code."""
    spec = importlib.util.spec_from_file_location("generated_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_clean(path):
    """Check that our linter finds nothing in generated code."""
    ruff = [Path(sys.executable).with_name("ruff"), "check", "--config", ROOT / "pyproject.toml"]
    checked = subprocess.run(
        [*ruff, "--ignore", "INP001", path], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("make", [convnet, transformer, mixed])
def test_code_is_clean_and_computes_the_same(make, tmp_path):
    network, shape = make()
    x = torch.randn(shape)
    with torch.no_grad():
        network(x)
    network.eval()
    path = write_code(exported(network, shape), tmp_path)
    assert_clean(path)
    module = loaded(path).load()
    wanted = network(x).detach().numpy()
    np.testing.assert_allclose(module(flow.tensor(x.numpy())).numpy(), wanted, rtol=1e-4, atol=1e-5)
    other = torch.randn(5, *shape[1:])
    wanted = network(other).detach().numpy()
    output = module(flow.tensor(other.numpy())).numpy()
    np.testing.assert_allclose(output, wanted, rtol=1e-4, atol=1e-5)


def test_repeated_blocks_are_classes(tmp_path):
    text = write_code(exported(*convnet()), tmp_path).read_text()
    assert '"""A block that occurs 4 times: conv, norm."""' in text
    assert "Block1(4, 8)" in text
    text = write_code(exported(*transformer()), tmp_path).read_text()
    assert '"""A block that occurs 5 times' in text
    assert "nn.Linear(16, 48)" in text
    assert '"Shape"' not in text


def test_parameters_have_the_numbers_of_the_model(tmp_path):
    network, shape = transformer()
    model = loaded(write_code(exported(network, shape), tmp_path)).load()
    count = sum(p.numel() for p in network.parameters())
    assert sum(p.numel() for p in model.parameters()) == count


@pytest.mark.parametrize("opset", [12, 17])
def test_dimensions_of_size_1_are_squeezed(opset, tmp_path):
    source = flow.nn.Sequential(flow.nn.AdaptiveAvgPool2d(1), flow.nn.Flatten())
    x = flow.randn(2, 3, 4, 4)
    proto = flow.onnx.export(source, x, opset_version=opset)
    path = write_code(proto, tmp_path)
    assert ".squeeze((2, 3))" in path.read_text()
    np.testing.assert_allclose(loaded(path).load()(x).numpy(), source(x).numpy(), rtol=1e-6)


WEIGHTS = "float[2,2] w = {0.5, -1.0, 2.0, 0.25}, float[2] v = {1.0, 2.0}"
# Models with subgraphs: the graph, and what its code must contain.
SUBGRAPHS = {
    "If": (
        """g (float[n,2] x, bool c) => (float[n,2] y, float[n,2] z) <WEIGHTS> {
            h = MatMul(x, w)
            y = If (c) <
                then_branch = t () => (float[n,2] a) { s = Neg(h) a = Add(s, v) },
                else_branch = e () => (float[n,2] b) { b = Mul(x, v) }
            >
            z = Relu(y)
        }""",
        "= self.branch1(z, self.weight1) if y else self.branch2(self.weight2, x)",
    ),
    "Loop": (
        """g (float[n,2] x, bool c) => (float[n,2] y, float[3,n,2] rows) <WEIGHTS> {
            trips = Constant<value = int64 {3}>()
            last, rows = Loop (trips, c, x) <body = body (int64 i, bool go, float[n,2] s)
                => (bool go2, float[n,2] s2, float[n,2] row) {
                go2 = Identity(go)
                f = Cast<to=1>(i)
                p = MatMul(s, w)
                s2 = Add(p, f)
                row = Mul(x, s2)
            }>
            y = Mul(last, v)
        }""",
        "loop(self.body, np.array(3), y, [x], around=[self.weight1, x], rows=1)",
    ),
    "Loop of numbers on the host": (
        """g (float[n,2] x, bool c) => (float[n,2] y) <WEIGHTS> {
            zero, trips = Split <axis = 0>(pair)
            count = Loop (trips, c, zero) <body = body (int64 i, bool go, int64[1] s)
                => (bool go2, int64[1] s2) { go2 = Identity(go) s2 = Add(s, one) }>
            f = Cast<to=1>(count)
            y = Mul(x, f)
        }""".replace("<WEIGHTS>", "<int64[2] pair = {0, 4}, int64[1] one = {1}>"),
        "loop(self.body",
    ),
    "Scan": (
        """g (float[n,2] x, bool c) => (float[2] y, float[n,2] sums) <WEIGHTS> {
            y, sums = Scan (v, x) <num_scan_inputs = 1, scan_input_directions = [1],
                body = body (float[2] t, float[2] row) => (float[2] t2, float[2] copy) {
                t2 = Add(t, row)
                copy = Identity(t2)
            }>
        }""",
        "rows=1, scan_input_directions=[1])",
    ),
    "If in a Loop": (
        """g (float[n,2] x, bool c) => (float[n,2] y) <WEIGHTS> {
            trips = Constant<value = int64 {4}>()
            y = Loop (trips, , x) <body = body (int64 i, bool go, float[n,2] s)
                => (bool go2, float[n,2] s2) {
                go2 = Identity(go)
                small = Less(i, two)
                s2 = If (small) <
                    then_branch = t () => (float[n,2] a) { a = MatMul(s, w) },
                    else_branch = e () => (float[n,2] b) { b = Sub(s, x) }
                >
            }>
        }""".replace("<WEIGHTS>", "<int64 two = {2}, WEIGHTS>"),
        "np.array(4), None, [",
    ),
}


@pytest.mark.parametrize("name", SUBGRAPHS)
@pytest.mark.parametrize("condition", [True, False])
def test_subgraphs_are_modules(name, condition, tmp_path):
    graph, expression = SUBGRAPHS[name]
    model = parsed(graph.replace("WEIGHTS", WEIGHTS))
    path = write_code(model, tmp_path)
    assert expression in path.read_text()
    assert_clean(path)
    arguments = flow.randn(3, 2), flow.tensor(condition)
    both = [loaded(path).load()(*arguments), from_onnx(model)(*arguments)]
    mine, theirs = ([as_host(result) for result in flat(results)] for results in both)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


# Bodies that read one row of `x`, which may have none.
ROWS_OF_X = {
    "Loop": """rows = Loop (trips, go, ) <body = body (int64 i, bool g) => (bool g2, float[k] y) {
        g2 = Identity(g) r = Gather(x, i) y = Add(r, r)
    }>""",
    "Loop over columns": """rows = Loop (trips, go, ) <body = body (int64 i, bool g)
        => (bool g2, double[k, m] y) {
        g2 = Identity(g) r = Gather(x, i) t = Transpose(x) u = MatMul(t, x) v = Add(u, r)
        y = Cast<to = 11>(v)
    }>""",
    "Loop with rows of that size": """rows = Loop (trips, go, ) <body = body (int64 i, bool g)
        => (bool g2, float[k, n] y) {
        g2 = Identity(g) r = Gather(x, i) t = Add(x, r) y = Transpose(t)
    }>""",
}


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("kind", ROWS_OF_X)
def test_loops_without_steps_have_rows_of_the_right_type(kind, count, tmp_path):
    model = parsed(f"""g (float[n,k] x) => (float rows) {{
        sizes = Shape(x) zero = Constant<value = int64 {{0}}>() trips = Gather(sizes, zero)
        go = Constant<value = bool {{1}}>() {ROWS_OF_X[kind]}
    }}""")
    rows = loaded(write_code(model, tmp_path)).load()(flow.randn(count, 4))
    wanted = {"Loop": (count, 4), "Loop over columns": (count, 4, 4)}
    assert tuple(rows.shape) == wanted.get(kind, (count, 4, count))
    assert rows.dtype is (flow.float64 if kind == "Loop over columns" else flow.float32)


def flat(results):
    """One result or several as a list."""
    return list(results) if isinstance(results, tuple) else [results]


def test_weights_that_a_branch_reads_too_are_stored_once(tmp_path):
    graph, _ = SUBGRAPHS["If in a Loop"]
    model = parsed(graph.replace("WEIGHTS", WEIGHTS))
    state = loaded(write_code(model, tmp_path)).load().state_dict()
    assert [tuple(tensor.shape) for tensor in state.values()] == [(2, 2)]


def test_functions_of_the_model_are_modules(tmp_path):
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["": 17, "own": 1]>
        g (float[n] x) => (float[n] y) { h = own.twice(x) y = own.twice(h) }
        <domain: "own", opset_import: ["": 17]>
        twice (a) => (b) { s = Add(a, a) b = Relu(s) }""")
    path = write_code(model, tmp_path)
    assert (
        "self.function2(self.function1(x))" in path.read_text() or "function1" in path.read_text()
    )
    x = flow.tensor([-1.0, 2.0])
    assert loaded(path).load()(x).tolist() == [0.0, 8.0]


def test_scan_of_the_first_operator_sets_is_refused(tmp_path):
    body = onnx.parser.parse_graph("b (float t, float r) => (float t2) { t2 = Add(t, r) }")
    node = onnx.helper.make_node("Scan", ["", "s", "x"], ["y"], body=body, num_scan_inputs=1)
    kind = onnx.TensorProto.FLOAT
    inputs = [onnx.helper.make_tensor_value_info(n, kind, None) for n in ("s", "x")]
    outputs = [onnx.helper.make_tensor_value_info("y", kind, None)]
    graph = onnx.helper.make_graph([node], "g", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 8)])
    with pytest.raises(NotImplementedError, match=r"Scan \(y\)"):
        write_code(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_command_line(tmp_path, capsys):
    path = tmp_path / "model.onnx"
    path.write_bytes(exported(*convnet()))
    assert main(["code", str(path), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "model.py").exists()
    assert main(["import", str(path), str(tmp_path / "weights")]) == 0
    assert "x -> " in capsys.readouterr().out
    assert "1.weight" not in flow.load(tmp_path / "weights")
    assert "0.weight" in flow.load(tmp_path / "weights")
    path.write_bytes(b"nothing")
    assert main(["import", str(path)]) == 1
    assert "error: " in capsys.readouterr().err
