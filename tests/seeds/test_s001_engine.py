"""Features named by the v0.6.0 release notes: the eager engine."""

import pytest
from benchmarks.eager_small_batch import steps_per_second

import oneflow as flow

T = flow.tensor


def test_s001_04_small_batches_do_not_compile():
    # Programs are compiled when they have come a few times; the first step is one of its own.
    for _ in range(8):
        steps_per_second(flow, steps=10, warm_up=0)
    flow.eager.statistics().reset()
    steps_per_second(flow, steps=10, warm_up=0)
    assert flow.eager.statistics().program_compiles == 0


def test_s001_05_a_thousand_operations_are_one_flush():
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    x = flow.zeros(2)
    for _ in range(1000):
        x = x + 1.0
    assert x.tolist() == [1000.0, 1000.0]
    assert flow.eager.statistics().flushes.total() == 1


def test_s001_06_getitem_and_setitem():
    x = flow.arange(12).reshape(3, 4)
    x[0, 1] = 9
    assert x[0][1].item() == 9
    x[0][2] = 7
    assert x.tolist() == [[0, 9, 7, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_s001_06_a_moving_index_compiles_once():
    x = flow.arange(64)
    x[0].item(), x[1].item(), x[2].item(), x[3].item()
    flow.eager.statistics().reset()
    assert [x[i].item() for i in range(64)] == list(range(64))
    assert flow.eager.statistics().program_compiles == 0
    assert flow.eager.statistics().operation_compiles == 0


def test_s001_07_numel():
    assert flow.ones(3, 4).numel() == 12
    assert flow.ones(0, 4).numel() == 0
    assert flow.tensor(1.0).numel() == 1


def test_s001_08_size():
    size = flow.Size([2, 3])
    assert size.numel() == 6
    assert size == (2, 3)
    assert repr(size) == "oneflow.Size([2, 3])"
    assert flow.ones(2, 3).shape == size


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (([1], "int64"), ([1.5], "float32"), "float32"),
        (([1], "int8"), ([1], "int32"), "int32"),
        (([1.0], "float32"), ([1.0], "float64"), "float64"),
        (([True], "bool"), ([1], "uint8"), "uint8"),
        (([1], "int64"), 1.5, "float32"),
        (([1.0], "float16"), (1.0, "float64"), "float16"),
    ],
)
def test_s001_16_dtypes_are_promoted(left, right, expected):
    left, right = (
        T(operand[0], dtype=getattr(flow, operand[1])) if isinstance(operand, tuple) else operand
        for operand in (left, right)
    )
    result = left + right
    assert result.dtype is getattr(flow, expected)
    number = right.item() if isinstance(right, flow.Tensor) else right
    assert result.item() == left.item() + number
