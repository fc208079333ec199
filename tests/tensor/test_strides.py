"""Strides, which are derived from chains of views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

# Each takes a matrix to a matrix of as many elements.
MATRIX_VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.t(),
    lambda x: x.reshape(x.shape[1], x.shape[0]),
    lambda x: x.reshape(2, -1),
    lambda x: x.unsqueeze(1).squeeze(1),
    lambda x: x.transpose_(0, 1),
    lambda x: x.detach(),
    lambda x: x.data,
    lambda x: x[:],
)


@pytest.mark.parametrize("seed", range(20))
def test_strides_of_views_of_views_are_torchs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    views, asked = rng.integers(len(MATRIX_VIEWS), size=12), rng.integers(2, size=12)
    mine, theirs = flow.ones(4, 7)[:, 1:], torch.ones(4, 7)[:, 1:]
    for view, is_asked in zip(views, asked, strict=True):
        before = mine, theirs
        mine, theirs = MATRIX_VIEWS[view](mine), MATRIX_VIEWS[view](theirs)
        if is_asked:
            assert mine.stride() == theirs.stride()
            assert mine.storage_offset() == theirs.storage_offset()
            assert [tensor.is_contiguous() for tensor in before] == [before[1].is_contiguous()] * 2
    assert mine.stride() == theirs.stride()
