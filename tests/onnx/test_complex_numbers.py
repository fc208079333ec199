"""Complex numbers in exported models: pairs within the file, real numbers at its border."""

from __future__ import annotations

import pytest

import oneflow as flow
from oneflow import nn
from oneflow_onnx.oneflow2onnx.errors import UnsupportedOperatorsError
from tests.onnx.runtime import assert_exported, exported, operators_of


def test_complex_numbers_are_pairs_within_the_file():
    """The batch of a filter in the frequency domain is symbolic, and its weights are complex."""

    class Filter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("response", flow.complex(flow.randn(9), flow.randn(9)))

        def forward(self, x):
            spectrum = flow.fft.rfft(x) * self.response
            return flow.fft.irfft(spectrum, n=16), flow.angle(spectrum)

    x = flow.randn(3, 16)
    options = {"dynamic": {0: {0: "batch"}}}
    proto = assert_exported(Filter(), x, others=[(flow.randn(5, 16),)], opset=20, **options)
    (weight,) = proto.graph.initializer
    assert (weight.name, list(weight.dims)) == ("response", [9, 2])
    assert operators_of(proto).count("DFT") == 2


def test_complex_numbers_at_the_border_are_refused():
    x = flow.randn(4)
    with pytest.raises(
        UnsupportedOperatorsError, match=r"`result 1`.*oneflow.view_as_real"
    ) as both:
        exported(lambda x: (x, flow.fft.fft(flow.fft.fft(x))), [x])
    assert len(both.value.failures) == 1
    with pytest.raises(UnsupportedOperatorsError, match=r"`x`.*oneflow.view_as_complex"):
        exported(lambda x: flow.view_as_real(x * 2), [flow.complex(x, x)])
    with pytest.raises(UnsupportedOperatorsError, match=r"`sigmoid`: complex numbers"):
        exported(lambda x: flow.view_as_real(flow.sigmoid(flow.complex(x, x))), [x])


FUNCTIONS = ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "square")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [flow.float32, flow.float64])
def test_functions_of_complex_numbers(name, dtype):
    if name == "log" and dtype is flow.float64:
        pytest.skip("ONNX Runtime has no `Atan` of float64")

    def function(x):
        return flow.view_as_real(getattr(flow, name)(flow.view_as_complex(x)))

    x = flow.cat([2 * flow.randn(20, 2), flow.tensor([[-1.0, 0.0], [0.0, 2.0], [-2.0, -1e-3]])])
    assert_exported(function, x.to(dtype), tolerance=1e-5)


def test_powers_of_complex_numbers():
    def function(x, y):
        z, w = flow.view_as_complex(x), flow.view_as_complex(y)
        powers = (z**w, z**1.5, 2.0**z, flow.zeros_like(z) ** w.conj(), z**3)
        return [flow.view_as_real(power) for power in powers]

    assert_exported(function, flow.randn(9, 2), 0.2 + flow.rand(9, 2), tolerance=1e-4)


INVERSE = ("asin", "acos", "atan", "asinh", "acosh", "atanh")


@pytest.mark.parametrize("name", INVERSE)
def test_inverse_functions_of_complex_numbers(name):
    """Also of large numbers on the left, where the sum under a logarithm would cancel."""

    def function(x):
        return flow.view_as_real(getattr(flow, name)(flow.view_as_complex(x)))

    far = flow.tensor([[-300.0, 2.0], [3.0, -500.0], [-0.4, -200.0], [0.5, 1e-3], [-2.0, 1e-3]])
    assert_exported(function, flow.cat([2 * flow.randn(20, 2), far]), tolerance=1e-5)


REDUCTIONS = {
    "sum": lambda z: (z.sum(), z.sum(1), z.sum((0, 2), keepdim=True)),
    "mean": lambda z: (z.mean(), z.mean(0), z.mean((0, 2), keepdim=True)),
    "prod": lambda z: (z.prod(), z.prod(1), z.prod(2, keepdim=True), z[:, :0].prod(1)),
    "cumsum": lambda z: (z.cumsum(0), z.cumsum(-1)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_complex_numbers(name):
    def function(x):
        return [flow.view_as_real(result) for result in REDUCTIONS[name](flow.view_as_complex(x))]

    assert_exported(function, flow.randn(2, 3, 5, 2), tolerance=1e-5)
