"""Threads that change one memory at a time: nothing of what each of them does is lost."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import oneflow as flow

THREADS, TIMES = 8, 12
Runner = Callable[[Callable[[int], Any]], None]


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _at_a_time(work: Callable[[int], Any]) -> None:
    """Do `work` with each number several times, in a thread of its own."""
    barrier, errors = threading.Barrier(THREADS), []

    def run(number: int) -> None:
        try:
            barrier.wait()
            for _ in range(TIMES):
                work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def _one_by_one(work: Callable[[int], Any]) -> None:
    """Do the same in this thread."""
    for number in range(THREADS):
        for _ in range(TIMES):
            work(number)


def _gradients_of_a_leaf(lib: Any, run: Runner) -> Any:
    x = lib.zeros(4, requires_grad=True)
    run(lambda number: (x * number).sum().backward())
    return x.grad


def _gradients_that_are_recorded(lib: Any, run: Runner) -> Any:
    x = lib.ones(4, requires_grad=True)
    run(lambda number: (x * number).sum().backward(create_graph=True))
    return x.grad.detach()


def _retained_gradients(lib: Any, run: Runner) -> Any:
    x = lib.zeros(4, requires_grad=True) * 1
    x.retain_grad()
    run(lambda number: (x * number).sum().backward(retain_graph=True))
    return x.grad


def _gradients_of_a_module(lib: Any, run: Runner) -> Any:
    layer = lib.nn.Linear(2, 2)
    run(lambda number: layer(lib.full((1, 2), float(number))).sum().backward())
    return layer.weight.grad


def _rows_by_assignment(lib: Any, run: Runner) -> Any:
    x = lib.zeros(THREADS, 2)

    def assign(row: int) -> None:
        x[row] = x[row] + row

    run(assign)
    return x


def _rows_in_place(lib: Any, run: Runner) -> Any:
    x = lib.zeros(THREADS, 2)

    def add(row: int) -> None:
        x[row] += 1

    run(add)
    return x


def _views_made_before(lib: Any, run: Runner) -> Any:
    x = lib.zeros(THREADS, 2)
    views = list(x.unbind())
    run(lambda row: views[row].add_(row))
    return x


def _views_made_in_the_threads(lib: Any, run: Runner) -> Any:
    x = lib.zeros(THREADS, 2)
    run(lambda row: x.narrow(0, row, 1).copy_(lib.full((1, 2), float(row))))
    return x


def _columns_of_a_detached_alias(lib: Any, run: Runner) -> Any:
    x = lib.zeros(2, THREADS)
    run(lambda column: (x.detach()[:, column].add_(1), x.data[:, column].add_(1)))
    return x


WORK = [
    _gradients_of_a_leaf,
    _gradients_that_are_recorded,
    _retained_gradients,
    _gradients_of_a_module,
    _rows_by_assignment,
    _rows_in_place,
    _views_made_before,
    _views_made_in_the_threads,
    _columns_of_a_detached_alias,
]


@pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")
@pytest.mark.parametrize("work", WORK)
def test_nothing_is_lost(work: Callable[[Any, Runner], Any]) -> None:
    # Backward passes of threads that share a graph can end PyTorch's process.
    assert work(flow, _at_a_time).tolist() == work(torch, _one_by_one).tolist()
