"""Convolutions that are computed in parts on the CPU, beside XLA's own."""

import functools

import jax
import numpy as np
import pytest

import oneflow as flow
from oneflow.nn import functional as F
from oneflow.passes.program_builder import operation_of
from oneflow.primitives.operators.conv import conv, conv_input_adjoint, conv_weight_adjoint
from oneflow.primitives.operators.conv_xla import (
    Window,
    convolve,
    convolve_input_adjoint,
    convolve_weight_adjoint,
)
from oneflow.tensor.views import unwrap
from tests.oracle import array_difference

# Channels in and out, groups; spatial sizes, kernel, stride, padding, dilation.
CASES = {
    "groups": ((18, 36, 2), ((7, 9), (3, 3), (1, 2), ((1, 1), (0, 1)), (1, 1))),
    "groups of few channels": ((6, 12, 3), ((7, 9), (3, 3), (2, 1), ((1, 1), (2, 1)), (1, 2))),
    "groups of four outputs": ((6, 12, 3), ((7, 9), (3, 3), (2, 1), ((1, 1), (-1, 2)), (1, 2))),
    "several for each channel": ((3, 12, 3), ((8,), (3,), (1,), ((1, 1),), (1,))),
    "one channel in each group": ((2, 20, 2), ((8, 8), (3, 2), (1, 1), ((1, 1), (0, 0)), (1, 1))),
    "image smaller than the kernel": (
        (4, 5, 1),
        ((2, 2), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    ),
    "one position": ((4, 5, 1), ((1, 1), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))),
    "few positions": ((6, 64, 1), ((4, 4), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))),
    "volume": ((4, 5, 1), ((5, 6, 7), (3, 2, 3), (2, 1, 2), ((1, 1), (0, 1), (1, 1)), (1, 2, 1))),
    "volume in groups": ((20, 20, 2), ((4, 4, 4), (3, 3, 3), (1, 1, 1), ((1, 1),) * 3, (1, 1, 1))),
    "volume of several channels": (
        (7, 5, 1),
        ((5, 4, 5), (3, 3, 2), (1, 1, 1), ((1, 1), (1, 1), (0, 1)), (1, 1, 1)),
    ),
    "single plane": ((7, 5, 1), ((1, 4, 5), (3, 3, 3), (1, 1, 1), ((1, 1),) * 3, (1, 1, 1))),
    "planes in the padding": (
        (3, 5, 1),
        ((2, 4, 5), (2, 3, 3), (3, 1, 1), ((4, 4), (1, 1), (1, 1)), (1, 1, 1)),
    ),
    "depth that is cut off": (
        (3, 4, 1),
        ((6, 5, 5), (2, 3, 3), (1, 1, 1), ((-1, 2), (1, 1), (1, 1)), (2, 1, 1)),
    ),
}
pytestmark = pytest.mark.one_in(3)

