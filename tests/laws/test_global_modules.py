"""Every module gives what it gives locally, however its inputs and parameters lie on devices.

Results, gradients of parameters, and buffers. A few of them, all with --exhaustive.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.nn import Module
from oneflow.tensor import Tensor
from tests.nn.test_modules import ACTIVATIONS, LAYERS, LOSSES, PADDING, SPATIAL, Row
from tests.nn.twins import weighted_sum
from tests.oracle import array_difference, eager_mode, flat_tensors, to_flow

B, S = flow.sbp.broadcast, flow.sbp.split
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
# The layouts of inputs and parameters: along the batch, along rows, or differently on a grid.
WAYS = ("data", "tensor", "grid")


def laid(tensor: Tensor, way: str, is_input: bool) -> Tensor:
    """The tensor on devices, cut where there is something to cut."""
    first, last = (S(0), S(tensor.ndim - 1)) if tensor.ndim else (B, B)
    if way == "grid":
        sbp = (first, last) if is_input else (B, first)
    elif way == "data":
        sbp = (first,) if is_input else (B,)
    else:
        sbp = (last,)
    whole = tensor.to_global(PAIR if len(sbp) == 1 else GRID, (B,) * len(sbp))
    return whole.to_global(sbp=sbp)


def outcome(module: Module, inputs: list[Tensor], place: Any) -> list[np.ndarray | None]:
    """Results, gradients of parameters and buffers after one step."""
    flow.manual_seed(0)
    result = module(*inputs)
    total = weighted_sum(result, place)
    if isinstance(total, Tensor) and total.requires_grad:
        total.backward()
    tensors = [*flat_tensors(result), *(p.grad for p in module.parameters()), *module.buffers()]
    return [None if tensor is None else tensor.numpy() for tensor in tensors]


@pytest.mark.one_in(60)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", [*ACTIVATIONS, *LAYERS, *PADDING, *SPATIAL, *LOSSES], ids=str)
def test_global_modules_give_what_local_ones_give(row: Row, way: str):
    module = row.make(flow).double()
    twin = copy.deepcopy(module)
    inputs = [to_flow(array) for array in row.inputs]
    expected = outcome(module, inputs, to_flow)
    with eager_mode("cold"):
        twin._apply(lambda tensor: laid(tensor, way, False))
        inputs = [laid(tensor, way, True) for tensor in inputs]
        found = outcome(twin, inputs, lambda array: laid(to_flow(array), way, True))
    for mine, theirs in zip(found, expected, strict=True):
        if mine is None or theirs is None:
            assert mine is theirs
        else:
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
            assert not array_difference(mine, theirs, theirs.dtype.name, 10)
