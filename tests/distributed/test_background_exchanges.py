"""Exchanges in the background: their order, their errors, and what they keep alive."""

import gc
import threading
import weakref

import numpy as np
import pytest

from oneflow.control_plane import background_exchanges
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
