"""Choosing something of a dimension without elements is an error, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow


def put(lib: Any, x: Any, index: Any, rows: Any, **options: Any) -> Any:
    return x.T.index_put_((index,), lib.ones(1), **options)


# Each gets a matrix of shape (3, 0), two positions and the same for each row.
CHOICES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "index": lambda lib, x, i, rows: x[:, i],
    "list": lambda lib, x, i, rows: x[:, [0]],
    "two indices": lambda lib, x, i, rows: x[i, i],
    "rows": lambda lib, x, i, rows: x.T[i],
    "index_select": lambda lib, x, i, rows: lib.index_select(x, 1, i),
    "gather": lambda lib, x, i, rows: lib.gather(x, 1, rows),
    "take": lambda lib, x, i, rows: lib.take(x, i),
    "take_along_dim": lambda lib, x, i, rows: lib.take_along_dim(x, rows, 1),
    "embedding": lambda lib, x, i, rows: lib.nn.functional.embedding(i, lib.zeros(0, 2)),
    "embedding_bag": lambda lib, x, i, rows: lib.nn.functional.embedding_bag(rows, lib.zeros(0, 2)),
    "assignment": lambda lib, x, i, rows: x.__setitem__((slice(None), i), 1.0),
    "index_put_": put,
    "index_put_ that adds": lambda lib, x, i, rows: put(lib, x, i, rows, accumulate=True),
    "put_": lambda lib, x, i, rows: x.put_(i, lib.ones(2)),
    "scatter_": lambda lib, x, i, rows: x.scatter_(1, rows, 1.0),
    "index_fill_": lambda lib, x, i, rows: x.index_fill_(1, i, 1.0),
    "kthvalue": lambda lib, x, i, rows: x.kthvalue(1, 1),
    "quantile": lambda lib, x, i, rows: x.quantile(0.5, 1),
    "nanquantile": lambda lib, x, i, rows: x.nanquantile(0.5, 1),
    "grid_sample": lambda lib, x, i, rows: lib.nn.functional.grid_sample(
        lib.zeros(1, 1, 0, 2), lib.zeros(1, 2, 2, 2), align_corners=False
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_nothing_is_chosen_from_nothing(name: str) -> None:
    for lib in (torch, flow):
        positions = lib.tensor([0, 1]), lib.zeros(3, 2, dtype=lib.int64)
        message = None if lib is torch else "size|empty"
        with pytest.raises((IndexError, RuntimeError), match=message):
            str(CHOICES[name](lib, lib.zeros(3, 0), *positions))


@pytest.mark.parametrize("index", [[], [[]], [[], []]])
def test_no_positions_are_within_it(index: list) -> None:
    for lib in (torch, flow):
        positions = lib.tensor(index, dtype=lib.int64)
        assert tuple(lib.zeros(3, 0)[:, positions].shape) == (3, *positions.shape)
