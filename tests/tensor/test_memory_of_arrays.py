"""Writes to an array of the user's after it became a tensor: the tensor has memory of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow

PAIR, BROADCAST = flow.placement("cpu", [0, 1]), flow.sbp.broadcast
ONE = flow.placement("cpu", [0])


def assigned(array: np.ndarray) -> flow.Tensor:
    x = flow.zeros(array.shape)
    x[:] = flow.tensor(array)
    return x


def loaded(array: np.ndarray) -> flow.Tensor:
    layer = flow.nn.Linear(1, array.size)
    layer.load_state_dict({"weight": flow.tensor(array)[:, None], "bias": flow.tensor(array)})
    return layer.bias.detach()


def collated(array: np.ndarray) -> flow.Tensor:
    return flow.utils.data.default_collate([array])


DOORS: dict[str, Callable[[np.ndarray], flow.Tensor]] = {
    "tensor": flow.tensor,
    "Tensor": flow.Tensor,
    "new_tensor": lambda array: flow.ones(1).new_tensor(array),
    "an operand": lambda array: flow.zeros(array.shape) + array,
    "assigned": assigned,
    "loaded": loaded,
    "collated": collated,
    "a global tensor": lambda array: flow.tensor(array, placement=ONE, sbp=BROADCAST),
    "on two devices": lambda array: flow.tensor(array, placement=PAIR, sbp=BROADCAST),
    "split over two": lambda array: flow.tensor(array, placement=PAIR, sbp=flow.sbp.split(0)),
    "summands on two": lambda array: flow.tensor(array, placement=PAIR, sbp=flow.sbp.partial_sum),
    "made global": lambda array: flow.tensor(array).to_global(PAIR, BROADCAST),
}


def aligned(size: int) -> np.ndarray:
    """An array of ones in memory that XLA would use as it is."""
    memory = np.empty(4 * size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + 4 * size].view(np.float32)
    array[:] = 1
    return array


@pytest.mark.parametrize("size", [4, 1000, 100_000])
@pytest.mark.parametrize("name", DOORS)
def test_later_writes_to_an_array_change_no_tensor(name: str, size: int) -> None:
    array: Any = aligned(size)
    tensor = DOORS[name](array)
    array[:] = 3
    np.testing.assert_array_equal(tensor.numpy().ravel(), np.ones(size, np.float32))
    tensor.mul_(2)
    np.testing.assert_array_equal(array, np.full(size, 3, np.float32))
