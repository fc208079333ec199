"""Weights of small integers in groups, against their definition in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow import _C

RNG = np.random.default_rng(5)
SHAPE = (4, 6, 8)


def case(bits: int, kind: str, dimension: int, groups: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Integers, one in each, a factor and what 0 stands for in each group."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if kind == "int8" else (0, 2**bits)
    numbers = RNG.integers(low, high, SHAPE).astype(kind)
    shape = [*SHAPE]
    shape[dimension] = groups
    return numbers, RNG.uniform(0.5, 2, shape).astype(np.float32), RNG.normal(size=shape)


def packed(numbers: np.ndarray) -> np.ndarray:
    """Numbers of four bits, two in each, the first in the upper half."""
    return (numbers[..., ::2] << 4) | (numbers[..., 1::2] & 0xF)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("kind", "symmetric"), [("int8", 1), ("uint8", 1), ("uint8", 0)])
@pytest.mark.parametrize(("dimension", "groups"), [(0, 2), (1, 3), (2, 4), (-1, 1)])
def test_groups(bits: int, kind: str, symmetric: int, dimension: int, groups: int) -> None:
    numbers, scale, zero = case(bits, kind, dimension, groups)
    size = SHAPE[dimension] // groups
    factors = np.repeat(scale, size, dimension)
    offset = 2 ** (bits - 1) - 1 if kind == "uint8" and symmetric else 0
    right = (numbers.astype(np.float32) - offset) * factors
    if not symmetric:
        right = right + np.repeat(zero, size, dimension)
    options = {
        "num_bits": bits,
        "symmetric": bool(symmetric),
        "group_dim": dimension,
        "group_size": -1 if groups == 1 else size,
    }
    integers = flow.tensor(packed(numbers) if bits == 4 else numbers)
    zeros = None if symmetric else flow.tensor(zero.astype(np.float32))
    scales = flow.tensor(scale)
    found = _C.groupwise_dequantize(integers, scales, zero=zeros, **options)
    np.testing.assert_allclose(found.numpy(), right, rtol=1e-5, atol=1e-5)
    if dimension != 0:
        x, b = RNG.normal(size=(3, 8)).astype(np.float32), RNG.normal(size=6).astype(np.float32)
        options["group_dim"] = dimension if dimension < 0 else dimension - 1
        found = _C.fused_linear_with_groupwise_quantized_weight(
            flow.tensor(x),
            integers[0],
            scales[0],
            w_zero=None if zeros is None else zeros[0],
            b=flow.tensor(b),
            **options,
        )
        np.testing.assert_allclose(found.numpy(), x @ right[0].T + b, rtol=1e-4, atol=1e-4)


INTEGERS, SCALE = flow.ones(2, 4, dtype=flow.int8), flow.ones(2, 2)


@pytest.mark.parametrize(
    ("integers", "scale", "options", "text"),
    [
        (INTEGERS, SCALE, {"num_bits": 5}, "`num_bits` must be 4 or 8"),
        (INTEGERS.float(), SCALE, {}, "of uint8 or int8"),
        (INTEGERS, SCALE, {"symmetric": False}, "`zero` must be given"),
        (INTEGERS, SCALE, {"zero": SCALE}, "`zero` must be given"),
        (INTEGERS, SCALE, {"zero": SCALE, "symmetric": False}, "`input` be of uint8"),
        (INTEGERS, SCALE, {"group_size": 3}, "`group_size` must divide 4"),
        (INTEGERS, SCALE, {"group_size": 1}, r"got 1 and the shape \[2, 2\]"),
    ],
)
def test_arguments_that_do_not_fit(
    integers: flow.Tensor, scale: flow.Tensor, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(RuntimeError, match=text):
        _C.groupwise_dequantize(integers, scale, **options)
