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


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _at_a_time(work: Callable[[int], None]) -> None:
    """Do `work` with each number in a thread of its own."""
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


def _gradients_of_a_leaf(lib: Any) -> Any:
    x = lib.zeros(4, requires_grad=True)
    _at_a_time(lambda number: (x * number).sum().backward())
    return x.grad


def _gradients_that_are_recorded(lib: Any) -> Any:
    x = lib.ones(4, requires_grad=True)
    _at_a_time(lambda number: (x * number).sum().backward(create_graph=True))
    return x.grad.detach()


def _retained_gradients(lib: Any) -> Any:
    x = lib.zeros(4, requires_grad=True) * 1
    x.retain_grad()
    _at_a_time(lambda number: (x * number).sum().backward(retain_graph=True))
    return x.grad


def _gradients_of_a_module(lib: Any) -> Any:
    layer = lib.nn.Linear(2, 2)
    _at_a_time(lambda number: layer(lib.full((1, 2), float(number))).sum().backward())
    return layer.weight.grad


def _rows_by_assignment(lib: Any) -> Any:
    x = lib.zeros(THREADS, 2)

    def assign(row: int) -> None:
        x[row] = x[row] + row

    _at_a_time(assign)
    return x


def _rows_in_place(lib: Any) -> Any:
    x = lib.zeros(THREADS, 2)

    def add(row: int) -> None:
        x[row] += 1

    _at_a_time(add)
    return x


def _views_made_before(lib: Any) -> Any:
    x = lib.zeros(THREADS, 2)
    views = list(x.unbind())
    _at_a_time(lambda row: views[row].add_(row))
    return x


def _views_made_in_the_threads(lib: Any) -> Any:
    x = lib.zeros(THREADS, 2)
    _at_a_time(lambda row: x.narrow(0, row, 1).copy_(lib.full((1, 2), float(row))))
    return x


def _columns_of_a_detached_alias(lib: Any) -> Any:
    x = lib.zeros(2, THREADS)
    _at_a_time(lambda column: x.detach()[:, column].add_(1))
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
def test_nothing_is_lost(work: Callable[[Any], Any]) -> None:
    assert work(flow).tolist() == work(torch).tolist()
