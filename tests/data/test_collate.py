"""From samples to batches: as PyTorch does it."""

from collections import namedtuple

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.in_place import in_place_of

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
        [1, 2.5],
        [True, 2.5],
        [True, 2],
        [2.5, True],
        [np.float32(1), 2.5],
        [np.int32(1), 2],
        [np.int16(1), np.float32(2)],
        [1, np.float64(2)],
        [np.float64(1), 1],
        [(1, "a"), (2.5, "b")],
        [np.arange(3), np.arange(3) + 1],
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


def test_functions_of_types_are_those_given():
    found = []
    for framework in (torch, in_place_of("torch")):
        module = (
            torch.utils.data._utils.collate
            if framework is torch
            else in_place_of("torch.utils.data._utils.collate")
        )
        functions = {**module.default_collate_fn_map, str: lambda batch, **_: "".join(batch)}
        batch = [{"a": ("x", framework.ones(2), 1)}, {"a": ("y", framework.zeros(2), 2)}]
        joined = module.collate(batch, collate_fn_map=functions)["a"]
        single = [
            module.collate_int_fn([1, 2]).tolist(),
            module.collate_float_fn([1.5, 2]).tolist(),
            module.collate_str_fn(["a", "b"]),
            module.collate_numpy_array_fn(
                [np.ones(2)] * 2, collate_fn_map=module.default_collate_fn_map
            ).tolist(),
        ]
        found.append([joined[0], joined[1].tolist(), joined[2].tolist(), *single])
    assert found[0] == found[1]
