"""Images of bytes are resized to the nearest whole numbers, as by PyTorch."""

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
