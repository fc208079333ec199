"""Rows in processes that keep arrays on the host: views like all others, but never computed."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime.lazy_array import HOST, HostArray

ARRAYS = [
    np.arange(12.0, dtype=np.float32).reshape(3, 4),
    np.arange(3),
    np.zeros((2, 0), np.float16),
    np.array([[[True]], [[False]]]),
]


@pytest.fixture(autouse=True)
def keeps_arrays(monkeypatch) -> None:
    monkeypatch.setattr(HOST, "keeps_arrays", True)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_rows_are_read_and_not_computed(array) -> None:
    x = flow.tensor(array)
    for index in range(-len(array), len(array)):
        row = x[index]
        assert type(row._value.recorder) is HostArray
        assert row.dtype is x.dtype
        np.testing.assert_array_equal(row.numpy(), array[index])
    assert len(x) == len(array)
    with pytest.raises(IndexError):
        x[len(array)]


def test_rows_share_memory_with_what_they_are_of() -> None:
    x = flow.arange(6.0).reshape(2, 3).numpy()
    x = flow.tensor(x)
    row = x[1]
    element = row[2]
    row += 10
    assert x.tolist() == [[0, 1, 2], [13, 14, 15]]
    assert element.item() == 15
    x[1, 2] = 7
    assert (row.tolist(), element.item()) == ([13, 14, 7], 7)
    assert row._is_view()
    x.zero_()
    assert row.tolist() == [0, 0, 0]
    assert x[1].tolist() == [0, 0, 0]


def test_gradients_flow_through_rows() -> None:
    x = flow.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    (x[1] * flow.tensor(np.arange(3.0, dtype=np.float32))).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 1, 2]]
    y = flow.tensor(np.ones((2, 3), np.float32))
    rows = flow.vmap(lambda row: row[0] + row[1])(y)
    assert rows.tolist() == [2, 2]
