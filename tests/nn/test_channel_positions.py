"""Pooling of images whose channels come last: the same as of images whose channels come first."""

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

POOLS = {
    "adaptive_avg_pool2d": lambda x, **options: F.adaptive_avg_pool2d(x, (2, 3), **options),
    "adaptive_max_pool2d": lambda x, **options: F.adaptive_max_pool2d(x, (2, 3), **options),
    "even adaptive_max_pool2d": lambda x, **options: F.adaptive_max_pool2d(x, 2, **options),
    "adaptive_max_pool2d with indices": lambda x, **options: F.adaptive_max_pool2d(
        x, (2, 3), True, **options
    )[1],
    "even adaptive_max_pool2d with indices": lambda x, **options: F.adaptive_max_pool2d(
        x, 2, True, **options
    )[1],
    "avg_pool2d": lambda x, **options: F.avg_pool2d(x, 2, **options),
    "max_pool2d": lambda x, **options: F.max_pool2d(x, 2, **options),
    "AdaptiveAvgPool2d": lambda x, **options: nn.AdaptiveAvgPool2d((2, 3), **options)(x),
    "AdaptiveMaxPool2d": lambda x, **options: nn.AdaptiveMaxPool2d((2, 3), **options)(x),
}


@pytest.mark.parametrize("name", POOLS)
def test_channels_may_come_last(name):
    x = flow.randperm(144).float().reshape(2, 3, 4, 6)  # their means are exact in any order
    expected = POOLS[name](x)
    assert flow.equal(POOLS[name](x, data_format="channels_first"), expected)
    last = POOLS[name](x.permute(0, 2, 3, 1), data_format="channels_last")
    assert flow.equal(last, expected.permute(0, 2, 3, 1))
