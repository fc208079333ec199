"""Names of operators that jobs give by position, as in ``flow.nn.relu(x, "relu1")``."""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow.functional.operator_names import PLACES, without_name

X = np.linspace(0.1, 0.9, 48, dtype=np.float32).reshape(1, 3, 4, 4)
# The arguments of a call; `x` and `i` are what a job is called with. First those of all functions
# with a name at one place, then those of single functions.
_BY_PLACE = {1: "x,", 2: "x, x + 1", 3: "x, 1, True"}
_POOLING = "2, 2, 'SAME', 'NCHW', False"
_SEGMENTS = "x[0, 0], i[:4], 5, 0"
_SCATTERS = ("tensor_scatter_nd_add", "tensor_scatter_nd_update")
_BIAS = "x, x[0, :, 0, 0], 'NCHW'"
_CALLS = {
    "argsort": "x, -1, False",
    "broadcast_like": "x[0, 0, 0], x, [0, 1, 2]",
    "broadcast_to_compatible_with": "x[:, :1], [x]",
    "cast": "x, flow.float64",
    "clamp": "x, 0.2, 0.5",
    "clip": "x, 0.2, 0.5",
    "clip_by_scalar": "x, 0.2, 0.5",
    "clip_by_value": "x, 0.2, 0.5",
    "combined_margin_loss": "x[0, 0], i[:4], 1.0, 0.5, 0.0",
    "constant": "3.0, flow.float32, (2,)",
    "constant_like": "x, 3.0, flow.float32",
    "constant_pad2d": "x, [1, 1, 1, 1], 2.0",
    "constant_scalar": "3.0, flow.float32",
    "diag": "x[0, 0], 1",
    "dim_gather": "x[0, 0], 0, i[:4].view(1, 4)",
    "dynamic_reshape": "x, (6, 8)",
    "elem_cnt": "x, flow.int64",
    "expand": "x[0, 0, 0], (2, 4)",
    "expand_dims": "x, 0",
    "flatten": "x, 1, -1",
    "gather_nd": "x[0, 0], i[:4].view(2, 2)",
    "identity_n": "[x, x],",
    "linalg.matmul": "x, x, False, True, 2.0",
    "masked_fill": "x, x > 0.5, 2.0",
    "math.add_n": "[x, x],",
    "math.argmax": "x, 1",
    "math.broadcast_to_compatible_with": "x[:, :1], [x]",
    "math.clip_by_value": "x, 0.2, 0.5",
    "math.gelu": "x, 'none'",
    "math.fused_scale_tril": "x, 0, 0.0, 2.0",
    "math.in_top_k": "i[:4], x[0, 0], 1",
    "math.l2_normalize": "x, 1, 1e-6",
    "math.polyval": "[1.0, 2.0], x",
    "math.reduced_shape_elem_cnt": "x, [1], flow.int64",
    "math.top_k": "x, -1, 2, True",
    "math.tril": "x, 0, 0.0",
    "math.unsorted_segment_sum": _SEGMENTS,
    "math.unsorted_segment_sum_like": "x[0, 0], i[:4], x[0, 0], 0",
    "matmul": "x, x, False, True, 2.0",
    "multi_count_not_finite": "[x],",
    "nn.bias_add": _BIAS,
    "nn.conv2d": "x, x, 1, 'VALID', 'NCHW', 1, 1",
    "nn.distributed_sparse_softmax_cross_entropy_with_logits": "i[:4], x[0, 0]",
    "nn.dropout": "x, 0.0, None, None",
    "nn.elu": "x, 0.5",
    "nn.hardtanh": "x, 0.2, 0.5",
    "nn.leaky_relu": "x, 0.5",
    "nn.logsoftmax": "x, 1",
    "nn.moments": "x, [0], True",
    "nn.sigmoid_cross_entropy_with_logits": "x, x",
    "nn.softmax": "x, 1",
    "nn.softmax_grad": "x, x, 1",
    "nn.sparse_cross_entropy": "i[:4], x[0, 0]",
    "nn.sparse_softmax_cross_entropy_with_logits": "i[:4], x[0, 0]",
    "nn.tril": "x, 0, 0.0",
    "one_hot": "i, 5, 1, 0, -1, flow.float32",
    "ones_like": "x, flow.float32, None",
    "pad_grad": "x, [(0, 0), (0, 0), (1, 1), (1, 1)], 0",
    "range": "0, 5, 1, flow.int32",
    "reflection_pad2d": "x, [1, 1, 1, 1]",
    "reshape": "x, (6, 8)",
    "reverse": "x, [1]",
    "smooth_l1_loss": "x, x + 1, 0.5",
    "squeeze": "x, [0]",
    "stack": "[x, x], 1",
    "unsorted_segment_sum": _SEGMENTS,
    "where": "x > 0.5, x, x + 1",
    "zeros_like": "x, flow.float32, None",
    "distributed_partial_fc_sample": "x[0, 0], i[:4], 4",
    "in_top_k": "i[:4], x[0, 0], 1",
    "nn.PixelShufflev2": "x.view(1, 12, 2, 2), 2, 2",
    "nn.batch_normalization": "x, x[0, :, 0, 0], x[0, :, 0, 0], None, None, 1e-5, 1",
    "nn.compat_conv2d": "x, x, 1, 'VALID', 'NCHW', 1, 1",
    "nn.conv1d": "x[0], x[0], 1, 'VALID', 'NCW', 1, 1",
    "nn.conv3d": "x[None], x[None], 1, 'VALID', 'NCDHW', 1, 1",
    "nn.ctc_greedy_decoder": "x[0], i[:4] * 0 + 3, True",
    "nn.fused_bias_add_dropout": "x, x[0, :, 0, 0], 'NCHW', 0.0, None, None",
    "nn.fused_bias_add_gelu": _BIAS,
    "nn.fused_scale_tril": "x, 0, 0.0, 2.0",
    "nn.fused_self_attention_query_mul_key_and_value": "x.view(2, 2, 12), 4, 1.0",
    "nn.random_mask_like": "x, 0.0, None, None",
    "nn.softmax_cross_entropy_with_logits": "x, x",
    "repeat": "x, (1, 1, 1, 2)",
    "replication_pad2d": "x, [1, 1, 1, 1]",
    "reshape_like": "x, x",
    "same_padding": "x, 'SAME_UPPER', 'NCHW', (3, 3), (1, 1), (1, 1)",
    "scatter_nd": "i[:4].view(4, 1), x[0, 0, 0], (8,)",
    "slice_update": "x.clone(), x[:, :1], [(0, 1, 1), (0, 1, 1), (0, 4, 1), (0, 4, 1)]",
    "slice_v2": "x, [(0, 1, 1), (0, 1, 1), (0, 4, 1), (0, 4, 1)]",
    "sort": "x, -1, False",
    "unsorted_segment_sum_like": "x[0, 0], i[:4], x[0, 0], 0",
    "zero_pad2d": "x, [1, 1, 1, 1]",
    **dict.fromkeys(_SCATTERS, "x[0, 0, 0], i[:4].view(4, 1), x[0, 0, 0]"),
    **{f"nn.{kind}_pool1d": "x[0], 2, 2, 'SAME', 'NCW'" for kind in ("avg", "max")},
    **{f"nn.{kind}_pool3d": "x[None], 2, 2, 'SAME', 'NCDHW', False" for kind in ("avg", "max")},
    **{
        f"{module}.fused_scale_tril_softmax_dropout": "x, 0, 0.0, 2.0, 0.0, None, None"
        for module in ("math", "nn")
    },
    **{
        f"{module}unsorted_batch_segment_sum": "x[0, 0], i[:16].view(4, 4), 5"
        for module in ("math.", "")
    },
    **{f"nn.{kind}_pool2d": f"x, {_POOLING}" for kind in ("avg", "max")},
    **{f"math.{name}": "x, x" for name in ("sigmoid_grad", "gelu_grad", "xlogy", "xdivy")},
}


