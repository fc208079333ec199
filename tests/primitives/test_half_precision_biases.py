"""A bias is added to products of half precision before they are rounded, as in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow

# Shapes of the operands, the bias last, and options.
CASES = {
    "linear": ((6, 40), (5, 40), (5,), {}),
    "linear of a vector": ((40,), (5, 40), (5,), {}),
    "linear of a batch": ((2, 3, 40), (5, 40), (5,), {}),
    "addmm": ((6, 40), (40, 5), (5,), {}),
    "addmm with factors": ((6, 40), (40, 5), (6, 5), {"beta": 0.7, "alpha": 0.3}),
    "addmv": ((6, 40), (40,), (6,), {}),
    "baddbmm": ((2, 6, 40), (2, 40, 5), (2, 6, 5), {}),
    "conv1d": ((2, 4, 20), (3, 4, 3), (3,), {}),
    "conv2d": ((2, 4, 9, 9), (3, 4, 3, 3), (3,), {"stride": 2, "padding": 1}),
    "conv2d, pointwise": ((2, 4, 9, 9), (3, 4, 1, 1), (3,), {}),
    "conv2d, depthwise": ((2, 4, 9, 9), (4, 1, 3, 3), (4,), {"groups": 4}),
    "conv2d, grouped": ((2, 4, 9, 9), (6, 2, 3, 3), (6,), {"groups": 2}),
    "conv3d": ((2, 4, 5, 5, 5), (3, 4, 3, 3, 3), (3,), {}),
    "conv_transpose1d": ((2, 4, 20), (4, 3, 3), (3,), {}),
    "conv_transpose2d": ((2, 4, 9, 9), (4, 3, 3, 3), (3,), {}),
    "conv_transpose2d, strided": ((2, 4, 9, 9), (4, 3, 3, 3), (3,), {"stride": 2}),
    "conv_transpose2d, pointwise": ((2, 4, 9, 9), (4, 3, 1, 1), (3,), {}),
    "conv_transpose2d, depthwise": ((2, 4, 9, 9), (4, 1, 3, 3), (4,), {"groups": 4}),
    "conv_transpose2d, grouped": ((2, 4, 9, 9), (4, 3, 3, 3), (6,), {"groups": 2}),
    "conv_transpose3d": ((2, 4, 5, 5, 5), (4, 3, 3, 3, 3), (3,), {}),
}


def applied(name: str, library, x, y, bias, options):
    function = name.split(",")[0].split(" ")[0]
    if function.startswith(("add", "badd")):
        return getattr(library, function)(bias, x, y, **options)
    return getattr(library.nn.functional, function)(x, y, bias, **options)


def operands(library, arrays, dtype: str, requires_grad: bool = False):
    tensors = [library.tensor(each).to(getattr(library, dtype)) for each in arrays]
    return [each.requires_grad_(requires_grad) for each in tensors]


def samples(name: str) -> list[np.ndarray]:
    """Eighths, whose products float32 adds up without error in any order, and a finer bias."""
    random = np.random.default_rng(0)
    *shapes, bias, _ = CASES[name]
    arrays = [random.integers(-16, 17, shape) / 8 for shape in shapes]
    return [each.astype(np.float32) for each in (*arrays, random.uniform(0, 0.1, bias))]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_a_bias_is_added_before_rounding(name, dtype):
    class Applied(flow.nn.Graph):
        def build(self, *tensors):
            return applied(name, flow, *tensors, CASES[name][-1])

    arrays = samples(name)
    wanted = applied(name, torch, *operands(torch, arrays, dtype), CASES[name][-1]).float().numpy()
    mine = operands(flow, arrays, dtype)
    results = [applied(name, flow, *mine, CASES[name][-1]) for _ in range(4)]
    for result in (*results, Applied()(*mine)):  # interpreted and compiled
        assert str(result.dtype) == f"oneflow.{dtype}"
        np.testing.assert_array_equal(result.float().numpy(), wanted)


@pytest.mark.parametrize("name", CASES)
def test_gradients_beside_a_bias(name):
    arrays = samples(name)

    def gradients(library, dtype):
        tensors = operands(library, arrays, dtype, requires_grad=True)
        (applied(name, library, *tensors, CASES[name][-1]).float() * 0.25).sum().backward()
        return [each.grad for each in tensors]

    exact = gradients(torch, "float64")
    for got, expected in zip(gradients(flow, "bfloat16"), exact, strict=True):
        assert got.dtype is flow.bfloat16
        np.testing.assert_allclose(got.float().numpy(), expected.numpy(), 2.0**-7)


def test_a_bias_under_autocast_is_added_before_rounding():
    x, weight, bias = samples("conv2d")
    results = []
    for library in (flow, torch):
        with library.autocast("cpu", dtype=library.bfloat16):
            tensors = operands(library, (x, weight, bias), "float32")
            results.append(library.nn.functional.conv2d(*tensors).float().numpy())
    np.testing.assert_array_equal(*results)
