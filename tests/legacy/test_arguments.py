"""Arrays that jobs take for their arguments, whose numbers must fit."""

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("dtype", "given"), [(flow.float32, np.float64), (flow.int32, np.int64), (flow.int64, np.int8)]
)
def test_arrays_of_another_size_of_number(dtype, given):
    @flow.global_function()
    def job(
        x: tp.Numpy.Placeholder((2, 3), dtype), y: tp.ListNumpy.Placeholder((2, 3), dtype)
    ) -> tuple[tp.Numpy, tp.ListNumpy]:
        return x, y

    x, (y,) = job(X.astype(given), [X.astype(given)])
    for array in (x, y):
        assert array.dtype == dtype.numpy
        assert array.tolist() == X.tolist()


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        (flow.int32, np.array([1, 2**40 + 5])),
        (flow.int32, np.array([1, -(2**31) - 1])),
        (flow.int8, np.array([1, 128], np.uint8)),
        (flow.int64, np.array([1, 2**64 - 1], np.uint64)),
        (flow.float32, np.array([np.nan, 1e39])),
        (flow.float16, np.array([1, 70_000])),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_that_do_not_fit(dtype, given):
    @flow.global_function()
    def job(
        x: tp.Numpy.Placeholder((2,), dtype), y: tp.ListNumpy.Placeholder((2,), dtype)
    ) -> tp.Numpy:
        return x

    ones = np.ones_like(given)
    for name, arguments in (("x", (given, [ones])), (r"y\[0\]", (ones, [given]))):
        with pytest.raises(ValueError, match=f"`{name}` must hold numbers that fit into"):
            job(*arguments)
    assert job(ones, [ones]).tolist() == [1, 1]


def test_infinite_numbers_stay_so():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return x

    np.testing.assert_array_equal(job(np.array([np.nan, -np.inf])), [np.nan, -np.inf])