DTYPES = {"float32": 10, "bfloat16": 2, "int32": 0}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request):
    """The arrays `x`, `weight` and `y`, small whole numbers, and the window."""
    (channels, out, groups), (size, kernel, stride, padding, dilation) = request.param
    window = Window(tuple(range(1, len(size) + 1)), stride, padding, dilation, groups)
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (2, *size, channels))
    weight = rng.integers(-4, 5, (out, channels // groups, *kernel))
    shape = jax.eval_shape(lambda: convolve(x * 1.0, weight * 1.0, window)).shape
    return x, weight, rng.integers(-4, 5, shape), window


def assert_same(primitive, plain, *arrays, **attributes):
    """The lowering of a primitive computes what XLA's own convolution does, in all types."""
    expected = plain(*[array.astype(np.float64) for array in arrays])
    for dtype, tolerance in DTYPES.items():
        cast = [array.astype(dtype) for array in arrays]
        found = jax.jit(lambda *xs: primitive.lowerings["cpu"](*xs, **attributes))(*cast)
        assert found.dtype == dtype
        wanted = np.asarray(expected).astype(found.dtype)
        assert not array_difference(np.asarray(found), wanted, dtype, tolerance), dtype


def test_values(case):
    x, weight, _, window = case
    plain = lambda *arrays: convolve(*arrays, window)  # noqa: E731
    assert_same(conv, plain, x, weight, **window._asdict())


def test_gradient_in_the_input(case):
    x, weight, y, window = case
    size = x.shape[1:-1]
    assert_same(
        conv_input_adjoint,
        lambda *arrays: convolve_input_adjoint(*arrays, size, window),
        *(y, weight),
        size=size,
        **window._asdict(),
    )


def test_gradient_in_the_weight(case):
    x, weight, y, window = case
    kernel = weight.shape[2:]
    assert_same(
        conv_weight_adjoint,
        lambda *arrays: convolve_weight_adjoint(*arrays, kernel, window),
        *(x, y),
        kernel=kernel,
        **window._asdict(),
    )


@pytest.mark.parametrize(
    ("name", "count"), [("volume", 1), ("volume of several channels", 3), ("single plane", 1)]
)
def test_planes_are_convolved_together_or_left_out(name, count):
    """Planes of few channels are one convolution; what reads padding only is none."""
    (channels, out, groups), (size, kernel, *rest) = CASES[name]
    window = Window(tuple(range(1, len(size) + 1)), *rest, groups)
    x = np.ones((2, *size, channels), np.float32)
    weight = np.ones((out, channels // groups, *kernel), np.float32)
    plain = functools.partial(conv.lowerings["cpu"], **window._asdict())
    assert str(jax.make_jaxpr(plain)(x, weight)).count("conv_general_dilated[") == count


@pytest.mark.parametrize(("groups", "channels"), [(2, 6), (2, 8), (2, 20)])
def test_infinities_stay_in_their_group(groups, channels):
    window = Window((1, 2), (1, 1), ((1, 1), (1, 1)), (1, 1), groups)
    x = np.ones((1, 5, 5, channels), np.float32)
    x[..., 0] = np.inf
    weight = np.ones((channels, channels // groups, 3, 3), np.float32)
    found = np.asarray(conv.lowerings["cpu"](x, weight, **window._asdict()))
    assert np.all(found[..., : channels // groups] == np.inf)
    assert np.all(np.isfinite(found[..., channels // groups :]))


@pytest.mark.parametrize(
    ("name", "slow"),
    [
        ("groups", "feature_group_count=2"),
        ("groups of few channels", "conv_general_dilated"),
        ("volume", "window_strides=(2, 1, 2)"),
        ("image smaller than the kernel", "conv_general_dilated"),
        ("few positions", "conv_general_dilated"),
    ],
)
def test_slow_forms_of_xla_are_not_used(name, slow):
    (channels, out, groups), (size, kernel, stride, padding, dilation) = CASES[name]
    window = Window(tuple(range(1, len(size) + 1)), stride, padding, dilation, groups)
    x = np.ones((2, *size, channels), np.float32)
    weight = np.ones((out, channels // groups, *kernel), np.float32)
    first = window._replace(dims=tuple(dim + 1 for dim in window.dims))
    plain = jax.make_jaxpr(lambda x, w: convolve(x, w, window))(x, weight)
    assert slow in str(plain)
    for image, layout in ((x, window), (np.moveaxis(x, -1, 1), first)):
        lowering = functools.partial(conv.lowerings["cpu"], **layout._asdict())
        assert slow not in str(jax.make_jaxpr(lowering)(image, weight))


@pytest.mark.parametrize("name", CASES)
def test_numpy_computes_one_convolution(name):
    """However many steps XLA is given: tracing them would be most of a first call's time."""
    (channels, out, groups), (size, kernel, *rest) = CASES[name]
    x, weight = flow.ones(2, channels, *size), flow.ones(out, channels // groups, *kernel)
    window = Window(tuple(range(2, len(size) + 2)), *rest, groups)
    operation = operation_of(
        conv,
        (unwrap(x).spec, unwrap(weight).spec),
        (False, False),
        tuple(window._asdict().items()),
    )
    assert operation.trace is not None
    assert len(operation.trace.jaxpr.eqns) == 1


def test_programs_that_are_not_compiled_keep_their_layout():
    program = flow.eager.record(
        lambda x, w: F.conv2d(x, w), flow.ones(1, 4, 5, 5), flow.ones(4, 4, 3, 3)
    )
    assert "transpose" not in flow.eager.format_program(program)
