"""Exported models with symbolic sizes, at other sizes than those of the example."""

from __future__ import annotations

import math
from functools import partial

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F
from oneflow_onnx.oneflow2onnx.errors import UnsupportedOperatorsError
from oneflow_onnx.oneflow2onnx.sizes import DynamicSizeError
from tests.onnx.models import small_network
from tests.onnx.runtime import assert_exported, exported


def test_batch_that_runs_at_other_sizes():
    model = small_network()
    others = [(flow.randn(n, 3, 8, 8),) for n in (1, 7)]
    proto = assert_exported(model, flow.randn(1, 3, 8, 8), dynamic={0: {0: "batch"}}, others=others)
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_symbolic_image_size():
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(1),
        nn.Softmax(1),
    ).eval()
    others = [(flow.randn(2, 3, 12, 20),)]
    sizes = {0: {2: "height", 3: "width"}}
    assert_exported(model, flow.randn(2, 3, 8, 8), dynamic=sizes, others=others)


def test_symbolic_sequence_in_attention():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()
    others = [(flow.randn(3, 9, 8),)]
    sizes = {0: {0: "batch", 1: "length"}}
    for opset in (None, 17):
        assert_exported(layer, flow.randn(2, 5, 8), dynamic=sizes, others=others, opset=opset)


def test_sizes_computed_from_symbolic_ones():
    def function(x):
        n, t = x.shape
        grown = flow.cat([x, flow.zeros(n, t)], dim=1).reshape(n * 2, t)
        causal = flow.tril(flow.ones(t, t))
        return grown @ causal, flow.arange(t) + 1, x.repeat(3, 1)

    assert_exported(
        function, flow.randn(2, 3), dynamic={0: {0: "n", 1: "t"}}, others=[(flow.randn(5, 4),)]
    )


def _written(x):
    y = x.clone()
    y[:, 1] = 0.0
    y[:, -1] = y[:, 0] * 2
    y[1:, 2:4] = 3.0
    return y


# Functions that read or write parts of a square matrix, whose size is the symbol.
SQUARES = {
    "every second": lambda x: (x[:, ::2], x[1::3], x[0::2, 1::2]),
    "windows": lambda x: x.unfold(1, 3, 2),
    "diagonals": lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1), flow.eye(len(x))),
    "writes": _written,
    "running extremes": lambda x: (*x.cummax(0), *x.cummin(1), *x.relu().long().cummax(1)),
    "running products": lambda x: (x.cumprod(0), x.cumprod(1)),
    "one window": lambda x: (
        F.adaptive_max_pool2d(x[None], 1),
        F.max_pool2d(x[None], x.shape),
        F.avg_pool2d(x[None], x.shape),
    ),
    "ended bags": lambda x: F.embedding_bag(
        x[0].abs().long().clamp(0, 4), flow.eye(5), flow.tensor([0, 1, 3]), include_last_offset=True
    ),
    "bags": lambda x: F.embedding_bag(x.abs().long().clamp(0, 4), flow.eye(5), mode="mean"),
}


@pytest.mark.parametrize("name", SQUARES)
def test_parts_of_symbolic_sizes(name):
    others = [(2 * flow.randn(n, n),) for n in (4, 9)]
    sizes = {0: {0: "n", 1: "n"}}
    assert_exported(SQUARES[name], 2 * flow.randn(6, 6), dynamic=sizes, others=others)


def test_quotients_are_rounded_as_the_model_rounds_them():
    """All multiples of the example's size are divisible, so that they do not tell."""

    def function(x):
        n = len(x)
        return x[: n // 2], x[: (n + 1) // 2], x[: math.ceil(n / 4)], flow.arange((n - 3) // 2 + 1)

    others = [(flow.randn(n),) for n in (3, 5, 7, 10)]
    assert_exported(function, flow.randn(8), dynamic={0: {0: "n"}}, others=others)


def test_a_model_that_is_exported_for_multiples_only():
    def function(x):
        odd = len(x) % 2
        return (flow.cat([x, x[:1]]) if odd else x).reshape(-1, 2)

    with pytest.warns(UserWarning, match="multiples of the example's symbolic sizes"):
        assert_exported(function, flow.randn(4), dynamic={0: {0: "n"}}, others=[(flow.randn(6),)])


def test_averages_of_a_symbolic_image():
    x, others = flow.randn(1, 2, 4, 6), [(flow.randn(1, 2, 8, 2),)]
    doubled, halved = (partial(F.interpolate, scale_factor=f, mode="area") for f in (2, 0.5))
    assert_exported(doubled, x, dynamic={0: {2: "height", 3: "width"}}, others=others)
    with pytest.warns(UserWarning, match="multiples of the example's symbolic sizes"):
        assert_exported(halved, x, dynamic={0: {2: "height", 3: "width"}}, others=others)


def test_a_tensor_that_python_makes_of_a_size_is_refused():
    with pytest.raises(DynamicSizeError, match="a tensor that Python makes"):
        exported(lambda x: x + flow.tensor([len(x)]), [flow.randn(3)], dynamic={0: {0: "n"}})


def test_a_model_that_does_other_things_at_other_sizes_is_refused():
    def unrolled(x):
        total = x[0]
        for row in range(1, len(x)):
            total = total + x[row]
        return total

    with pytest.raises(DynamicSizeError, match="at other sizes"):
        exported(unrolled, [flow.randn(3, 2)], dynamic={0: {0: "n"}})


def test_a_number_that_depends_on_a_symbolic_size_is_refused():
    with pytest.raises(DynamicSizeError, match="a number"):
        exported(lambda x: x * (1 / len(x)), [flow.randn(3)], dynamic={0: {0: "n"}})


def test_a_size_that_bends_is_refused():
    """Through its values for two sizes goes a line, which is wrong for every other one."""
    with pytest.raises(UnsupportedOperatorsError, match="5 or 7 or 7 in the captures"):
        exported(lambda x: x[:1].expand(min(len(x), 7)), [flow.randn(5)], dynamic={0: {0: "n"}})


@pytest.mark.parametrize("dynamic", [{0: {5: "n"}}, {3: {0: "n"}}])
def test_symbolic_dimensions_that_are_not_there(dynamic):
    with pytest.raises(ValueError, match="symbolic"):
        exported(nn.ReLU(), [flow.randn(3)], dynamic=dynamic)


def test_torchs_ways_to_name_sizes():
    model, x = nn.Linear(3, 2), flow.randn(2, 3)
    for options in (
        {"dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}},
        {"dynamic_shapes": ({0: "batch"},)},
        {"dynamic_shapes": {"input": {0: "batch", 1: None}}},
        {"dynamic_shapes": (("batch", None),)},
    ):
        proto = flow.onnx.export(model, x, **options)
        assert proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    with pytest.raises(ValueError, match="names"):
        flow.onnx.export(model, x, dynamic_axes={"other": [0]})
