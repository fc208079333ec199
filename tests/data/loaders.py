"""Helpers of the loader's tests."""

import pytest

import oneflow as flow

workers = pytest.mark.parametrize("num_workers", [0, 2])


def generator(seed=1):
    return flow.Generator().manual_seed(seed)


def numbers(loader):
    return [batch.tolist() for batch in loader]
