"""Results of exchanges that are not over: where they are written, and what an error leaves."""

import signal
import threading

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.device import CPU
from oneflow.control_plane import background_exchanges
from oneflow.control_plane.background_exchanges import start_exchange
from oneflow.distributed.pending_results import write_when_over
from oneflow.distributed.work import work_of
from oneflow.runtime.memory import wrap_array

SECONDS = 3.0
GROUP = (0, 1)


@pytest.fixture(autouse=True)
def no_threads(monkeypatch) -> None:
    monkeypatch.setattr(background_exchanges, "_threads", {})


class Exchange:
    """An exchange that brings arrays, or an error, when it is told to."""

    def __init__(self, targets, arrays=None):
        self._arrays, self._go_on = arrays, threading.Event()
        exchange = start_exchange(GROUP, self._run)
        self.work = work_of(write_when_over(targets, exchange, GROUP), exchange, targets)

    def _run(self):
        assert self._go_on.wait(SECONDS)
        if self._arrays is None:
            raise ConnectionError("lost")
        return [wrap_array(array.copy(), CPU) for array in self._arrays]

    def end(self):
        self._go_on.set()
        return self


def numbers(target, seed):
    return np.random.default_rng(seed).integers(0, 99, tuple(target.shape)).astype(np.float32)


VIEWS = {
    "itself": lambda x: [x],
    "row": lambda x: [x[1]],
    "rows": list,
    "rows in another order": lambda x: [x[2], x[0], x[1]],
    "chunks": lambda x: list(x.chunk(2, 1)),
    "column": lambda x: [x[:, 2]],
    "steps": lambda x: [x[::2, 1::2]],
    "element": lambda x: [x[1, 2]],
    "transposed": lambda x: [x.T[1:]],
    "flat": lambda x: [x.view(-1)[3:9]],
    "detached": lambda x: [x.detach()],
    "row of detached": lambda x: [x.detach()[1]],
    "detached row": lambda x: [x[1].detach()],
    "one after the other": lambda x: [x[0], x[:, 0]],
    "no elements": lambda x: [x[3:]],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_get_them_as_copies_of_them_are_written(name) -> None:
    x, expected = (flow.arange(12.0).reshape(3, 4) + 0 for _ in range(2))
    other_view, other_alias = x[1:, 1:], x.detach()
    first, second = VIEWS[name](x), VIEWS[name](x)
    exchanges = []
    for seed, targets in enumerate((first, second)):
        arrays = [numbers(target, seed) for target in targets]
        exchanges.append(Exchange(targets, arrays))
        for target, array in zip(VIEWS[name](expected), arrays, strict=True):
            target.copy_(flow.tensor(array))
    assert not any(exchange.work.is_completed() for exchange in exchanges)
    for exchange in exchanges:
        exchange.end()
    assert x.tolist() == expected.tolist()
    assert other_view.tolist() == expected[1:, 1:].tolist()
    assert other_alias.tolist() == expected.tolist()
    assert [view.tolist() for view in first] == [view.tolist() for view in VIEWS[name](expected)]
    assert all(exchange.work.wait() for exchange in exchanges)
    x[1] = 7
    expected[1] = 7
    assert x.tolist() == expected.tolist()
    assert other_view.tolist() == expected[1:, 1:].tolist()


def test_results_are_in_memory_of_the_host_after_the_start() -> None:
    array = np.zeros((2, 3), np.float32)
    x = flow.from_numpy(array)
    exchange = start_exchange(GROUP, lambda: [wrap_array(np.ones(3, np.float32), CPU)])
    write_when_over([x[1]], exchange, GROUP)
    assert array.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_gradients_flow_to_what_a_view_was_before() -> None:
    x = flow.ones(3, requires_grad=True)
    y = x * 2
    Exchange([y.detach()[1:]], [np.zeros(2, np.float32)]).end().work.wait()
    assert y.tolist() == [2, 0, 0]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("waits", [True, False])
def test_tensors_hold_what_they_held_before_an_exchange_that_fails(waits) -> None:
    x, whole = flow.ones(3), flow.arange(6.0).reshape(2, 3) + 0
    view, row, other_row = x[1:], whole[0], whole[1]
    first = Exchange([x, row])
    second = Exchange([x, other_row], [np.zeros(3, np.float32)] * 2)
    third = Exchange([x, row])
    for exchange in (first, second, third):
        exchange.end()
    if waits:
        for exchange in (first, third):
            for _ in range(2):
                with pytest.raises(ConnectionError, match="lost"):
                    exchange.work.wait()
        assert x.tolist() == [0, 0, 0]
    else:
        for tensor in (x, whole):
            with pytest.raises(ConnectionError, match="lost"):
                tensor.tolist()
    assert view.tolist() == x.tolist()[1:]
    assert whole.tolist()[0] == [0, 1, 2]
    x += 1
    whole[0] = 5
    assert whole[0].tolist() == [5, 5, 5]


def test_nothing_is_lost_by_an_interrupt() -> None:
    def interrupt(number, frame):
        raise TimeoutError("of a signal handler")

    x, whole = flow.ones(3), flow.zeros(2, 3)
    exchange = Exchange([x, whole[0]], [np.full(3, 7, np.float32)] * 2)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for read in (exchange.work.wait, x.tolist, whole.tolist):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(TimeoutError, match="handler"):
                read()
    finally:
        signal.signal(signal.SIGALRM, before)
    exchange.end().work.wait()
    assert x.tolist() == whole[0].tolist() == [7, 7, 7]
    assert whole[1].tolist() == [0, 0, 0]
