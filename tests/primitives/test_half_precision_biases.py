"""A bias is added to products of half precision before they are rounded.

So does PyTorch on processors that multiply in half precision; on others its `conv_transpose3d`
rounds before.
"""

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
    tensors = [library.tensor(array).to(getattr(library, dtype)) for array in arrays]
    return [tensor.requires_grad_(requires_grad) for tensor in tensors]


def samples(name: str) -> list[np.ndarray]:
    """Eighths, whose products float32 adds up without error in any order, and a finer bias."""
    random = np.random.default_rng(0)
    *shapes, bias, _ = CASES[name]
    arrays = [random.integers(-16, 17, shape) / 8 for shape in shapes]
    return [array.astype(np.float32) for array in (*arrays, random.uniform(0, 0.1, bias))]


def all_operands(library, dtype: str) -> dict:
    """The operands of all cases."""
    return {name: operands(library, samples(name), dtype) for name in CASES}


def all_applied(library, given: dict) -> dict:
    """The results of all cases."""
    return {name: applied(name, library, *given[name], CASES[name][-1]) for name in CASES}


class AllApplied(flow.nn.Graph):
    """All cases in one graph."""

    def build(self, given: dict) -> dict:
        return all_applied(flow, given)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", ["cold", "graph"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_bias_is_added_before_rounding(dtype, mode):
    mine, theirs = all_operands(flow, dtype), all_operands(torch, dtype)
    exact = {name: [tensor.float() for tensor in tensors] for name, tensors in theirs.items()}
    wanted = {
        name: tensor.to(getattr(torch, dtype)) for name, tensor in all_applied(torch, exact).items()
    }
    results = AllApplied()(mine) if mode == "graph" else all_applied(flow, mine)
    for name, result in results.items():
        assert str(result.dtype) == f"oneflow.{dtype}"
        np.testing.assert_array_equal(result.float().numpy(), wanted[name].float().numpy(), name)


def test_gradients_beside_a_bias():
    def gradients(library, dtype):
        found = {}
        for name in CASES:
            tensors = operands(library, samples(name), dtype, requires_grad=True)
            (applied(name, library, *tensors, CASES[name][-1]).float() * 0.25).sum().backward()
            found |= {(name, place): tensor.grad for place, tensor in enumerate(tensors)}
        return found

    exact = gradients(torch, "float64")
    for key, got in gradients(flow, "bfloat16").items():
        assert got.dtype is flow.bfloat16
        expected = exact[key].numpy()
        np.testing.assert_allclose(got.float().numpy(), expected, 2.0**-7, err_msg=str(key))


def test_a_bias_under_autocast_is_added_before_rounding():
    x, weight, bias = samples("conv2d")
    results = []
    for library in (flow, torch):
        with library.autocast("cpu", dtype=library.bfloat16):
            tensors = operands(library, (x, weight, bias), "float32")
            results.append(library.nn.functional.conv2d(*tensors).float().numpy())
    np.testing.assert_array_equal(*results)
