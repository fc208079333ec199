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
        (T([1]), T([1.5]), flow.float32),
        (T([1], dtype=flow.int8), T([1], dtype=flow.int32), flow.int32),
        (T([1.0], dtype=flow.float32), T([1.0], dtype=flow.float64), flow.float64),
        (T([True]), T([1], dtype=flow.uint8), flow.uint8),
        (T([1], dtype=flow.int64), 1.5, flow.float32),
        (T([1.0], dtype=flow.float16), T(1.0, dtype=flow.float64), flow.float16),
    ],
)
def test_s001_16_dtypes_are_promoted(left, right, expected):
    result = left + right
    assert result.dtype is expected
    number = right.item() if isinstance(right, flow.Tensor) else right
    assert result.item() == left.item() + number
