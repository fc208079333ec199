"""Imported models as modules: state, modes, training, graphs, global tensors, subgraphs."""

from __future__ import annotations

import copy
import io
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn as torch_nn

import oneflow as flow
from oneflow import nn
from oneflow_onnx.oneflow2onnx.capturing import capture_call
from oneflow_onnx.x2oneflow.onnx2flow import (
    from_onnx,
    from_paddle,
    from_pytorch,
    from_tensorflow2,
)
from tests.onnx.models import parsed


class Evaluation(nn.Graph):
    """A graph that calls a module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def build(self, *inputs):
        return self.module(*inputs)


def convnet():
    """A network with every kind of state."""
    return torch_nn.Sequential(
        torch_nn.Conv2d(3, 8, 3, padding=1),
        torch_nn.BatchNorm2d(8),
        torch_nn.ReLU(),
        torch_nn.MaxPool2d(2),
        torch_nn.AdaptiveAvgPool2d(1),
        torch_nn.Flatten(),
        torch_nn.Linear(8, 1),
    )


@pytest.fixture
def imported():
    """The network in PyTorch and imported, and a batch."""
    network = convnet()
    x = np.random.randn(4, 3, 8, 8).astype(np.float32)
    with torch.no_grad():
        network(torch.tensor(x))  # Statistics that differ from the initial ones.
    return network, from_pytorch(network, flow.tensor(x)), x


def test_state_has_the_names_and_values_of_the_source(imported):
    network, module, _ = imported
    wanted = {n: t.numpy() for n, t in network.state_dict().items() if "num_batches" not in n}
    state = module.state_dict()
    assert state.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(state[name].numpy(), value)
    assert {n for n, _ in module.named_parameters()} == {n for n, _ in network.named_parameters()}


def test_outputs_eagerly_in_a_graph_and_on_a_placement(imported):
    network, module, x = imported
    wanted = network.eval()(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(module(flow.tensor(x)).numpy(), wanted, atol=1e-6)
    np.testing.assert_allclose(Evaluation(module)(flow.tensor(x)).numpy(), wanted, atol=1e-6)
    placement = flow.placement("cpu", [0, 1])
    module.to_global(placement, flow.sbp.broadcast)
    split = flow.tensor(x, placement=placement, sbp=flow.sbp.split(0))
    np.testing.assert_allclose(module(split).numpy(), wanted, atol=1e-6)


def test_training_follows_pytorch(imported):
    network, module, x = imported
    ours = flow.optim.SGD(module.parameters(), lr=0.1)
    theirs = torch.optim.SGD(network.parameters(), lr=0.1)
    module.train()
    network.train()
    for _ in range(3):
        ours.zero_grad()
        theirs.zero_grad()
        loss = (module(flow.tensor(x)) ** 2).mean()
        wanted = (network(torch.tensor(x)) ** 2).mean()
        loss.backward()
        wanted.backward()
        ours.step()
        theirs.step()
        assert loss.item() == pytest.approx(wanted.item(), rel=1e-4)
    for name, value in network.state_dict().items():
        if "num_batches" not in name:
            np.testing.assert_allclose(module.state_dict()[name].numpy(), value.numpy(), atol=1e-5)


def test_state_is_saved_and_loaded(imported, tmp_path):
    _, module, x = imported
    flow.save(module.state_dict(), tmp_path / "state")
    other = from_pytorch(convnet(), flow.tensor(x))
    other.load_state_dict(flow.load(tmp_path / "state"))
    wanted = module(flow.tensor(x)).numpy()
    np.testing.assert_allclose(other(flow.tensor(x)).numpy(), wanted, atol=1e-6)


def test_shapes_computed_from_shapes_stay_concrete_in_a_graph():
    """PyTorch's export of ``x.reshape(x.shape[0], -1)`` with a symbolic batch."""
    model = parsed("""g (float[n, 2, 3] x) => (float[n, k] y) {
        shape = Shape(x)
        zero = Constant <value = int64[1] {0}> ()
        n = Gather(shape, zero)
        rest = Constant <value = int64[1] {-1}> ()
        target = Concat <axis = 0> (n, rest)
        y = Reshape(x, target)
    }""")
    module = from_onnx(model)
    for batch in (2, 5):
        x = flow.ones(batch, 2, 3)
        assert module(x).shape == (batch, 6)
        assert Evaluation(module)(x).shape == (batch, 6)


