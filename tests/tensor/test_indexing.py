"""``x[...]`` and ``x[...] = value`` against PyTorch's, for reading, writing and gradients."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.runtime.counters import STATISTICS
from tests.oracle import eager_mode

SHAPE = (3, 4, 2)


def whole(lib: Any, *values: Any) -> Any:
    """An index tensor of either library."""
    return lib.tensor(values[0] if len(values) == 1 else list(values))


# Every entry makes an index for a tensor of shape (3, 4, 2).
INDICES: dict[str, Callable[[Any], Any]] = {
    "number": lambda lib: 1,
    "negative": lambda lib: -1,
    "numbers": lambda lib: (2, -4, 0),
    "numpy number": lambda lib: np.int64(2),
    "slice": lambda lib: slice(1, None),
    "slices": lambda lib: (slice(None), slice(0, 3, 2), slice(-1, None)),
    "empty slice": lambda lib: slice(2, 1),
    "slice past the end": lambda lib: (slice(-9, 9), slice(5, 7)),
    "none": lambda lib: None,
    "none inside": lambda lib: (0, None, slice(1, 3), None),
    "ellipsis": lambda lib: Ellipsis,
    "ellipsis first": lambda lib: (..., 1),
    "ellipsis inside": lambda lib: (0, ..., slice(0, 1)),
    "everything": lambda lib: slice(None),
    "nothing": lambda lib: (),
    "index": lambda lib: whole(lib, 2, 0, 2),
    "index of two dims": lambda lib: whole(lib, [[0, -1], [1, 1]]),
    "list": lambda lib: [0, 2],
    "array": lambda lib: np.array([2, 1]),
    "0-dim index": lambda lib: whole(lib, 1),
    "index in the middle": lambda lib: (slice(None), whole(lib, 3, 1)),
    "neighbours": lambda lib: (slice(1, 3), whole(lib, 3, 1), whole(lib, 0, 1)),
    "apart": lambda lib: (whole(lib, 2, 1), slice(None), whole(lib, 0, 1)),
    "apart with none": lambda lib: (whole(lib, 2, 1), None, whole(lib, 0, 3)),
    "broadcast": lambda lib: (whole(lib, [[0], [2]]), whole(lib, 1, 3)),
    "index and number": lambda lib: (1, whole(lib, 3, 0)),
    "index and number apart": lambda lib: (whole(lib, 2, 0), slice(None), 1),
    "number and index apart": lambda lib: (0, slice(None), whole(lib, 1, 0)),
    "index and 0-dim": lambda lib: (whole(lib, 2, 0), whole(lib, 1)),
    "index and slice": lambda lib: (whole(lib, 2, 0), slice(1, 3)),
    "empty index": lambda lib: lib.tensor([], dtype=lib.int64),
    "empty list": lambda lib: [],
    "int32": lambda lib: whole(lib, 2, 0).to(lib.int32),
    "mask": lambda lib: whole(lib, True, False, True),
    "mask as list": lambda lib: [True, False, True],
    "mask of two dims": lambda lib: whole(lib, [[True, False, True, True]] * 3),
    "full mask": lambda lib: whole(lib, [[[True, False]] * 4] * 3),
    "mask of nothing": lambda lib: whole(lib, False, False, False),
    "mask in the middle": lambda lib: (slice(1, 2), whole(lib, True, False, True, True)),
    "mask and index": lambda lib: (whole(lib, True, False, True), whole(lib, 1, 2)),
    "mask and slice": lambda lib: (whole(lib, True, False, True), slice(0, 2)),
    "uint8 mask": lambda lib: whole(lib, 1, 0, 1).to(lib.uint8),
    "true": lambda lib: True,
    "false": lambda lib: False,
    "0-dim mask": lambda lib: whole(lib, True),
    "true and slice": lambda lib: (True, slice(0, 1)),
}
BAD: dict[str, Callable[[Any], Any]] = {
    "too large": lambda lib: 3,
    "too small": lambda lib: -4,
    "second too large": lambda lib: (0, 4),
    "too many": lambda lib: (0, 0, 0, 0),
    "float": lambda lib: 1.5,
    "text": lambda lib: "one",
    "float index": lambda lib: lib.tensor([1.0]),
    "index too large": lambda lib: whole(lib, 0, 3),
    "index too small": lambda lib: whole(lib, -4, 0),
    "second index too large": lambda lib: (whole(lib, 0, 1), whole(lib, 0, 4)),
    "mask of other shape": lambda lib: whole(lib, True, False),
    "mask of other inner shape": lambda lib: whole(lib, [[True, False]] * 3),
    "no broadcast": lambda lib: (whole(lib, 0, 1), whole(lib, 0, 1, 2)),
    "slice of floats": lambda lib: slice(0.0, 2.0),
    "slice of text": lambda lib: (0, slice("0", "1")),
    "float and slice of floats": lambda lib: (0.0, slice(0.0, 1.0)),
    "negative step": lambda lib: slice(None, None, -1),
    "0-dim too large": lambda lib: whole(lib, 3),
}
NAMES = sorted(INDICES)
BASE = np.arange(24.0).reshape(SHAPE) / 8


@pytest.fixture(autouse=True)
def _cold():
    with eager_mode("cold"):
        yield


def leaf(lib: Any) -> Any:
    return lib.tensor(BASE, requires_grad=True)


def array(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_reading(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = leaf(lib)
        part = x[INDICES[name](lib)]
        (part * part).sum().backward()
        results.append((part, x.grad))
    (mine, my_grad), (theirs, their_grad) = results
    assert tuple(mine.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(array(mine), array(theirs))
    np.testing.assert_array_equal(array(my_grad), array(their_grad))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "uint8 mask"])
@pytest.mark.filterwarnings("ignore")
def test_writing_a_number(name: str) -> None:
    results = []
    for lib in (flow, torch):
        x = leaf(lib)
        y = x * 2
        y[INDICES[name](lib)] = 0.25
        (y * y).sum().backward()
        results.append((y, x.grad))
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(array(mine), array(theirs))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_writing_a_tensor(name: str) -> None:
    shape = torch.zeros(SHAPE)[INDICES[name](torch)].shape
    repeated = "index" in name and name not in ("index and slice",)
    values = np.full(shape, 0.5) if repeated else np.arange(float(np.prod(shape))).reshape(shape)
    results = []
    for lib in (flow, torch):
        x, v = leaf(lib), lib.tensor(values, requires_grad=True)
        y = x * 2
        y[INDICES[name](lib)] = v * 3
        (y * y).sum().backward()
        results.append((y, x.grad, *([] if repeated or name == "false" else [v.grad])))
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(array(mine), array(theirs))


def written(x: flow.Tensor, index: Any) -> flow.Tensor:
    x[index] = 1.0
    return x


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_indices(name: str) -> None:
    errors = []
    for lib in (flow, torch):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            leaf(lib)[BAD[name](lib)].tolist()
        errors.append(caught.type)
    assert errors[0] is errors[1]
    with pytest.raises((IndexError, TypeError, ValueError, RuntimeError)):
        written(flow.zeros(SHAPE), BAD[name](flow)).tolist()


def test_the_error_names_index_and_size() -> None:
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 1 with size 4"):
        flow.zeros(3, 4)[flow.tensor([0]), flow.tensor([7])].numpy()
    with pytest.raises(IndexError, match="index -5 is out of bounds for dimension 1 with size 4"):
        flow.zeros(3, 4)[0, -5]


@pytest.mark.parametrize(
    "assign",
    [
        lambda lib, x: x.__setitem__(0, lib.zeros(3)),
        lambda lib, x: x.__setitem__(slice(None), lib.zeros(2, 2, 4, 2)),
        lambda lib, x: x.__setitem__(lib.tensor([0, 1]), lib.zeros(3, 1, 1)),
        lambda lib, x: x.__setitem__(lib.tensor([0, 1]), lib.zeros(2, 1, 1, dtype=lib.int32)),
        lambda lib, x: x.__setitem__(x > 0, lib.zeros(5)),
        lambda lib, x: x.__setitem__(0, 1 + 2j),
        lambda lib, x: x.__setitem__(x > 0, 1j),
        lambda lib, x: x.fill_(1j),
        lambda lib, x: x.masked_fill_(x > 0, 1j),
        lambda lib, x: lib.full_like(x, 1j),
    ],
)
def test_values_that_do_not_fit(assign: Callable) -> None:
    for lib in (flow, torch):
        with pytest.raises(RuntimeError):
            assign(lib, lib.zeros(3, 4, 2))


@pytest.mark.parametrize(
    "value", [True, 2, 2.7, np.float64(1.5), "0-dim", "one element", "more dims", "other dtype"]
)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_values_are_converted(value: Any, dtype: str) -> None:
    results = []
    for lib in (flow, torch):
        given = {
            "0-dim": lambda lib=lib: lib.tensor(3.5),
            "one element": lambda lib=lib: lib.tensor([2.5]),
            "more dims": lambda lib=lib: lib.tensor([[[1.5, 0.0]]]),
            "other dtype": lambda lib=lib: lib.tensor([1, 0], dtype=lib.int16),
        }.get(value, lambda value=value: value)()
        x = lib.zeros(3, 2, dtype=getattr(lib, dtype))
        x[1] = given
        results.append(array(x))
    np.testing.assert_array_equal(*results)


def test_overlapping_assignment_takes_the_old_values() -> None:
    x = flow.arange(5)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3]


def test_a_mask_with_a_number_reads_nothing() -> None:
    x = flow.arange(5.0)
    before = STATISTICS.flushes.copy()
    x[x > 2] = 0.0
    x[x < 1] = flow.tensor(7.0)
    assert STATISTICS.flushes == before
    assert x.tolist() == [7, 1, 2, 7, 7]


def test_a_loop_over_an_index_compiles_once() -> None:
    x = flow.arange(12.0).reshape(6, 2)

    def step(i: int) -> float:
        row = x[i] + x[i, 1] + x[i : i + 1].sum()
        x[i] = 0.5
        return row.sum().item()

    step(0)
    step(1)
    before = STATISTICS.operation_compiles, STATISTICS.new_programs
    for i in range(2, 6):
        step(i)
    assert (STATISTICS.operation_compiles, STATISTICS.new_programs) == before


def test_iteration_membership_and_lists() -> None:
    x = flow.arange(6).reshape(3, 2)
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert 4 in x
    assert 9 not in x
    assert len(x) == 3
    rows = list(x)
    rows[1][0] = 7
    assert x[1, 0].item() == 7
    with pytest.raises(TypeError, match="0-d tensor"):
        iter(flow.tensor(1))
    with pytest.raises(TypeError):
        del x[0]


def test_indices_like_one_another_hold_no_tensor() -> None:
    """An index is taken apart once; what is remembered of it has none of its tensors."""
    x = flow.arange(24).reshape(2, 3, 4)
    expected = np.arange(24).reshape(2, 3, 4)
    for places in ([0, 2], [1, 1], [-1, 0]):
        index = flow.tensor(places)
        np.testing.assert_array_equal(x[1, :, index].numpy(), expected[1][:, places])
        np.testing.assert_array_equal(x[:, index, 1:].numpy(), expected[:, places, 1:])
        np.testing.assert_array_equal(x[..., index].numpy(), expected[..., places])
        reference = weakref.ref(index)
        del index
        assert reference() is None
