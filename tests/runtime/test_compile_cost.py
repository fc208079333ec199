"""Programs that would compile for longer than they have run: loops that write single elements."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow.runtime import hot
from oneflow.runtime.background import COMPILER
from oneflow.runtime.compile_cost import seconds_for_writes
from oneflow.runtime.program_cache import PROGRAMS

_LOOP = """
import oneflow as flow

x = flow.zeros(40, 50)
for _ in range(6):
    for k in range(2000):
        x[k % 40, k * 7 % 50] += 1
    x.sum().item()
print(x.max().item(), x.sum().item(), flow.eager.statistics().new_programs < 4)
"""
# Importing takes two of them. As one program that is compiled the loop takes minutes.
_SECONDS = 20


def test_a_loop_that_writes_elements_ends_soon() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "ONEFLOW_CACHE_DIR": "off"}
    run = subprocess.run(
        [sys.executable, "-c", _LOOP], env=environment, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.stdout.split() == ["60.0", "12000.0", "True"]
    assert after.ru_utime - before.ru_utime < _SECONDS


@pytest.mark.usefixtures("no_small_programs")
def test_a_program_of_writes_is_compiled_once_it_has_run_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hot, "_MANY_WRITES", 0.0)
    monkeypatch.setattr(flow.eager.settings, "background", True)
    monkeypatch.setattr(hot, "seconds_for_writes", lambda program: 0.2)
    flow.eager.synchronize()
    statistics = flow.eager.statistics()
    statistics.reset()
    x = flow.zeros(7, 61)
    runs = 0
    while statistics.cold_seconds < 0.1:
        x[3, 2] += 1
        x.numpy()
        runs += 1
    COMPILER.wait()
    assert statistics.program_compiles == 0
    while statistics.cold_seconds < 0.4:
        x[3, 2] += 1
        x.numpy()
        runs += 1
        COMPILER.wait()
        if statistics.hot_runs:
            break
    assert statistics.program_compiles == 1
    assert x[3, 2].item() == x.sum().item() == runs


def test_writes_to_global_tensors_are_counted_as_those_to_local_ones() -> None:
    def seconds(x: flow.Tensor) -> list[float]:
        PROGRAMS.clear()
        for row in range(9):
            x[row, 1] += row
        assert x.sum().item() == 36
        return [seconds_for_writes(cached.program) for cached in PROGRAMS.values()]

    pair = flow.placement("cpu", [0, 1])
    expected = seconds(flow.zeros(9, 4))
    assert sum(expected) > 0
    assert seconds(flow.zeros(9, 4, placement=pair, sbp=flow.sbp.split(1))) == expected


def test_writes_are_counted_and_nothing_else() -> None:
    def count(function: Callable, *arguments: flow.Tensor) -> float:
        return seconds_for_writes(flow.eager.record(function, *arguments)) / 0.03

    x, places = flow.ones(4, 5), flow.tensor([1, 2])

    def write(x: flow.Tensor) -> flow.Tensor:
        x[1, 2] = 3
        x[places] = 4
        return x.scatter_add(0, places.reshape(1, 2), x)

    assert count(write, x) == pytest.approx(3)
    assert count(lambda x: (x * 2 + x[1, 2]).sum().sort()[0], x) == 0
