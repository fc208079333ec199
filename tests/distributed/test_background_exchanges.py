"""Exchanges in the background: their order, their errors, and what they keep alive."""

import functools
import gc
import multiprocessing
import threading
import weakref
from collections import defaultdict

import numpy as np
import pytest

from oneflow.control_plane import (
    background_exchanges,
    collective_launch,
    flight_recorder,
    message_channel,
)
from oneflow.control_plane.background_exchanges import await_exchanges, start_exchange

SECONDS = 30.0
GROUP, OTHER_GROUP = (0, 1), (0, 2)


@pytest.fixture(autouse=True)
def no_threads(monkeypatch) -> None:
    monkeypatch.setattr(background_exchanges, "_threads", {})


def test_those_of_a_group_run_in_order_and_others_do_not_wait() -> None:
    go_on = threading.Event()
    first = start_exchange(GROUP, lambda: go_on.wait(SECONDS))
    second = start_exchange(GROUP, lambda: first.is_over)
    assert start_exchange(OTHER_GROUP, lambda: 7).result() == 7
    assert not first.is_over
    assert not second.is_over
    go_on.set()
    await_exchanges(GROUP)
    assert first.is_over
    assert second.result()


def test_each_reader_gets_the_error_and_the_next_exchange_runs() -> None:
    def fail():
        raise ConnectionError("lost")

    failed, next_one = start_exchange(GROUP, fail), start_exchange(GROUP, lambda: 7)
    for _ in range(2):
        with pytest.raises(ConnectionError, match="lost"):
            failed.result()
    await_exchanges(GROUP)
    assert next_one.result() == 7


def test_nothing_is_kept_when_it_is_over() -> None:
    operand = np.zeros(3)
    seen = weakref.ref(operand)
    exchange = start_exchange(GROUP, lambda operand=operand: [operand + 1])
    del operand
    exchange.wait()
    await_exchanges(GROUP)
    gc.collect()
    assert seen() is None
    result = weakref.ref(exchange.result()[0])
    del exchange
    start_exchange(GROUP, lambda: None).wait()
    gc.collect()
    assert result() is None


def _end_as_a_process_does() -> None:
    await_exchanges(GROUP)
    background_exchanges._await_all()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_copies_of_the_process_do_not_wait_for_threads_that_they_lack() -> None:
    go_on = threading.Event()
    exchange = start_exchange(GROUP, lambda: go_on.wait(SECONDS))
    copy = multiprocessing.get_context("fork").Process(target=_end_as_a_process_does)
    copy.start()
    copy.join(SECONDS / 3)
    exit_code = copy.exitcode
    copy.kill()
    copy.join()
    assert exit_code == 0
    assert not exchange.is_over
    go_on.set()
    assert exchange.result()


def test_an_interrupt_before_the_start_leaves_no_record(monkeypatch) -> None:
    def launch(start=None):
        if start is not None:
            monkeypatch.setattr(collective_launch, "start_exchange", start)
        return collective_launch.launch_exchange(GROUP, "cpu", "sum", lambda: ran.append(1))

    def interrupt(ranks, run):
        raise KeyboardInterrupt

    def interrupt_behind(ranks, run):
        started.append(start_exchange(ranks, run))
        started[-1].wait()
        raise KeyboardInterrupt

    def interrupt_in_the_queue(ranks, run):
        queued.append(run)
        raise KeyboardInterrupt

    monkeypatch.setattr(flight_recorder, "_progress", {})
    monkeypatch.setattr(collective_launch, "_run_before", defaultdict(set))
    ran, started, queued = [], [], []
    for start in (interrupt, interrupt_in_the_queue):
        with pytest.raises(KeyboardInterrupt):
            launch(start)
        assert flight_recorder._progress[GROUP].count == 0
        assert not collective_launch._run_before[GROUP, "cpu"]
    queued.pop()()
    assert not ran
    with pytest.raises(KeyboardInterrupt):
        launch(interrupt_behind)
    assert flight_recorder._progress[GROUP].count == len(ran) == 1
    launch(start_exchange).wait()
    assert flight_recorder._progress[GROUP].count == len(ran) == 2


def test_the_end_of_a_process_waits_for_others_only_a_while_after_a_failure(monkeypatch) -> None:
    monkeypatch.setattr(background_exchanges, "_SECONDS_AFTER_FAILURE", 0.1)

    def fail():
        raise ConnectionError("lost")

    go_on = threading.Event()
    waiting = start_exchange(OTHER_GROUP, lambda: go_on.wait(SECONDS))
    start_exchange(GROUP, fail).wait()
    await_exchanges(GROUP)
    background_exchanges._await_all()
    assert not waiting.is_over
    go_on.set()


def test_threads_of_groups_open_one_channel(monkeypatch) -> None:
    opened = []

    class SlowChannel:
        def __init__(self) -> None:
            threading.Event().wait(0.2)
            opened.append(self)

    monkeypatch.setattr(message_channel, "_channel", functools.cache(SlowChannel))
    groups = (GROUP, OTHER_GROUP)
    exchanges = [start_exchange(group, message_channel.message_channel) for group in groups]
    channels = [exchange.result() for exchange in exchanges]
    assert channels == opened * 2
