"""Convolutions of half precision are summed in single precision, and rounded once."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import eager_mode

# Shapes of input and weight, and options. Each has a form of its own on the CPU.
CASES = {
    "one channel": ((2, 1, 6, 6), (3, 1, 5, 5), {"padding": 2}),
    "depthwise": ((2, 4, 6, 6), (4, 1, 3, 3), {"padding": 1, "groups": 4}),
    "strided depthwise": ((2, 4, 8, 8), (4, 1, 5, 5), {"padding": 2, "groups": 4, "stride": 2}),
    "full": ((2, 4, 6, 6), (3, 4, 5, 5), {}),
    "pointwise": ((2, 4, 6, 6), (3, 4, 1, 1), {}),
}
_random = np.random.default_rng(0)


def rounded(shape):
    """Random bfloat16 numbers, as float64."""
    return torch.tensor(_random.uniform(-2, 2, shape)).bfloat16().double()


def convolved(library, arrays, cotangent, options):
    """The convolution and its gradients in input and weight."""
    y = library.nn.functional.conv2d(*arrays, **options)
    y.backward(cotangent)
    return [y.detach(), *(array.grad for array in arrays)]


@pytest.mark.parametrize("name", CASES)
def test_a_convolution_and_its_gradients_are_rounded_once(name):
    *shapes, options = CASES[name]
    exact = [rounded(shape).requires_grad_() for shape in shapes]
    cotangent = rounded(torch.conv2d(*exact, **options).shape)
    reference = convolved(torch, exact, cotangent, options)
    with eager_mode("cold"):
        mine = [flow.tensor(x.detach().numpy()).bfloat16().requires_grad_() for x in exact]
        results = convolved(flow, mine, flow.tensor(cotangent.numpy()).bfloat16(), options)
    for got, expected in zip(results, reference, strict=True):
        # bfloat16 has 8 bits of precision; float32's own errors show where sums cancel.
        np.testing.assert_allclose(
            got.float().numpy(), expected, rtol=2.0**-8, atol=1e-5 * expected.abs().max()
        )
