"""Programs under test replace the clock: this package has its own."""

from __future__ import annotations

import time

import pytest

import oneflow as flow


def _raise() -> float:
    raise AssertionError("somebody else's clock is asked")


def test_replaced_clocks_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", _raise)
    monkeypatch.setattr(time, "perf_counter_ns", _raise)
    weight = flow.ones(7, 5, requires_grad=True)
    optimizer = flow.optim.SGD([weight], lr=0.1)
    for _ in range(40):
        loss = (flow.ones(3, 7) @ weight).sigmoid().square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert loss.item() > 0
