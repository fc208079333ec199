"""Strides, which are derived from chains of views."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
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


# Sizes, strides and the position of the first element.
PLACES = [
    ((4, 8), (8, 1), 0),
    ((4, 8), (8, 1), 3),
    ((4, 8), (1, 4), 0),
    ((4, 6), (6, 1), 4),
    ((8, 4), (8, 1), 2),
    ((4, 4), (7, 1), 0),
    ((3, 2, 4), (4, 1, 1), 0),
    ((2,), (2,), 0),
    ((), (), 0),
    ((4, 3), (3, 1), 0),
    ((0, 8), (8, 1), 0),
    ((3, 0), (1, 1), 0),
]


@pytest.mark.parametrize("dtypes", [*permutations(["uint8", "float16", "int32", "complex64"], 2)])
@pytest.mark.parametrize("place", PLACES)
def test_views_of_the_bytes_are_torchs(place: tuple, dtypes: tuple[str, str]) -> None:
    """Larger elements are refused where they do not start at a whole number of them."""
    shape, strides, offset = place

    def outcome(library: Any) -> Any:
        numbers = library.arange(96, dtype=library.uint8).view(getattr(library, dtypes[0]))
        memory = library.cat([numbers] * 4)
        try:
            view = memory.as_strided(shape, strides, offset).view(getattr(library, dtypes[1]))
        except RuntimeError:
            return RuntimeError
        parts = view.reshape(-1).contiguous().view(library.uint8)
        return tuple(view.shape), view.stride(), view.storage_offset(), parts.tolist()

    assert outcome(flow) == outcome(torch)


@pytest.mark.parametrize(
    "place",
    [
        ((3, 1), (4, 7), 0),
        ((1, 3), (7, 2), 1),
        ((2, 1, 3), (3, 1, 1), 0),
        ((2, 1, 1, 2), (8, 5, 3, 2), 0),
        ((1, 1), (5, 9), 2),
        ((1,), (6,), 0),
        ((0, 2), (3, 1), 0),
    ],
)
def test_strides_of_dimensions_of_size_1_are_torchs(place: tuple) -> None:
    def strides(library: Any) -> Any:
        x = library.arange(32.0).as_strided(*place)
        ones = (1, *x.shape, 1)
        views = [x.view(x.dtype), x.view(x.shape), x.reshape(x.shape), x.view(ones), x.reshape(-1)]
        return [view.stride() for view in views]

    assert strides(flow) == strides(torch)


@pytest.mark.parametrize(
    "place",
    [place for place in PLACES if place[0][-1:] == (2,)]
    + [
        ((3, 2), (2, 1), 1),
        ((3, 2), (3, 1), 0),
        ((3, 2), (4, 1), 2),
        ((3, 2), (2, 2), 0),
        ((1, 2), (3, 1), 0),
    ],
)
def test_views_of_pairs_as_complex_numbers_are_torchs(place: tuple) -> None:
    def outcome(library: Any) -> Any:
        try:
            view = library.view_as_complex(library.arange(20.0).as_strided(*place))
        except RuntimeError:
            return RuntimeError
        return view.tolist(), view.stride(), view.storage_offset()

    assert outcome(flow) == outcome(torch)


class Pairs(flow.nn.Graph):
    def build(self, x: flow.Tensor) -> flow.Tensor:
        return flow.view_as_complex(x[:, :2])


def test_pairs_are_copied_where_views_are_copies() -> None:
    """In graphs and of global tensors, as other views are."""
    x = flow.arange(9.0).reshape(3, 3)
    expected = [1j, 3 + 4j, 6 + 7j]
    assert Pairs()(x).tolist() == expected
    whole = x.to_global(flow.placement("cpu", [0, 1]), flow.sbp.broadcast)
    assert flow.view_as_complex(whole[:, :2]).numpy().tolist() == expected


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


@pytest.mark.parametrize(
    ("memory_format", "order"),
    [("channels_last", (0, 3, 1, 2)), ("channels_last_3d", (0, 4, 1, 2, 3))],
)
def test_what_is_in_a_memory_format_is_not_copied_for_it(memory_format, order):
    def write(library, transposed):
        x = library.zeros(*range(2, 2 + len(order)))
        x = x.permute(*order) if transposed else x.transpose(0, -1)
        x.contiguous(memory_format=getattr(library, memory_format)).fill_(7)
        return x.tolist()

    for transposed in (True, False):
        assert write(flow, transposed) == write(torch, transposed)