def test_tied_weights_stay_one_parameter():
    model = parsed("""g (int64[n] i) => (float[n, 3] y) <float[3, 2] table = {1,2,3,4,5,6}> {
        rows = Gather(table, i)
        turned = Transpose(table)
        y = MatMul(rows, turned)
    }""")
    module = from_onnx(model)
    assert [name for name, _ in module.named_parameters()] == ["table"]
    module(flow.tensor([0, 2])).sum().backward()
    assert module.get_parameter("table").grad is not None


def test_names_that_collide_with_attributes_are_extended():
    model = parsed("g (float[2] x) => (float[2] y) { t = Mul(x, f) u = Add(t, a) y = Add(u, b) }")
    names = {"f": "forward", "a": "a", "b": "a.b"}
    for node in model.graph.node:
        node.input[1] = names[node.input[1]]
    for number, name in enumerate(names.values()):
        array = np.array([number, 2], np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    module = from_onnx(model)
    assert {name for name, _ in module.named_parameters()} == {"forward_", "a", "a_.b"}
    assert module(flow.tensor([1.0, 1.0])).tolist() == [3.0, 6.0]


def test_single_numbers_in_arithmetic_are_constants():
    model = parsed(
        "g (float[2] x) => (float[2] y) <float[1] half = {0.5}, float low = {0}> "
        "{ t = Mul(x, half) y = Clip(t, low) }"
    )
    assert list(from_onnx(model).state_dict()) == []


def test_functions_of_the_model_with_attributes():
    model = parsed(
        """g (float[n] x) => (float[n] y) { y = local.scaled <factor = 3.0> (x) }
        <domain: "local", opset_import: ["": 21]>
        scaled <factor> (a) => (b) {
            k = Constant <value_float: float = @factor> ()
            b = Mul(a, k)
        }""",
        more='"local": 1',
    )
    assert from_onnx(model)(flow.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]


def test_branches_and_loops_read_values_around_them():
    model = parsed("""g (float[n] x, bool c, int64 k) => (float[n] y, float[m, n] all) {
        picked = If (c) <
            then_branch = t () => (float[n] a) { a = Add(x, x) },
            else_branch = e () => (float[n] b) { b = Neg(x) }
        >
        yes = Constant <value = bool {1}> ()
        y, all = Loop (k, yes, picked) <
            body = l (int64 i, bool go, float[n] s) => (bool on, float[n] out, float[n] seen) {
                on = Identity(go)
                out = Add(s, x)
                seen = Identity(out)
            }
        >
    }""")
    module = from_onnx(model)
    x = flow.tensor([1.0, 2.0])
    y, every = module(x, flow.tensor(False), flow.tensor(3))
    assert y.tolist() == [2.0, 4.0]
    assert every.tolist() == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    y, every = module(c=flow.tensor(True), x=x, k=flow.tensor(0))
    assert y.tolist() == [2.0, 4.0]
    assert every.shape == (0, 2)


def test_loops_without_steps_give_rows_of_their_type():
    model = parsed("""g (float[n, 3] x, float[m] z, int64 k) => (int64[a, b, c] rows, float[d] y) {
        rows = Loop (k, ) <
            body = l (int64 i, bool go) => (bool on, int64[n, w] row) {
                on = Identity(go)
                pair = Concat <axis = 1> (x, x)
                row = Cast <to = 7> (pair)
            }
        >
        start = Constant <value = float {0}> ()
        last, y = Scan <
            num_scan_inputs = 1,
            body = s (float total, float item) => (float next, float seen) {
                next = Add(total, item)
                seen = Identity(next)
            }
        > (start, z)
    }""")
    rows, totals = from_onnx(model)(flow.ones(2, 3), flow.ones(0), flow.tensor(0))
    assert (rows.shape, rows.dtype) == ((0, 2, 6), flow.int64)
    assert (totals.shape, totals.dtype) == ((0,), flow.float32)


def test_float8_weights_are_dequantised():
    weight = np.array([[1.0, -2.0], [0.5, 4.0]], np.float32)
    stored = helper.make_tensor("w", TensorProto.FLOAT8E4M3FN, [2, 2], weight.reshape(-1))
    scale = numpy_helper.from_array(np.float32(2), "s")
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"]),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 2]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], [stored, scale])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    x = flow.ones(1, 2)
    assert from_onnx(model)(x).tolist() == [[3.0, 4.0]]
    assert Evaluation(from_onnx(model))(x).tolist() == [[3.0, 4.0]]


def test_external_data_beside_the_file(tmp_path):
    weight = np.arange(1000, dtype=np.float32)
    model = parsed("g (float[1000] x) => (float[1000] y) { y = Add(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path), save_as_external_data=True, location="data", size_threshold=0)
    module = from_onnx(path, model_weight_dir=tmp_path / "weights")
    np.testing.assert_array_equal(module(flow.zeros(1000)).numpy(), weight)
    np.testing.assert_array_equal(flow.load(tmp_path / "weights")["w"].numpy(), weight)


def test_model_in_bytes():
    buffer = io.BytesIO()
    onnx.save(parsed("g (float[n] x) => (float[n] y) { y = Relu(x) }"), buffer)
    assert from_onnx(buffer.getvalue())(flow.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("converter", [from_pytorch, from_tensorflow2, from_paddle])
def test_missing_frameworks_are_named(converter, monkeypatch):
    for name in ("torch", "tensorflow", "paddle"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=f"`{converter.__name__}` needs the package"):
        converter(None, flow.ones(1))


def test_importing_needs_no_other_framework():
    code = (
        "import sys, oneflow_onnx.x2oneflow.onnx2flow;"
        "assert not {'torch', 'tensorflow', 'paddle'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_a_graph_of_an_import_computes_what_one_of_the_network_does():
    """Limits are numbers of the program, pools pad themselves, dense layers are one operator."""
    network = flow.nn.Sequential(
        flow.nn.Conv2d(3, 4, 3, padding=1),
        flow.nn.ReLU6(),
        flow.nn.MaxPool2d(3, 2, 1),
        flow.nn.AvgPool2d(3, 2, 1),
        flow.nn.Flatten(),
        flow.nn.Linear(36, 5),
    ).eval()
    x = flow.randn(2, 3, 12, 12)
    imported = from_onnx(flow.onnx.export(network, x, opset_version=13))
    operators, inputs = zip(*(_recorded(model, x) for model in (network, imported)), strict=True)
    assert inputs[1] == inputs[0] == {"argument": 1, "parameter": 4}
    assert operators[1].pop("full_float") == operators[1].pop("maximum") * 2
    assert operators[1].pop("minimum") == operators[0].pop("hardtanh")
    assert operators[1] == operators[0]


def _recorded(module, x):
    """The numbers of each operator in a graph of a module, and of each kind of input."""

    step = capture_call(Evaluation(module), (x,), {})
    operators = Counter(
        instruction.operation.primitive.name for instruction in step.program.instructions
    )
    return operators, Counter(step_input.kind for step_input in step.inputs)


TRIANGLE = np.tril(np.ones((3, 3), np.float32))
LARGE = (
    "a = Constant <value = int64[2] {0, 0}> () b = Constant <value = int64[2] {3, 3}> ()"
    " v = Slice(w, a, b) z = Constant <value = float {-1000000.0}> () y = Where(v, x, z)"
)
ADDED = np.where(TRIANGLE, 0, -np.inf).astype(np.float32)


@pytest.mark.parametrize(
    ("array", "body", "kind"),
    [
        (ADDED, "y = Add(x, w)", "buffer"),
        (np.where(TRIANGLE, 0, np.finfo(np.float32).min), "y = Add(w, x)", "buffer"),
        (TRIANGLE, "y = Mul(x, w)", "buffer"),
        (ADDED[None], "v = Squeeze(w) y = Add(x, v)", "buffer"),
        (np.tril(np.ones((40, 40), bool)), LARGE, "buffer"),
        (np.where(TRIANGLE, 0, -3), "y = Add(x, w)", "parameter"),
        (np.ones((3, 3)), "y = Mul(x, w)", "parameter"),
        (np.zeros((3, 3)), "y = Add(x, w)", "parameter"),
        # A layer that begins as the identity is trained all the same.
        (np.eye(3), "y = MatMul(x, w)", "parameter"),
    ],
)
def test_masks_are_buffers(array, body, kind):
    """They move and are saved with the model, and no optimizer changes them."""
    model = parsed(f"g (float[3, 3] x) => (float[3, 3] y) {{ {body} }}")
    kept = array if array.dtype == bool else array.astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(kept, "w"))
    module = from_onnx(model)
    names = {"parameter": module.named_parameters(), "buffer": module.named_buffers()}
    assert {which: [name for name, _ in found] for which, found in names.items()} == {
        "parameter": [],
        "buffer": [],
        kind: ["w"],
    }
    assert module(flow.ones(3, 3)).shape == (3, 3)


@pytest.mark.parametrize(("name", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_layers_with_lengths_are_recorded(name, gates):
    """Lengths are operands, not numbers that a graph would have to read."""
    model = parsed(
        f"g (float[t, n, 3] x, int32[n] lengths) => (float[t, 1, n, 2] y, float[1, n, 2] h)"
        f" {{ y, h = {name} <hidden_size = 2> (x, w, r, , lengths) }}"
    )
    random = np.random.default_rng(0)
    for weight, width in (("w", 3), ("r", 2)):
        values = random.standard_normal((1, 2 * gates, width)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(values, weight))
    module = from_onnx(model)
    graph = Evaluation(module)
    x = flow.tensor(random.standard_normal((5, 3, 3)).astype(np.float32))
    for lengths in ([5, 2, 1], [1, 5, 3]):
        given = flow.tensor(lengths, dtype=flow.int32)
        eager, recorded = module(x, given), graph(x, given)
        for one, other in zip(eager, recorded, strict=True):
            np.testing.assert_allclose(other.numpy(), one.numpy(), atol=1e-6)
        ends = eager[0].numpy()[np.array(lengths) - 1, 0, np.arange(3)]
        np.testing.assert_allclose(eager[1].numpy()[0], ends, atol=1e-6)
        assert not eager[0].numpy()[lengths[1] :, 0, 1].any()


def test_literals_are_not_trained_where_weights_are_initializers():
    """Old exporters of Paddle keep weights in nodes, too: then they are all there is."""
    body = "{ c = Constant <value = float[2] {0.5, 2.0}> () v = Mul(x, c) y = Add(v, w) }"
    signature = "(float[n, 2] x) => (float[n, 2] y)"
    module = from_onnx(parsed(f"g {signature} <float[2] w = {{1.0, 2.0}}> {body}"))
    assert [name for name, _ in module.named_parameters()] == ["w"]
    in_nodes = body.replace("v, w", "v, c")
    module = from_onnx(parsed(f"g {signature} {in_nodes}"))
    assert [name for name, _ in module.named_parameters()] == ["c"]


class Positions(torch_nn.Module):
    """A table of positions that is no parameter, and a parameter that is one number."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(1, 4, 6))
        self.register_buffer("again", self.table.clone())
        self.scale = torch_nn.Parameter(torch.tensor([0.5]))
        self.layer = torch_nn.Linear(6, 2)

    def forward(self, x):
        return self.layer(x + self.table + self.again) * self.scale


def test_from_pytorch_tells_buffers_from_parameters():
    network = Positions()
    module = from_pytorch(network, flow.zeros(1, 4, 6))
    assert {n for n, _ in module.named_parameters()} == {n for n, _ in network.named_parameters()}
    assert {name for name, _ in module.named_buffers()} == {"table", "again"}


def test_equal_weights_of_pytorch_are_no_tied_ones():
    """Encoders copy a layer: PyTorch's exporter writes equal tensors once, tied ones too."""
    layer = torch_nn.Linear(8, 8)
    network = torch_nn.Sequential(layer, copy.deepcopy(layer), torch_nn.Linear(8, 8, bias=False))
    network[2].weight = network[1].weight
    module = from_pytorch(network, flow.zeros(1, 4, 8))
    shapes = {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    assert {name: tuple(parameter.shape) for name, parameter in module.named_parameters()} == shapes
    x = flow.randn(2, 4, 8)
    with torch.no_grad():
        wanted = network.eval()(torch.from_numpy(x.numpy()))
    np.testing.assert_allclose(module(x).detach().numpy(), wanted.numpy(), atol=1e-5)


def test_metadata_that_is_no_list_of_buffers():
    model = parsed("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    for text in ('{"a": 1}', "[1]", "[" * 100_000):
        onnx.helper.set_model_props(model, {"oneflow.buffers": text})
        with pytest.raises(ValueError, match=r"`oneflow.buffers` must be a list of names"):
            from_onnx(model)


def test_from_pytorch_says_what_dynamo_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"dynamo=True\)` needs .* pip install onnxscript"
    ):
        from_pytorch(torch_nn.Linear(4, 2), flow.zeros(1, 4), dynamo=True)


@pytest.mark.parametrize("size", [1, 2])
def test_from_pytorch_by_dynamo(size):
    """Names stay, batch normalisation stays whole, and the batch is free."""
    pytest.importorskip("onnxscript")
    network = convnet()
    module = from_pytorch(network, np.zeros((size, 3, 8, 8), np.float32), dynamo=True)
    assert {n for n, _ in module.named_parameters()} == {n for n, _ in network.named_parameters()}
    for mode in (False, True):
        x = torch.randn(4, 3, 8, 8)
        expected = network.train(mode)(x).detach().numpy()
        output = module.train(mode)(flow.tensor(x.numpy())).detach().numpy()
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
