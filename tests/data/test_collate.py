"""From samples to batches: as PyTorch does it."""

from collections import namedtuple

import numpy as np
import pytest
import torch

import oneflow as flow

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    "batch",
    [
        [1, 2],
        [1.5, 2.5],
        [True, False],
        ["a", "b"],
        [b"a", b"b"],
        [np.float32(1), np.float32(2)],
        [np.arange(3), np.arange(3)],
        [(1, "a"), (2, "b")],
        [[1, [2.0]], [3, [4.0]]],
        [{"a": 1, "b": [2]}, {"a": 3, "b": [4]}],
        [Pair(1, 2.0), Pair(3, 4.0)],
    ],
    ids=str,
)
def test_default_collate_equals_torch(batch):
    mine = flow.utils.data.default_collate(batch)
    theirs = torch.utils.data.default_collate(batch)
    assert repr(described(mine)) == repr(described(theirs))
    converted = flow.utils.data.default_convert(batch)
    assert repr(described(converted)) == repr(described(torch.utils.data.default_convert(batch)))


def described(value):
    """A nesting with tensors as dtype and numbers."""
    if isinstance(value, flow.Tensor | torch.Tensor):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict):
        return {name: described(part) for name, part in value.items()}
    if isinstance(value, Pair):
        return Pair(*map(described, value))
    return type(value)(map(described, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        ([np.ones(2), np.ones(3)], RuntimeError),
        ([(1, 2), (1,)], RuntimeError),
        ([object(), object()], TypeError),
        ([np.array(["a"]), np.array(["b"])], TypeError),
    ],
)
def test_default_collate_refuses_what_torch_refuses(batch, error):
    with pytest.raises(error):
        flow.utils.data.default_collate(batch)
    with pytest.raises(error):
        torch.utils.data.default_collate(batch)
