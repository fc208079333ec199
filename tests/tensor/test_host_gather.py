"""Elements, rows and masks of a large array's tensor: read without a look at the whole array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.tensor.host_memory import HostMemory

Read = Callable[[Any, Any], Any]
READS: dict[str, Read] = {
    "rows": lambda f, x: x[f.tensor([3, 0, 3])],
    "rows_from_the_end": lambda f, x: x[f.tensor([-1, 2])],
    "columns": lambda f, x: x[:, f.tensor([5, 1])],
    "pairs": lambda f, x: x[f.tensor([1, 2]), f.tensor([0, 7])],
    "broadcast_pairs": lambda f, x: x[f.tensor([[1], [2]]), f.tensor([0, 7])],
    "rows_of_a_part": lambda f, x: x[1:200:2, 3:][f.tensor([4, 4, 0])],
    "rows_of_a_transpose": lambda f, x: x.t()[f.tensor([4, 4, 0])],
    "rows_of_another_shape": lambda f, x: x.reshape(-1, 16, 16)[f.tensor([0, 8]), f.tensor([1, 3])],
    "separate_dimensions": lambda f, x: x.reshape(-1, 16, 16)[f.tensor([0, 8]), :, f.tensor([1])],
    "number_and_positions": lambda f, x: x[2, f.tensor([1, 9])],
    "one_position": lambda f, x: x[f.tensor(3)],
    "no_rows": lambda f, x: x[f.tensor([], dtype=f.int64)],
    "mask": lambda f, x: x[f.arange(x.shape[0]) % 50 == 3],
    "index_select": lambda f, x: x.index_select(1, f.tensor([3, 3])),
    "embedding": lambda f, x: f.nn.functional.embedding(f.tensor([[3, 0], [1, 1]]), x),
    "element": lambda f, x: x[3, 7].item(),
    "condition": lambda f, x: bool(x[3, 7] > x[0, 1]),
    "row_and_slice": lambda f, x: (x[3], x[2:4]),
}


def _array() -> np.ndarray:
    return np.arange(256.0 * 256, dtype=np.float32).reshape(256, 256) % 977


@pytest.mark.parametrize("name", READS)
def test_reads_see_what_the_array_holds_and_look_at_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: HostMemory, storage: Any) -> None:
        raise AssertionError("the whole array is compared")

    ours, theirs = _array(), _array()
    x, y = flow.from_numpy(ours), torch.from_numpy(theirs)
    for change in (0, 1000, 10_000):
        if change:  # a view of a new kind is made of the whole
            monkeypatch.setattr(HostMemory, "_take_over", refuse)
        ours[3] += change
        theirs[3] += change
        results = READS[name](flow, x), READS[name](torch, y)
        for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
            if isinstance(other, torch.Tensor):
                np.testing.assert_array_equal(one.numpy(), other.numpy())
            else:
                assert one == other


def test_a_write_of_the_tensor_is_read() -> None:
    array = _array()
    x = flow.from_numpy(array)
    x[3, 7] = -5.0
    x.mul_(2)
    assert x[flow.tensor([3])][0, 7].item() == array[3, 7] == -10
    assert x[3, 7].item() == -10


def test_what_was_read_is_a_tensor_of_its_own() -> None:
    array = _array()
    x = flow.from_numpy(array)
    rows = x[flow.tensor([3, 4])]
    array[3] = -1
    rows[1] = 5
    assert rows[0, 1].item() == _array()[3, 1]
    assert array[4, 0] == _array()[4, 0]


def test_positions_that_do_not_exist_are_errors() -> None:
    x = flow.from_numpy(array := _array())
    for read in (
        lambda: x[flow.tensor([256])],
        lambda: x[flow.tensor(256)],
        lambda: x[flow.tensor(-257)],
        lambda: x.index_select(0, flow.tensor([-1])),
    ):
        with pytest.raises(IndexError):
            read().numpy()
    assert array[0, 1] == x[0, 1].item() == 1


def test_a_leaf_gets_its_gradient() -> None:
    array = _array()
    x = flow.from_numpy(array).requires_grad_()
    array[3, 0] = 7
    (x[flow.tensor([3, 3])] ** 2).sum().backward()
    assert x.grad is not None
    assert x.grad[3, 0].item() == 28


def test_a_graph_and_a_map_read_rows() -> None:
    array = _array()
    x = flow.from_numpy(array)

    class Rows(flow.nn.Graph):
        def build(self, index: flow.Tensor) -> flow.Tensor:
            return x[index] + 1

    graph = Rows()
    assert graph(flow.tensor([3]))[0, 0].item() == array[3, 0] + 1
    mapped = flow.func.vmap(lambda index: x[index] * 2)(flow.tensor([1, 3]))
    np.testing.assert_array_equal(mapped.numpy(), array[[1, 3]] * 2)
