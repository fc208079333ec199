"""The features of an export: names, symbolic sizes, opsets, files, and its errors."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import onnx
import pytest

import oneflow as flow
from oneflow import nn
from oneflow_onnx.oneflow2onnx import util
from oneflow_onnx.oneflow2onnx.errors import OpsetError, UnsupportedOperatorsError
from oneflow_onnx.oneflow2onnx.flow2onnx import Export, ProcessFlowGraph
from oneflow_onnx.oneflow2onnx.handler import flow_op
from tests.onnx.models import small_network
from tests.onnx.runtime import assert_exported, exported, operators_of, run, session_of


class Wrapped(nn.Graph):
    """A graph around a module."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def build(self, x):
        return self.module(x)


class Applied(nn.Module):
    """A module that applies a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


# --- names


def test_parameters_keep_their_names():
    model = small_network()
    proto = assert_exported(model, flow.randn(2, 3, 8, 8))
    names = {initializer.name for initializer in proto.graph.initializer}
    assert names == {n for n in model.state_dict() if "num_batches" not in n}


def test_inputs_are_named_after_parameters_of_forward():
    def scaled(value, factor, *rest):
        return value * factor + rest[0], value

    x = flow.randn(3)
    proto = assert_exported(scaled, x, flow.randn(3), flow.randn(3))
    assert [value.name for value in proto.graph.input] == ["value", "factor", "input_2"]
    assert [value.name for value in proto.graph.output] == ["output_0", "output_1"]


def test_given_names():
    proto = exported(nn.Linear(2, 3), [flow.randn(1, 2)], input_names=["x"], output_names=["y"])
    assert (proto.graph.input[0].name, proto.graph.output[0].name) == ("x", "y")


@pytest.mark.parametrize(
    "names",
    [
        {"input_names": ["a", "b"]},
        {"output_names": ["a", "b"]},
        {"output_names": ["input"]},
    ],
)
def test_names_that_do_not_fit(names):
    with pytest.raises(ValueError, match="names"):
        exported(nn.Linear(2, 3), [flow.randn(1, 2)], **names)


def test_shared_parameters_are_written_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    proto = assert_exported(Tied(), flow.tensor([[1, 2, 6]]))
    assert [initializer.name for initializer in proto.graph.initializer] == ["embedding.weight"]


def test_results_that_are_arguments_or_parameters():
    class Echo(nn.Linear):
        def forward(self, x):
            return x, x, self.weight, self.bias

    proto = assert_exported(Echo(2, 2), flow.randn(2))
    assert len({value.name for value in proto.graph.output}) == 4


def twice(x):
    return 2 * x


@pytest.mark.parametrize(
    ("model", "name"),
    [(nn.ReLU(), "ReLU"), (twice, "twice"), (lambda x: x + 1, "function")],
)
def test_the_model_is_named(model, name):
    assert exported(model, [flow.randn(2)]).graph.name == name


# --- opsets


@pytest.mark.parametrize(
    ("opset", "operator"), [(10, "Erf"), (17, "LayerNormalization"), (20, "Gelu")]
)
def test_composites_stay_composite_where_the_opset_has_them(opset, operator):
    model = nn.Sequential(nn.LayerNorm(4), nn.GELU()).eval()
    assert operator in operators_of(assert_exported(model, flow.randn(2, 4), opset=opset))


def test_group_normalization_and_attention_in_later_opsets():
    model = nn.GroupNorm(2, 4).eval()
    model.weight.data.copy_(flow.tensor([1.0, 2.0, 3.0, 4.0]))
    x = flow.randn(2, 4, 3, 3)
    assert operators_of(assert_exported(model, x, opset=21)) == ["GroupNormalization"]
    assert "InstanceNormalization" in operators_of(assert_exported(model, x, opset=17))

    def attention(q):
        return nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    q = flow.randn(2, 2, 5, 4)
    assert "Attention" in operators_of(assert_exported(attention, q, opset=23))
    assert "Softmax" in operators_of(assert_exported(attention, q))


@pytest.mark.parametrize("dtype", [flow.float32, flow.float16])
def test_rms_normalization_in_later_opsets(dtype):
    model = nn.RMSNorm([3, 4], eps=1e-5).to(dtype)
    model.weight.data.copy_(flow.arange(12).reshape(3, 4).to(dtype))
    x = flow.randn(2, 3, 4).to(dtype)
    later, earlier = (assert_exported(model, x, opset=n, tolerance=2e-3) for n in (23, 17))
    assert "RMSNormalization" in operators_of(later)
    assert "Sqrt" not in operators_of(later)
    assert "Sqrt" in operators_of(earlier)
    # Not a normalisation: the root is that of another tensor's mean.
    y = flow.randn(2, 4)
    product = Applied(lambda x: x * (flow.rsqrt((y * y).mean(-1, keepdim=True) + 1e-5)) * y[0])
    assert "RMSNormalization" not in operators_of(assert_exported(product, y, opset=23))


@pytest.mark.parametrize("bits", [8, 4])
def test_fake_quantization_is_quantization(bits):
    x = flow.randn(3, 2, 40) * 3

    class Quantized(nn.Module):
        def __init__(self, per_layer):
            super().__init__()
            self.observer = nn.MinMaxObserver("google", bits, per_layer_quantization=per_layer)
            self.quantizer = nn.FakeQuantization("google", bits)

        def forward(self, x):
            scale, zero_point = self.observer(x)
            return self.quantizer(x, scale * 0.7, zero_point)

    operators = ["QuantizeLinear", "DequantizeLinear"]
    assert operators_of(assert_exported(Quantized(True), x))[-2:] == operators
    assert operators_of(assert_exported(Quantized(False), x, opset=13))[-2:] == operators
    # ONNX quantises each row from opset 13 on.
    assert "QuantizeLinear" not in operators_of(assert_exported(Quantized(False), x, opset=12))


def test_the_default_is_10_or_the_lowest_that_can_express_the_model():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flow.onnx.export(nn.ReLU(), flow.randn(2)).opset_import[0].version == 10
    with pytest.warns(UserWarning, match="opset 11"):
        proto = flow.onnx.export(Applied(lambda x: flow.cumsum(x, 0)), flow.randn(2))
    assert proto.opset_import[0].version == 11


def test_an_opset_that_is_too_low_or_unknown():
    with pytest.raises(OpsetError, match="`CumSum` needs opset 11"):
        flow.onnx.export(lambda x: flow.cumsum(x, 0), flow.randn(2), opset_version=10)
    for opset in (8, 999):
        with pytest.raises(OpsetError, match="must be from 9 to"):
            flow.onnx.export(nn.ReLU(), flow.randn(2), opset_version=opset)


# --- unsupported operators, training


def test_one_error_lists_all_unsupported_operators(tmp_path):
    draws, more = Applied(flow.poisson), Applied(flow.poisson)
    model = nn.Sequential(draws, nn.ReLU(), more)
    with pytest.raises(UnsupportedOperatorsError) as caught:
        flow.onnx.export(model, flow.rand(3, 3), tmp_path / "model.onnx", opset_version=12)
    text = str(caught.value)
    for part in (
        "2 operators",
        "0: `random_poisson`",
        "2: `random_poisson`",
        "opset 12",
        "flow_op",
    ):
        assert part in text
    assert not list(tmp_path.iterdir())


def test_unsupported_operators_that_no_result_needs_do_not_matter():
    assert_exported(lambda x: (flow.poisson(x), x + 1)[1], flow.rand(3, 3))


def test_training_mode():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    x = flow.ones(200, 4)
    proto = flow.onnx.export(model, x, training="train", opset_version=13)
    (first,) = run(session_of(proto), [x])
    dropped = (first == 0).mean()
    assert 0.3 < dropped < 0.7
    assert model.training
    assert "Dropout" not in operators_of(flow.onnx.export(model, x))
    with pytest.raises(ValueError, match="training"):
        flow.onnx.export(model, x, training="sometimes")


# Random numbers that ONNX draws, and their mean, or median.
DISTRIBUTIONS = {
    "exponential": (lambda x: x.exponential_(2.0), np.mean, 0.5),
    "geometric": (lambda x: x.geometric_(0.25), np.mean, 4.0),
    "cauchy": (lambda x: x.cauchy_(3.0, 0.5), np.median, 3.0),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_are_kept(name):
    draw, middle, wanted = DISTRIBUTIONS[name]
    session = session_of(exported(lambda x: x + draw(flow.empty(4096)), [flow.zeros(1)]))
    (drawn,) = run(session, [flow.zeros(1)])
    assert middle(drawn) == pytest.approx(wanted, rel=0.15)


def test_permutations_are_kept():
    session = session_of(exported(lambda x: x + flow.randperm(50), [flow.zeros(1).long()]))
    (drawn,) = run(session, [flow.zeros(1).long()])
    assert sorted(drawn) == list(range(50)) != drawn.tolist()


def test_a_training_graph_is_exported_without_its_backward_pass():
    class Train(nn.Graph):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)
            self.add_optimizer(flow.optim.SGD(self.layer.parameters(), lr=0.1))

        def build(self, x):
            loss = self.layer(x).sum()
            loss.backward()
            return loss

    graph, x = Train(), flow.randn(2, 3)
    proto = exported(graph, [x])
    weight, bias = graph.layer.weight.numpy(), graph.layer.bias.numpy()
    (loss,) = run(session_of(proto), [x])
    np.testing.assert_allclose(loss, (x.numpy() @ weight.T + bias).sum(), rtol=1e-5)
    graph(x)


def test_what_is_not_a_model():
    with pytest.raises(TypeError, match=r"must be an `nn.Graph`"):
        flow.onnx.export(3, flow.randn(2))


# --- dtypes


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_float_types(dtype):
    kind = getattr(flow, dtype)
    # ONNX Runtime convolves no float64.
    layers = [nn.Conv2d(2, 3, 3), nn.GELU()] if dtype == "float16" else [nn.Tanh()]
    model = nn.Sequential(*layers, nn.Softmax(1), nn.Flatten()).to(kind).eval()
    tolerance = 2e-2 if dtype == "float16" else 1e-7
    assert_exported(model, flow.randn(2, 2, 5, 5).to(kind), tolerance=tolerance)


def test_half_precision_beside_wider_numbers():
    class Scaled(nn.Module):
        def forward(self, x, scale):
            return (x * scale, x / scale, flow.addmm(x, x, x, alpha=0.3))

    x = flow.tensor([[1.0, 2.0], [-3.0, 0.1]]).half()
    assert_exported(Scaled(), x, flow.tensor(0.9999), tolerance=1e-3)


def test_bfloat16_weights_are_stored_as_such():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU()).to(flow.bfloat16)
    proto = exported(model, [flow.randn(2, 4).to(flow.bfloat16)])
    assert {initializer.data_type for initializer in proto.graph.initializer} == {
        onnx.TensorProto.BFLOAT16
    }


def test_integer_weights():
    table = flow.tensor(np.arange(12, dtype=np.int8).reshape(4, 3))

    class Lookup(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", table)

        def forward(self, index):
            return self.table[index]

    proto = assert_exported(Lookup(), flow.tensor([3, 0, -1]))
    assert proto.graph.initializer[0].data_type == onnx.TensorProto.INT8


# --- the functions of oneflow_onnx


def test_convert_to_onnx_and_check(tmp_path, monkeypatch):
    graph = Wrapped(small_network())
    with pytest.raises(RuntimeError, match="was not called yet"):
        util.export_onnx_model(graph, onnx_model_path=tmp_path)
    graph._compile(flow.randn(2, 3, 8, 8))
    util.convert_to_onnx_and_check(graph, onnx_model_path=tmp_path, input_tensor_range=[-1, 1])
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    call = util._call
    monkeypatch.setattr(util, "_call", lambda *given: [output + 1 for output in call(*given)])
    with pytest.raises(AssertionError, match="numbers differ"):
        util.convert_to_onnx_and_check(graph, onnx_model_path=tmp_path)


def test_weights_from_a_folder(tmp_path):
    source, graph = Wrapped(nn.Linear(3, 2)), Wrapped(nn.Linear(3, 2))
    flow.save(source.state_dict(), str(tmp_path / "weights"))
    graph(flow.randn(1, 3))
    path, cleanup = util.export_onnx_model(
        graph, flow_weight_dir=tmp_path / "weights", onnx_model_path=tmp_path / "a.onnx"
    )
    stored = {initializer.name: initializer for initializer in onnx.load(path).graph.initializer}
    weight = onnx.numpy_helper.to_array(stored["module.weight"])
    np.testing.assert_array_equal(weight, source.module.weight.detach().numpy())
    cleanup()
    assert [file.name for file in tmp_path.iterdir()] == ["weights"]


def test_dynamic_batch_of_a_graph(tmp_path):
    graph = Wrapped(nn.Linear(3, 2))
    graph(flow.randn(1, 3))
    path, _ = util.export_onnx_model(
        graph, onnx_model_path=tmp_path, dynamic_batch_size=True, opset=13
    )
    x = flow.randn(5, 3)
    inputs, result = util.run_onnx(path, ["CPUExecutionProvider"], {"x": x.numpy()})
    assert list(inputs) == ["x"]
    util.compare_result(result, graph.module(x).detach().numpy())


def test_compare_result_names_what_differs():
    with pytest.raises(AssertionError, match=r"1 of 3 numbers differ(.|\n)*at \(1,\)"):
        util.compare_result(np.float32([1, 2, 3]), np.float32([1, 9, 3]), print_outlier=True)


def test_bad_arguments_of_the_functions(tmp_path):
    graph = Wrapped(nn.ReLU())
    graph(flow.randn(2))
    with pytest.raises(ValueError, match="device"):
        util.convert_to_onnx_and_check(graph, onnx_model_path=tmp_path, device="tpu")
    path, _ = util.export_onnx_model(graph, onnx_model_path=tmp_path)
    with pytest.raises(ValueError, match="increasing"):
        util.run_onnx(path, ["CPUExecutionProvider"], input_tensor_range=[1, 0])
    with pytest.raises(ValueError, match="lacks the inputs"):
        util.run_onnx(path, ["CPUExecutionProvider"], {})
    with pytest.raises(ValueError, match="Cannot find job"):
        ProcessFlowGraph(nn.ReLU(), None)
    with pytest.raises(ValueError, match="shape_override"):
        Export(graph, None, tmp_path / "x.onnx", shape_override={"z": [3]})


def test_the_signature_of_oneflow_0_3(tmp_path):
    graph = Wrapped(nn.ReLU())
    graph(flow.randn(2))
    flow.onnx.export(graph, None, tmp_path / "a.onnx", opset=11)
    assert onnx.load(tmp_path / "a.onnx").opset_import[0].version == 11


def test_continue_on_error_writes_the_rest(tmp_path):
    graph = Wrapped(nn.Sequential(nn.ReLU(), Applied(flow.poisson)))
    graph(flow.rand(2, 2))
    with pytest.warns(UserWarning, match="the file will not run"):
        Export(graph, None, tmp_path / "a.onnx", continue_on_error=True, opset=13)
    nodes = [(node.domain, node.op_type) for node in onnx.load(tmp_path / "a.onnx").graph.node]
    assert nodes[0] == ("", "Relu")
    assert nodes[-1] == ("oneflow", "random_poisson")


# --- handlers of users


@pytest.fixture
def _restored_handlers():
    before = dict(flow_op._OPSETS)
    flow_op._OPSETS.clear()
    yield
    flow_op._OPSETS.clear()
    flow_op._OPSETS.update(before)


@pytest.mark.usefixtures("_restored_handlers")
def test_a_handler_of_the_user_is_used():
    @flow_op("lgamma", flow_ibns=["x"])
    class Lgamma:
        """Stirling's formula."""

        @classmethod
        def Version_9(cls, ctx, node, factor=1.0, **kwargs):
            (x,) = node.inputs
            log = ctx.MakeNode("Log", [x])
            product = ctx.MakeNode("Mul", [x, log.output])
            return ctx.MakeNode("Sub", [product.output, x])

    @flow_op("relu", "LeakyRelu")
    class Relu:
        @classmethod
        def Version_9(cls, ctx, node, **kwargs):
            node.attrs["alpha"] = 0.5

        @classmethod
        def Version_13(cls, ctx, node, **kwargs):
            node.attrs["alpha"] = 0.25

    x = flow.tensor([-1.0, 4.0])
    for opset, alpha in ((9, 0.5), (12, 0.5), (13, 0.25)):
        proto = flow.onnx.export(nn.ReLU(), x, opset_version=opset)
        assert run(session_of(proto), [x])[0].tolist() == [-alpha, 4.0]
    proto = flow.onnx.export(lambda x: flow.lgamma(x), flow.tensor([4.0]))
    assert operators_of(proto) == ["Log", "Mul", "Sub"]
    assert set(flow_op.CreateMapping(12)) == {"lgamma", "relu"}


@pytest.mark.parametrize(("name", "error"), [("no_such_operator", ValueError), ("relu", TypeError)])
def test_handlers_that_do_not_fit(name, error):
    with pytest.raises(error):

        @flow_op(name)
        class Handler:
            pass


def test_long_decompositions_are_imported_when_they_are_needed() -> None:
    program = """
import sys
import oneflow as flow

def loaded():
    start = "oneflow_onnx.oneflow2onnx.decompositions."
    return {name.removeprefix(start) for name in sys.modules if name.startswith(start)}

flow.onnx.export(flow.nn.Linear(3, 2), flow.randn(1, 3))
assert loaded() == set(), loaded()
flow.onnx.export(flow.lgamma, flow.rand(2))
assert "real.special" in loaded() and "complex.functions" not in loaded()
flow.onnx.export(lambda x: flow.view_as_real(flow.view_as_complex(x).exp()), flow.rand(3, 2))
assert "complex.functions" in loaded()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
