"""Draws of a few numbers by rejection: one executable serves all sizes, with the bits of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow.runtime import cold
from oneflow.runtime.counters import STATISTICS

SIZES = (2, 3, 8, 29, 256)


def _gamma(size: int) -> flow.Tensor:
    return flow.distributions.Gamma(flow.linspace(0.05, 9, size), 1.0).sample()


def _poisson(size: int) -> flow.Tensor:
    return flow.poisson(flow.linspace(0.5, 60, size, dtype=flow.float64))


def _binomial(size: int) -> flow.Tensor:
    counts = flow.linspace(1, 200, size).floor()
    return flow.binomial(counts, flow.linspace(0.01, 0.99, size))


def _matrix(size: int) -> flow.Tensor:
    return flow.poisson(flow.linspace(0.5, 60, 2 * (size // 2)).reshape(2, -1))


DRAWS: tuple[Callable[[int], flow.Tensor], ...] = (_gamma, _poisson, _binomial, _matrix)


def _drawn(draw: Callable[[int], flow.Tensor], size: int) -> list:
    flow.manual_seed(5)
    return draw(size).tolist()


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__[1:])
def test_small_draws_have_the_bits_of_the_whole(
    draw: Callable[[int], flow.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = {size: _drawn(draw, size) for size in SIZES}
    monkeypatch.setattr(cold, "is_small_draw", lambda operation: False)
    for size in (SIZES[1], SIZES[-2]):
        assert drawn[size] == _drawn(draw, size)


def test_another_size_compiles_nothing() -> None:
    _drawn(_gamma, 4)
    before = STATISTICS.operation_compiles
    for size in (5, 6, 7):
        _drawn(_gamma, size)
    assert STATISTICS.operation_compiles == before