def _arguments(path):
    return _CALLS[path] if path in _CALLS else _BY_PLACE[PLACES[path]]


def _function(path):
    function = flow
    for part in path.split("."):
        function = getattr(function, part)
    return function


def _flat(result):
    if isinstance(result, (list, tuple)):
        return [part for entry in result for part in _flat(entry)]
    return [result]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", PLACES)
def test_texts_after_the_arguments_name_operators(path):
    """A job gives an operator a name: the result is that without it, and `x` stays as it is."""
    call = eval(f"lambda x, i: ({_arguments(path)})", {"flow": flow})
    function, seen = _function(path), []

    @flow.global_function()
    def job(
        x: tp.Numpy.Placeholder((1, 3, 4, 4)), i: tp.Numpy.Placeholder((16,), flow.int64)
    ) -> tuple[tp.Numpy, ...]:
        arguments = call(x, i)
        assert len(arguments) >= PLACES[path]
        named, plain = function(*arguments, "operator_1"), function(*arguments)
        seen.append(len(_flat(named)))
        return (x, *_flat(named), *_flat(plain))

    x, *results = job(X, np.arange(16) % 4)
    np.testing.assert_array_equal(x, X)
    assert len(results) == 2 * seen[-1]
    for named, plain in zip(results[: seen[-1]], results[seen[-1] :], strict=True):
        np.testing.assert_array_equal(named, plain)


