"""Interpolation without aliases against PyTorch's."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import assert_same, random_array


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(5, 7), (40, 3), (11, 13), (1, 1), (3, 64)])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialias(mode, size, align_corners):
    array = np.random.default_rng(0).random((2, 3, 11, 13), np.float32)
    ours, theirs = flow.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    options = {"mode": mode, "antialias": True, "align_corners": align_corners}
    got = flow.nn.functional.interpolate(ours, size, **options)
    want = torch.nn.functional.interpolate(theirs, size, **options)
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=2e-6)
    (got * got).sum().backward()
    (want * want).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=2e-5, rtol=1e-5)


def test_antialias_is_for_smooth_modes():
    with pytest.raises(ValueError, match="antialias"):
        flow.nn.functional.interpolate(flow.zeros(1, 1, 4, 4), (2, 2), antialias=True)


def test_as_large_as_another_tensor():
    x, like = random_array(1, 2, 3, 4), flow.ones(5, 1, 6, 7)
    mine = flow.nn.functional.interpolate_like(flow.tensor(x), like, "bilinear", True)
    assert_same(
        mine,
        torch.nn.functional.interpolate(
            torch.tensor(x), (6, 7), mode="bilinear", align_corners=True
        ),
    )
