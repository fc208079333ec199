"""`torch.monitor` hands over the events that PyTorch's hands over."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

import pytest
import torch.monitor as theirs

from oneflow.mock_torch.pytorch import monitor as ours

KINDS = ("SUM", "MEAN", "COUNT", "MAX", "MIN")


def _statistics(module: Any, numbers: list[float], window: timedelta, *limit: int) -> Any:
    events: list[Any] = []
    handle = module.register_event_handler(events.append)
    stat = module.Stat("x", [getattr(module.Aggregation, kind) for kind in KINDS], window, *limit)
    seen = []
    for number in numbers:
        stat.add(number)
        seen.append((stat.count, {kind.name: value for kind, value in stat.get().items()}))
    name = stat.name
    del stat
    module.unregister_event_handler(handle)
    module.log_event(module.Event("ignored", datetime(2020, 1, 1), {}))
    return name, seen, [(event.name, event.data) for event in events]


@pytest.mark.parametrize("limit", [(), (2,), (3,), (10,)])
def test_windows_end_and_numbers_are_dropped_alike(limit: tuple[int, ...]) -> None:
    numbers = [3.0, 4.5, -1.0, 2.0]
    window = timedelta(hours=1)
    assert _statistics(ours, numbers, window, *limit) == _statistics(
        theirs, numbers, window, *limit
    )


def test_a_window_ends_with_time() -> None:
    for module in (ours, theirs):
        stat = module.Stat("y", [module.Aggregation.SUM], timedelta(milliseconds=20))
        stat.add(3)
        stat.add(4)
        time.sleep(0.05)
        assert (stat.count, [*stat.get().values()]) == (2, [0.0])
        stat.add(5)
        assert (stat.count, [*stat.get().values()]) == (1, [7.0])


def test_the_last_number_is_kept() -> None:
    stat = ours.Stat("z", [ours.Aggregation.VALUE], timedelta(hours=1), 2)
    stat.add(1)
    stat.add(9)
    assert stat.get() == {ours.Aggregation.VALUE: 9.0}


def test_events_hold_their_data_and_refuse_other() -> None:
    moment = datetime(2020, 1, 1)
    for module in (ours, theirs):
        event = module.Event("a", moment, {"n": 1.5, "t": "text"})
        assert (event.name, event.timestamp, event.data["t"]) == ("a", moment, "text")
        with pytest.raises(TypeError):
            module.Event("a", 1, {})
        with pytest.raises(TypeError):
            module.Event("a", moment, {"n": []})


def test_statistics_are_written_for_tensorboard() -> None:
    class Writer:
        def __init__(self) -> None:
            self.rows: list[tuple] = []

        def add_scalar(self, name: str, number: float, walltime: float) -> None:
            self.rows.append((name, number, walltime > 0))

    for module in (ours, theirs):
        writer = Writer()
        handler = module.TensorboardEventHandler(writer)
        moment = datetime(2020, 1, 1)
        handler(module.Event("torch.monitor.Stat", moment, {"x.sum": 2.0}))
        handler(module.Event("another", moment, {"x.sum": 3.0}))
        assert writer.rows == [("x.sum", 2.0, True)]
