"""Shapes that do not broadcast are refused in the words of PyTorch, which libraries look for."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import oneflow as flow


def _outcome(library: Any, shapes: tuple[Any, ...]) -> Any:
    try:
        return tuple(library.broadcast_shapes(*shapes))
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (4, 3)),
        ((1, 3, 1), (4, 2, 5)),
        ((1, 3), (4, 1, 1), (2,)),
        ((3,), 2),
        ((3,), (0,)),
        ((2, 1), (0,)),
        (4, (1,), ()),
    ],
)
def test_broadcast_shapes(shapes: tuple[Any, ...]) -> None:
    assert _outcome(flow, shapes) == _outcome(torch, shapes)