def test_texts_are_no_names_outside_of_jobs():
    with pytest.raises(TypeError):
        flow.math.exp(flow.ones(2), "exp_1")


def _in_a_job(call):
    """The value of `call` in the body of a job, which is called with three numbers."""

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return call(x)

    return job(np.array([-1.0, 0.5, 2.0], np.float32))


# Calls with a text for the function itself.
_TEXTS = {
    "gelu": lambda x: flow.nn.functional.gelu(x, "tanh"),
    "GELU": lambda x: flow.nn.GELU("tanh")(x),
    "method": lambda x: x.gelu("tanh"),
    "fast_gelu": lambda x: flow._C.fast_gelu(x),
    "named gelu": lambda x: flow.math.gelu(x, "tanh", "gelu_1"),
}


@pytest.mark.parametrize("name", _TEXTS)
def test_texts_that_functions_take_are_no_names(name):
    x = flow.tensor([-1.0, 0.5, 2.0])
    expected = flow.nn.functional.gelu(x, approximate="tanh").numpy()
    np.testing.assert_allclose(_in_a_job(_TEXTS[name]), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: flow.nn.functional.gelu(x, "tahn"),
        lambda x: flow.zeros_like(x, flow.float32, device="nonsense"),
        lambda x: flow.sort(x, -1, "nonsense"),
    ],
)
def test_wrong_texts_are_errors_in_jobs(call):
    with pytest.raises((ValueError, RuntimeError)):
        _in_a_job(call)


def _text_places(function):
    """The numbers of arguments with which the last may be a text of the function's own."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    return [place for place, p in enumerate(parameters, 1) if "str" in str(p.annotation).split()]


def test_no_function_loses_a_text_of_its_own():
    losing = []

    def look(x):
        for path in PLACES:
            function = _function(path)
            for place in _text_places(function):
                arguments = (None,) * (place - 1) + ("text",)
                if without_name(function, arguments) != arguments:
                    losing.append((path, place))
        return x

    assert _text_places(flow.nn.functional.gelu) == [2]
    assert _text_places(flow.zeros_like) == [3]
    _in_a_job(look)
    assert not losing


def test_texts_are_no_names_in_other_threads():
    """A thread that runs no job computes as before while another one runs the body of a job."""
    outcomes = []

    def outside():
        for function in (flow.math.exp, flow.math.relu):
            try:
                outcomes.append(function(flow.ones(2), "name_1"))
            except TypeError as error:
                outcomes.append(error)

    def body(x):
        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()
        return flow.math.exp(x, "exp_1")

    _in_a_job(body)
    assert outcomes
    assert all(isinstance(outcome, TypeError) for outcome in outcomes)
