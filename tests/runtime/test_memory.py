"""Arrays given to devices: copied, or taken over without a copy."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime.memory import empty_aligned
from oneflow.tensor.transfer import wrap_numpy


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.bool_, np.complex64])
@pytest.mark.parametrize("shape", [(), (0, 3), (5, 7), (300, 401)], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_tensor_of_an_array_is_a_copy(
    dtype: type, shape: tuple[int, ...], transposed: bool
) -> None:
    given = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    given = given.T if transposed else given
    before = given.copy()
    tensor = flow.tensor(given)
    given[...] = 1 - before
    np.testing.assert_array_equal(tensor.numpy(), before)
    assert tensor.numpy().dtype == before.dtype


@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (300, 401)], ids=str)
def test_an_adopted_array_keeps_its_memory(shape: tuple[int, ...]) -> None:
    array = empty_aligned(shape, np.dtype(np.float64))
    array[...] = 2.5
    assert array.shape == shape
    tensor = wrap_numpy(array)
    if array.nbytes:
        assert array.ctypes.data % 64 == 0
        assert np.shares_memory(np.asarray(tensor._read()), array)
    # Changes of the tensor do not reach the array's other readers.
    tensor.add_(1)
    assert (tensor.numpy() == 3.5).all()


def test_arrays_are_put_by_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    # `device_put` takes any tree and needs twice as long: as long as a small program.
    monkeypatch.setattr(jax, "device_put", None)
    numbers = flow.tensor(np.arange(3))
    assert numbers.tolist() == [0, 1, 2]
    assert flow.unique(numbers).tolist() == [0, 1, 2]
    assert numbers._read().committed
