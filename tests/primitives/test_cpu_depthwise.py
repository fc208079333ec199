"""Depthwise convolutions in their form for the CPU, beside XLA's own."""

import jax
import numpy as np
import pytest

from oneflow.primitives.operators.conv import conv, conv_input_adjoint, conv_weight_adjoint
from oneflow.primitives.operators.conv_xla import (
    Window,
    convolve,
    convolve_input_adjoint,
    convolve_weight_adjoint,
)
from oneflow.primitives.trace import sub_jaxprs, trace
from tests.oracle import array_difference

pytestmark = pytest.mark.one_in(2)

CHANNELS = 4
# Spatial sizes, kernel, stride, padding, dilation.
WINDOWS = {
    "wider than a run": ((5, 61), (3, 11), (1, 1), ((1, 1), (5, 5)), (1, 1)),
    "small kernel": ((5, 61), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "large kernel": ((9, 30), (7, 7), (1, 1), ((3, 3), (3, 3)), (1, 1)),
    "kernel as large as the image": ((7, 7), (7, 7), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    "strides": ((15, 31), (7, 5), (2, 3), ((2, 1), (0, 2)), (2, 1)),
    "dilation, and padding that cuts off": ((9, 31), (5, 5), (1, 1), ((1, 3), (3, -2)), (1, 2)),
    "sequence": ((70,), (33,), (1,), ((16, 16),), (1,)),
    "volume": ((5, 5, 30), (4, 3, 3), (1, 2, 1), ((1, 1), (1, 1), (1, 1)), (1, 1, 1)),
}


@pytest.fixture(params=WINDOWS.values(), ids=WINDOWS)
def case(request):
    """The arrays `x`, `weight` and `y`, and the window."""
    size, kernel, stride, padding, dilation = request.param
    window = Window(tuple(range(1, len(size) + 1)), stride, padding, dilation, CHANNELS)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, *size, CHANNELS), np.float32)
    weight = rng.standard_normal((CHANNELS, 1, *kernel), np.float32)
    y = rng.standard_normal(jax.eval_shape(lambda: convolve(x, weight, window)).shape, np.float32)
    return x, weight, y, window


def on_cpu(primitive, *arrays, **attributes):
    """The result of the lowering of a primitive."""
    return jax.jit(lambda *xs: primitive.lowerings["cpu"](*xs, **attributes))(*arrays)


def assert_same(found, expected):
    assert not array_difference(np.asarray(found), np.asarray(expected), "float32", 10)


def test_values(case):
    x, weight, _, window = case
    assert_same(on_cpu(conv, x, weight, **window._asdict()), convolve(x, weight, window))


def test_gradient_in_the_input(case):
    x, weight, y, window = case
    size = x.shape[1:-1]
    found = on_cpu(conv_input_adjoint, y, weight, size=size, **window._asdict())
    assert_same(found, convolve_input_adjoint(y, weight, size, window))


def test_gradient_in_the_weight(case):
    x, weight, y, window = case
    kernel = weight.shape[2:]
    found = on_cpu(conv_weight_adjoint, x, y, kernel=kernel, **window._asdict())
    assert_same(found, convolve_weight_adjoint(x, y, kernel, window))


def test_half_precision_is_summed_in_single_precision():
    window = Window((1,), (1,), ((0, 0),), (1,), CHANNELS)
    ones = np.ones((1, 4096 + 32, CHANNELS), jax.numpy.bfloat16)
    found = on_cpu(conv_weight_adjoint, ones, ones[:, 32:], kernel=(33,), **window._asdict())
    assert found.dtype == ones.dtype
    assert np.all(np.asarray(found) == 4096)


def test_infinities_stay_where_they_are():
    # The image is wider than a run; its columns behind the last one must not count at all.
    window = Window((1, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), CHANNELS)
    x = np.ones((1, 6, 36, CHANNELS), np.float32)
    x[..., 0] = np.inf
    y = np.ones((1, 1, 31, CHANNELS), np.float32)
    found = on_cpu(conv_weight_adjoint, x, y, kernel=(6, 6), **window._asdict())
    assert np.all(np.asarray(found)[0] == np.inf)
    assert np.all(np.asarray(found)[1:] == 31)


def test_an_empty_batch_has_no_gradient():
    window = Window((1, 2), (1, 1), ((3, 3), (3, 3)), (1, 1), CHANNELS)
    empty = np.ones((0, 5, 5, CHANNELS), np.float32)
    found = on_cpu(conv_weight_adjoint, empty, empty, kernel=(7, 7), **window._asdict())
    np.testing.assert_array_equal(found, np.zeros((CHANNELS, 1, 7, 7)))


def count_equations(jaxpr):
    """The number of equations, with those of loops and calls."""
    inner = (sub_jaxpr for equation in jaxpr.eqns for sub_jaxpr in sub_jaxprs(equation))
    return len(jaxpr.eqns) + sum(map(count_equations, inner))


def test_the_loop_is_traced_as_a_loop():
    """Not as its steps, of which there are more for larger batches."""
    implementation = conv_weight_adjoint.implementation("cpu")

    def adjoint(x, y):
        window = Window((1, 2), (1, 1), ((1, 1), (1, 1)), (1, 1), CHANNELS)
        return implementation(x, y, kernel=(3, 3), **window._asdict())

    counts = []
    for batch in (1, 16):
        operands = [jax.ShapeDtypeStruct((batch, 20, 20, CHANNELS), np.float32)] * 2
        counts.append(count_equations(trace(adjoint, operands).jaxpr))
    assert counts[0] == counts[1]
