"""Views of samples: like all others, but a loader's are not recorded before an operator takes them.

In processes that keep arrays on the host, they have their numbers at once.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import oneflow as flow
from oneflow.data.fetch import Fetcher
from oneflow.runtime.lazy_array import HOST, HostArray
from oneflow.tensor.sample_views import make_samples

ARRAYS = [
    np.arange(12.0, dtype=np.float32).reshape(3, 4),
    np.arange(3),
    np.zeros((2, 0), np.float16),
    np.array([[[True]], [[False]]]),
]


@pytest.fixture
def keeps_arrays(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(HOST, "keeps_arrays", True)
    with make_samples():
        yield


@pytest.mark.usefixtures("keeps_arrays")
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


@pytest.mark.usefixtures("keeps_arrays")
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


@pytest.mark.usefixtures("keeps_arrays")
def test_gradients_flow_through_rows() -> None:
    x = flow.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    (x[1] * flow.tensor(np.arange(3.0, dtype=np.float32))).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 1, 2]]
    y = flow.tensor(np.ones((2, 3), np.float32))
    rows = flow.vmap(lambda row: row[0] + row[1])(y)
    assert rows.tolist() == [2, 2]


def of_shared_array(array: np.ndarray) -> flow.Tensor:
    return flow.from_numpy(array.copy())


def of_written_tensor(array: np.ndarray) -> flow.Tensor:
    x = flow.tensor(array * 0)
    x.copy_(flow.tensor(array))
    return x


def of_view(array: np.ndarray) -> flow.Tensor:
    return flow.tensor(np.concatenate([array * 0, array]))[len(array) :]


# Small memories are compared as a whole, large ones (64 KiB) part by part.
SIZES = [(6, 3, 4), (6, 50, 70)]
SOURCES = [flow.tensor, of_shared_array, of_written_tensor, of_view]
INDICES: list[Callable[[int], object]] = [
    lambda i: i,
    lambda i: i - 6,
    lambda i: (i, 1),
    lambda i: (i, 1, 2),
    lambda i: (i, slice(1, 3)),
    lambda i: (i, slice(None), slice(0, 4, 2)),
    lambda i: (slice(i, i + 1), 2),
    lambda i: (Ellipsis, i % 3),
    lambda i: (i, None, slice(2)),
]
NAMES = ["row", "negative", "two", "element", "slice", "steps", "rows", "last", "new"]


def loaded(x: flow.Tensor, index: Callable[[int], object], order: list[int]) -> flow.Tensor:
    dataset = type("Samples", (), {"__getitem__": lambda self, i: x[index(i)]})()
    return Fetcher(dataset, flow.utils.data.default_collate, True, None, False).fetch(order)


@pytest.mark.parametrize("index", INDICES, ids=NAMES)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_a_batch_holds_what_numpy_stacks(shape, source, index) -> None:
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = source(array)
    order = [3, 0, 5, 3]
    for _ in range(3):
        batch = loaded(x, index, order)
        expected = np.stack([array[index(i)] for i in order])
        np.testing.assert_array_equal(batch.numpy(), expected)
    x[3] = 7
    array[3] = 7
    again = loaded(x, index, order)
    np.testing.assert_array_equal(batch.numpy(), expected)
    np.testing.assert_array_equal(again.numpy(), np.stack([array[index(i)] for i in order]))


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("source", [flow.tensor, of_shared_array], ids=["tensor", "shared"])
@pytest.mark.parametrize("grad_mode", [flow.no_grad, flow.enable_grad])
def test_batches_are_copied_and_not_computed(shape, source, grad_mode) -> None:
    x = source(np.ones(shape, np.float32))
    with grad_mode():
        loaded(x, INDICES[0], [0, 1])  # the operation of a view is found once
        batch = loaded(x, INDICES[0], list(range(6)))
        assert batch._value.recorder is None
    assert batch.tolist() == np.ones(shape).tolist()


def test_the_owner_of_an_array_writes_between_view_and_batch() -> None:
    array = np.zeros((6, 50, 70), np.float32)
    x = flow.from_numpy(array)

    def write(i: int) -> int:
        array[i] = i + 1
        return i

    for _ in range(3):
        batch = loaded(x, write, [0, 2])
        assert batch[:, 0, 0].tolist() == [1, 3]
        array[:] = 0


def test_views_of_samples_are_views() -> None:
    x = flow.tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    x[1].sum().item()  # the operation of a view is known now
    with make_samples():
        row, part, element = x[1], x[1, 1:], x[1][2]
        assert (row + 1).tolist() == [4, 5, 6]
        row += 10
        x[1, 2] = 7
        assert (row.tolist(), part.tolist(), element.item()) == ([13, 14, 7], [14, 7], 7)
        before = x[0]
        x.requires_grad_()
        assert not before.requires_grad
        stacked = flow.stack([x[0], x[1] * 2])
    stacked.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_samples_of_one_element_keep_their_shape() -> None:
    x = flow.tensor(np.arange(6.0, dtype=np.float32).reshape(6, 1))
    array = np.arange(40000.0, dtype=np.float32).reshape(40000, 1)
    large = flow.from_numpy(array)  # which is shared as long as somebody has the array
    with make_samples():
        for _ in range(3):
            for tensor in (x, large):
                row = tensor[5]
                assert ((row > 3).shape, (row + 1).shape) == ((1,), (1,))
                assert (row.item(), tensor[5, 0:1].item(), (tensor[5] > 3).item()) == (5, 5, True)


def test_samples_that_are_computed_or_have_a_history_are_recorded() -> None:
    x = flow.tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3), requires_grad=True)
    batch = loaded(x, INDICES[0], [1, 1])
    batch.sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [2, 2, 2]]
    doubled = x.detach() * 2
    assert loaded(doubled, INDICES[0], [1, 0]).tolist() == [[6, 8, 10], [0, 2, 4]]
