"""Integers are resized to the nearest whole numbers, as by PyTorch, or refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow

IMAGES = np.random.default_rng(0).integers(0, 256, (2, 3, 40, 30)).astype(np.uint8)
SIZES = [(32, 32), (60, 50), (1, 30), (40, 17), (120, 90)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_are_rounded(mode, align_corners, antialias, size):
    options = {"mode": mode, "align_corners": align_corners, "antialias": antialias}
    expected, found = (
        f.nn.functional.interpolate(f.tensor(IMAGES), size, **options).numpy().astype(int)
        for f in (torch, flow)
    )
    difference = np.abs(expected - found)
    # PyTorch's weights are fractions of 16 bits, which tell where halves go.
    assert difference.max() <= 2
    assert difference.mean() < 0.1


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_bytes_are_bytes_of_the_image(mode):
    expected, found = (
        f.nn.functional.interpolate(f.tensor(IMAGES), (17, 55), mode=mode).tolist()
        for f in (torch, flow)
    )
    assert expected == found


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_other_integers_are_rounded(dtype):
    x = flow.tensor([[[-3, 0, 7, 8]]], dtype=getattr(flow, dtype))
    found = flow.nn.functional.interpolate(x, 8, mode="linear")
    means = flow.nn.functional.interpolate(x.double(), 8, mode="linear")
    assert found.tolist() == (means + 0.5).floor().long().tolist()
    assert found.dtype is x.dtype


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_the_largest_and_smallest_integers_stay_so(dtype):
    limits = np.iinfo(dtype)
    x = np.array([[[limits.min] * 2], [[limits.max] * 2]], dtype)
    found = flow.nn.functional.interpolate(flow.tensor(x), 4, mode="linear").numpy()
    # Means of int64 are float64, which has no larger number below 2**63.
    largest = min(limits.max, 2**63 - 1024)
    assert found.tolist() == [[[limits.min] * 4], [[largest] * 4]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize("size", [(5, 7), (5, 6), (1, 1), (1, 7), (2, 3)], ids=str)
def test_areas_of_integers_are_refused(dtype, size):
    for framework in (torch, flow):
        x = framework.ones(1, 2, 5, 7, dtype=getattr(framework, dtype))
        with pytest.raises(RuntimeError):
            framework.nn.functional.interpolate(x, size, mode="area")
        with pytest.raises(RuntimeError):
            framework.nn.functional.adaptive_avg_pool2d(x, size)


@pytest.mark.parametrize("size", [(5, 7), (2, 3)], ids=str)
def test_means_of_truth_values_are_refused(size):
    for framework in (torch, flow):
        x = framework.ones(1, 2, 5, 7, dtype=framework.bool)
        for mode in ("bilinear", "bicubic"):
            with pytest.raises(NotImplementedError):
                framework.nn.functional.interpolate(x, size, mode=mode)
