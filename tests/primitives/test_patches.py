"""Windows of images as columns, and their sums."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import pytest

from oneflow.primitives.operators import patches
from oneflow.primitives.operators.patches import fold, unfold

# Kernel, dilation and padding of windows whose stride is their size.
_APART = [
    ((2, 2), (1, 1), (0, 0)),
    ((4, 5), (1, 1), (1, 2)),
    ((5, 4), (1, 1), (0, 3)),
    ((1, 16), (3, 1), (0, 0)),
]


def _settings(kernel: tuple, dilation: tuple, padding: tuple) -> dict[str, Any]:
    return {"kernel": kernel, "dilation": dilation, "padding": padding, "stride": kernel}


@pytest.mark.parametrize("window", _APART, ids=str)
def test_windows_side_by_side_are_another_order(
    window: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = _settings(*window)
    image = np.random.default_rng(0).standard_normal((2, 3, 13, 18)).astype("float32")
    columns = unfold.impl(image, **settings)
    back = fold.impl(columns, size=(13, 18), **settings)
    program = str(jax.make_jaxpr(functools.partial(fold.impl, size=(13, 18), **settings))(columns))
    assert "= add" not in program
    monkeypatch.setattr(patches, "_are_blocks", lambda *window: False)
    assert np.array_equal(columns, unfold.impl(image, **settings))
    assert np.array_equal(back, fold.impl(columns, size=(13, 18), **settings))


def test_large_windows_are_not_taken_part_by_part() -> None:
    image = np.zeros((1, 1, 32, 32), "float32")
    settings = _settings((16, 16), (1, 1), (0, 0))
    program = str(jax.make_jaxpr(functools.partial(unfold.impl, **settings))(image))
    assert program.count("slice") <= 1
