"""Operators exported to ONNX: from graphs, and from job functions in the spelling of theirs."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import onnx
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow import nn
from oneflow.compatible import single_client as job
from oneflow.nn import functional as F
from tests.onnx.runtime import Wrapped, assert_exported, operators_of, session_of

NUMBERS = np.random.default_rng(0)
X = NUMBERS.standard_normal((2, 3), np.float32)
Y = NUMBERS.random((2, 3), np.float32) + np.float32(0.5)
UNIT = NUMBERS.random((2, 3), np.float32) * np.float32(0.8)
IMAGE = NUMBERS.standard_normal((2, 4, 6, 6), np.float32)
WEIGHT = NUMBERS.standard_normal((3, 4, 3, 3), np.float32)
SCALE, ZERO = np.float32([0.01]), np.zeros(1, np.float32)
TRUTH, OTHER = np.array([[True], [False]]), np.array([True, False, True])


def batch_norm(x):
    """With statistics, a weight and a bias that differ from one another."""
    mean, variance, weight, bias = (flow.linspace(low, low + 1, 4) for low in (-1, 0.5, 2, 3))
    return F.batch_norm(x, mean, variance, weight, bias)


# Row: the function of a graph, that of a job, arguments, the ONNX operator that it becomes.
OPERATORS = {
    "s004_E01": (flow.gather_nd, job.gather_nd, [X, np.array([[0, 1], [1, 2]])], "GatherND"),
    "s004_E02": (
        lambda x: flow.transpose(x, 0, 1),
        lambda x: job.transpose(x, perm=(1, 0)),
        [X],
        "Transpose",
    ),
    "s004_E03": (flow.add, job.math.add, [X, Y], "Add"),
    "s004_E04": (flow.sub, job.math.subtract, [X, Y], "Sub"),
    "s004_E05": (flow.mul, job.math.multiply, [X, Y], "Mul"),
    "s004_E06": (flow.div, job.math.divide, [X, Y], "Div"),
    # The sum of several tensors is written as additions.
    "s004_E07": (
        lambda x, y: flow.math.add_n([x, y, x]),
        lambda x, y: job.math.add_n([x, y, x]),
        [X, Y],
        "Add",
    ),
    "s004_E08": (lambda x: F.leaky_relu(x, 0.2), job.nn.leaky_relu, [X], "LeakyRelu"),
    "s004_E09": (F.softplus, job.math.softplus, [X], "Softplus"),
    "s004_E10": (flow.abs, job.math.abs, [X], "Abs"),
    "s004_E11": (flow.ceil, job.math.ceil, [X], "Ceil"),
    "s004_E12": (F.elu, job.nn.elu, [X], "Elu"),
    "s004_E13": (flow.exp, job.math.exp, [X], "Exp"),
    "s004_E14": (flow.floor, job.math.floor, [X], "Floor"),
    "s004_E15": (flow.log, job.math.log, [Y], "Log"),
    "s004_E16": (flow.neg, job.math.negative, [X], "Neg"),
    "s004_E17": (flow.sigmoid, job.math.sigmoid, [X], "Sigmoid"),
    "s004_E18": (
        lambda x: (flow.sqrt(x), flow.rsqrt(x)),
        lambda x: (job.math.sqrt(x), job.math.rsqrt(x)),
        [Y],
        "Sqrt",
    ),
    "s004_E19": (flow.tanh, job.math.tanh, [X], "Tanh"),
    "s004_E20": (flow.reciprocal, job.math.reciprocal, [Y], "Reciprocal"),
    "s004_E21": (F.relu, job.nn.relu, [X], "Relu"),
    "s004_E22": (flow.acos, job.math.acos, [UNIT], "Acos"),
    "s004_E23": (flow.asin, job.math.asin, [UNIT], "Asin"),
    "s004_E24": (flow.atan, job.math.atan, [X], "Atan"),
    "s004_E25": (flow.cos, job.math.cos, [X], "Cos"),
    "s004_E26": (flow.sin, job.math.sin, [X], "Sin"),
    "s004_E27": (flow.tan, job.math.tan, [UNIT], "Tan"),
    "s004_E28": (flow.acosh, job.math.acosh, [Y + 1], "Acosh"),
    "s004_E29": (flow.asinh, job.math.asinh, [X], "Asinh"),
    "s004_E30": (flow.atanh, job.math.atanh, [UNIT], "Atanh"),
    "s004_E31": (flow.cosh, job.math.cosh, [X], "Cosh"),
    "s004_E32": (flow.sinh, job.math.sinh, [X], "Sinh"),
    "s004_E33": (flow.minimum, job.math.minimum, [X, Y], "Min"),
    "s004_E34": (flow.maximum, job.math.maximum, [X, Y], "Max"),
    "s004_E35": (
        lambda x: flow.clamp(x, -1, 1),
        lambda x: job.math.clip_by_value(x, -1, 1),
        [X],
        "Clip",
    ),
    "s004_E36": (lambda x: F.softmax(x, -1), job.nn.softmax, [X], "Softmax"),
    "s004_E37": (flow.sign, job.math.sign, [X], "Sign"),
    "s004_E38": (flow.matmul, job.matmul, [X, Y.T.copy()], "MatMul"),
    "s004_E39": (flow.erf, job.math.erf, [X], "Erf"),
    # ONNX's operator for the rest of a division is `Mod`.
    "s004_E40": (lambda x, y: x % y, job.math.mod, [X, Y], "Mod"),
    "s004_E41": (flow.round, job.math.round, [X], "Round"),
    "s004_E42": (flow.logical_not, job.logical_not, [TRUTH], "Not"),
    "s004_E43": (flow.logical_and, job.math.logical_and, [TRUTH, OTHER], "And"),
    "s004_E44": (flow.logical_or, job.logical_or, [TRUTH, OTHER], "Or"),
    "s004_E45": (flow.eq, job.math.equal, [X, np.where(X > 0, X, Y)], "Equal"),
    # ONNX has no operator for "not equal".
    "s004_E46": (flow.ne, job.math.not_equal, [X, np.where(X > 0, X, Y)], "Not"),
    "s004_E47": (flow.gt, job.math.greater, [X, Y], "Greater"),
    "s004_E48": (flow.lt, job.math.less, [X, Y], "Less"),
    "s004_E49": (lambda x: F.pad(x, (1, 1)), lambda x: job.pad(x, [(0, 0), (1, 1)]), [X], "Pad"),
    "s004_E50": (
        lambda x: F.avg_pool2d(x, 2, 2),
        lambda x: job.nn.avg_pool2d(x, 2, 2, "VALID"),
        [IMAGE],
        "AveragePool",
    ),
    "s004_E51": (
        lambda x: F.max_pool2d(x, 2, 2),
        lambda x: job.nn.max_pool2d(x, 2, 2, "VALID"),
        [IMAGE],
        "MaxPool",
    ),
    "s004_E52": (
        F.conv2d,
        lambda x, w: job.nn.conv2d(x, w, 1, "SAME", data_format="NCHW"),
        [IMAGE, WEIGHT],
        "Conv",
    ),
    "s004_E53": (
        nn.FakeQuantization(),
        job.quantization.fake_quantization,
        [X, SCALE, ZERO],
        "QuantizeLinear",
    ),
    "s004_E54": (lambda x: flow.amin(x, 1), lambda x: job.math.reduce_min(x, 1), [X], "ReduceMin"),
    "s004_E55": (
        batch_norm,
        lambda x: job.layers.batch_normalization(x, axis=1, training=False),
        [IMAGE],
        "BatchNormalization",
    ),
    "s004_E56": (lambda x: flow.sum(x, 1), lambda x: job.math.reduce_sum(x, 1), [X], "ReduceSum"),
    "s004_E57": (
        lambda x: flow.prod(x, 1),
        lambda x: job.math.reduce_prod(x, 1),
        [X],
        "ReduceProd",
    ),
    "s004_E58": (lambda x: flow.argmax(x, -1), job.math.argmax, [X], "ArgMax"),
    "s004_E59": (lambda x: flow.argmin(x, -1), lambda x: job.argmin(x, -1), [X], "ArgMin"),
    "s004_E60": (
        lambda x: flow.reshape(x, (-1,)),
        lambda x: job.reshape(x, (-1,)),
        [X],
        "Reshape",
    ),
    "s004_E61": (
        lambda x: flow.squeeze(x, 0),
        lambda x: job.squeeze(x, [0]),
        [X[:1]],
        "Squeeze",
    ),
    "s004_E62": (
        lambda x, y: flow.cat([x, y], 0),
        lambda x, y: job.concat([x, y], 0),
        [X, Y],
        "Concat",
    ),
    "s004_E63": (
        lambda x: flow.cast(x, flow.int32),
        lambda x: job.cast(x, flow.int32),
        [X * 10],
        "Cast",
    ),
    "s004_E64": (nn.Identity(), job.identity, [X], "Identity"),
}


@pytest.mark.parametrize("row", OPERATORS)
def test_operator_of_a_graph(row):
    function, _, arrays, operator = OPERATORS[row]
    proto = assert_exported(Wrapped(function), *map(flow.tensor, arrays))
    assert operator in operators_of(proto)


def job_of(function, arrays):
    """A job function that takes arrays like these."""

    def body(*blobs):
        return function(*blobs)

    body.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                f"x{place}",
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=tp.Numpy.Placeholder(
                    array.shape, flow.from_numpy(array[:0].copy()).dtype
                ),
            )
            for place, array in enumerate(arrays)
        ]
    )
    return flow.global_function()(body)


@pytest.mark.usefixtures("fresh_session")
@pytest.mark.parametrize("row", OPERATORS)
def test_operator_of_a_job(row, tmp_path):
    function, legacy, arrays, operator = OPERATORS[row]
    predict = job_of(legacy, arrays)
    predict(*arrays)
    for place, variable in enumerate(flow.get_all_variables().values()):
        variable.copy_(flow.linspace(place + 0.5, place + 1.5, variable.numel()))
    results = predict(*arrays).get()
    path = tmp_path / "m.onnx"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the model is exported in opset")
        flow.onnx.export(predict, None, str(path))
    proto = onnx.load(path)
    assert operator in operators_of(proto)
    session = session_of(proto)
    names = [model_input.name for model_input in session.get_inputs()]
    outputs = session.run(None, dict(zip(names, arrays, strict=True)))
    assert_close(outputs, results)
    if row not in ("s004_E52", "s004_E55"):  # padded, and with variables
        assert_close(outputs, function(*map(flow.tensor, arrays)))


def assert_close(outputs, expected):
    """Assert that arrays are what a function or job has given."""
    values = expected if isinstance(expected, tuple | list) else [expected]
    for output, value in zip(outputs, values, strict=True):
        np.testing.assert_allclose(output.reshape(value.shape), value.numpy(), rtol=1e-4, atol=1e-5)


def test_s004_44_sixty_operators():
    """One graph with all of them."""
    starts = np.cumsum([0, *(len(arrays) for _, _, arrays, _ in OPERATORS.values())])

    def all_of_them(*tensors):
        return [
            function(*tensors[start : start + len(arrays)])
            for start, (function, _, arrays, _) in zip(starts, OPERATORS.values(), strict=False)
        ]

    arrays = [member for _, _, group, _ in OPERATORS.values() for member in group]
    proto = assert_exported(Wrapped(all_of_them), *map(flow.tensor, arrays), opset=13)
    assert len(set(operators_of(proto))) >= 60
