"""Draws in blocks, of which one executable serves every shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime import block_functions
from oneflow.runtime.cold import COLD
from oneflow.runtime.eager_settings import SETTINGS

DRAWS: dict[str, Callable[[int], flow.Tensor]] = {
    "normal": lambda size: flow.randn(size),
    "normal float64": lambda size: flow.randn(size, dtype=flow.float64) * 2 + 1,
    "normal float16": lambda size: flow.randn(size, dtype=flow.float16),
    "normal complex": lambda size: flow.randn(size, dtype=flow.complex64),
    "exponential": lambda size: flow.empty(size).exponential_(1.5),
    "cauchy": lambda size: flow.empty(size).cauchy_(),
    "geometric": lambda size: flow.empty(size).geometric_(0.3),
    "integer": lambda size: flow.randint(-5, 1000, (size,)),
    "truncated normal": lambda size: flow.nn.init.trunc_normal_(flow.empty(size)),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", [0, 1, 7, 4099])
def test_blocks_have_the_bits_of_the_whole(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_functions, "_BLOCK", 1024)
    block_functions._function.cache_clear()

    def draw() -> bytes:
        flow.manual_seed(size)
        return DRAWS[name](size).numpy().tobytes()

    in_blocks = draw()
    monkeypatch.setattr(COLD, "interpret", False)
    assert draw() == in_blocks
    monkeypatch.setattr(SETTINGS, "_mode", "compiled")
    assert draw() == in_blocks
    block_functions._function.cache_clear()


def test_large_uniform_draws_have_the_bits_of_small_ones() -> None:
    flow.manual_seed(3)
    whole = flow.rand(700, 1000).numpy()
    flow.manual_seed(3)
    np.testing.assert_array_equal(flow.rand(1000).numpy(), whole[0])
    flow.manual_seed(3)
    np.testing.assert_array_equal(flow.rand(700, 100, 10).numpy().reshape(700, 1000), whole)


def test_new_shapes_compile_nothing() -> None:
    flow.randn(1237).numpy()  # of a size that is hot nowhere
    flow.eager.statistics().reset()
    for size in (4, 17, 300):
        assert np.isfinite(flow.randn(size, 2).numpy()).all()
    assert flow.eager.statistics().operation_compiles == 0
