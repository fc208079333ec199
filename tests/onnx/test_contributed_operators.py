"""Operators that ONNX Runtime adds, and indices without dimensions, compared with its results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper

import oneflow as flow
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from tests.onnx.runtime import session_of

MICROSOFT = "com.microsoft"
STEPS, BATCH, INPUTS, HIDDEN = 4, 1, 6, 5


def compare(nodes, constants, feeds, outputs, tolerance):
    """Run the nodes here and in ONNX Runtime."""
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feeds.items()}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kinds[name], feeds[name].shape) for name in feeds],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [
            helper.make_tensor(
                name,
                helper.np_dtype_to_tensor_dtype(constant.dtype),
                constant.shape,
                constant.tobytes(),
                True,
            )
            for name, constant in constants.items()
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    expected = session_of(model).run(None, feeds)
    results = from_onnx(model)(*map(flow.tensor, feeds.values()))
    results = results if isinstance(results, tuple) else (results,)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result.numpy(), wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("by_channel", [False, True])
def test_lstm_of_bytes(direction, kind, by_channel):
    random = np.random.default_rng(0)
    count = 2 if direction == "bidirectional" else 1
    # ONNX Runtime adds pairs of products in 16 bits where VNNI is missing: those of 7 bits fit in.
    low, high = (0, 255) if kind is np.uint8 else (-64, 64)
    shape = (count, 4 * HIDDEN) if by_channel else (count,)
    constants = {
        "W": random.integers(low, high, (count, INPUTS, 4 * HIDDEN)).astype(kind),
        "R": random.integers(low, high, (count, HIDDEN, 4 * HIDDEN)).astype(kind),
        "B": random.normal(size=(count, 8 * HIDDEN)).astype(np.float32),
        "W_scale": random.uniform(0.005, 0.01, shape).astype(np.float32),
        "W_zero": np.full(shape, 3 if kind is np.uint8 else 0, kind),
        "R_scale": random.uniform(0.005, 0.01, shape).astype(np.float32),
        "R_zero": np.full(shape, 130 if kind is np.uint8 else 0, kind),
    }
    names = ["X", "W", "R", "B", "", "", "", "", "W_scale", "W_zero", "R_scale", "R_zero"]
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        names,
        ["Y", "Y_h", "Y_c"],
        domain=MICROSOFT,
        direction=direction,
        hidden_size=HIDDEN,
    )
    x = random.normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32)
    # A state that is rounded to the next byte moves a gate by about a hundredth.
    compare([node], constants, {"X": x}, ["Y", "Y_h", "Y_c"], 1e-2)


# Shapes of data and indices.
SHAPES = list(itertools.product([(3,), (3, 2)], [(), (1,), (2, 2)]))


@pytest.mark.parametrize(("data", "indices"), SHAPES)
def test_gather(data, indices):
    """The result of a number from a vector has no dimensions."""
    x = np.arange(np.prod(data), dtype=np.float32).reshape(data)
    index = np.full(indices, -2, np.int64)
    node = helper.make_node("Gather", ["x", "i"], ["y"])
    compare([node], {}, {"x": x, "i": index}, ["y"], 0)
    wanted = flow.tensor(np.take(x, index, 0))
    assert flow.equal(flow._C.gather(flow.tensor(x), flow.tensor(index % 3), 0), wanted)
