"""Programs that take longer as a whole than op by op: they are found, and run op by op on."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow.compiler.lower import Executable
from oneflow.runtime import eager, trial
from oneflow.runtime.background import COMPILER
from oneflow.runtime.eager_settings import SETTINGS

pytestmark = pytest.mark.usefixtures("no_small_programs")

_SECONDS = 0.05


@pytest.fixture(autouse=True)
def every_program_has_a_trial(monkeypatch) -> None:
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    monkeypatch.setattr(SETTINGS, "background", True)
    monkeypatch.setattr(trial, "_SHORT", 0.0)


def slow_down(monkeypatch, owner: object, name: str, seconds: float = _SECONDS) -> None:
    """Let a function take longer than any small program does."""
    function: Callable = getattr(owner, name)

    def run_slowly(*arguments):
        time.sleep(seconds)
        return function(*arguments)

    monkeypatch.setattr(owner, name, run_slowly)


def run_until_decided(width: int) -> Callable[[], None]:
    """Run a program often enough; no other test has programs of this `width`."""
    x = flow.ones(width)
    x.numpy()

    def run() -> None:
        assert (x * 2.0 + 1.0).tolist() == [3.0] * width

    for _ in range(SETTINGS.hot_after + 1):
        run()
    COMPILER.wait()
    for _ in range(2 * trial._RUNS + 1):
        run()
    return run


def test_a_program_that_is_slower_as_a_whole_runs_op_by_op_on(monkeypatch) -> None:
    slow_down(monkeypatch, Executable, "__call__")
    run = run_until_decided(47)
    statistics = flow.eager.statistics()
    assert (statistics.lost_trials, statistics.hot_runs) == (1, trial._RUNS)
    assert "a program of 2 operators" in flow.eager.explain_last_miss()
    for _ in range(3):
        run()
    assert (statistics.hot_runs, statistics.program_compiles) == (trial._RUNS, 1)


def test_a_program_that_lost_its_trial_has_another_one_later(monkeypatch) -> None:
    slow_down(monkeypatch, eager, "run_cold")
    with monkeypatch.context() as patch:
        slow_down(patch, Executable, "__call__", 4 * _SECONDS)
        run = run_until_decided(71)
    statistics = flow.eager.statistics()
    assert statistics.lost_trials == 1
    for _ in range(trial.RETRY_AFTER * (SETTINGS.hot_after + 2 * trial._RUNS + 2)):
        run()
    COMPILER.wait()
    hot_runs = statistics.hot_runs
    run()
    assert (statistics.hot_runs, statistics.lost_trials) == (hot_runs + 1, 1)


def test_a_program_that_is_quicker_as_a_whole_wins_with_its_first_run(monkeypatch) -> None:
    slow_down(monkeypatch, eager, "run_cold")
    run_until_decided(53)
    statistics = flow.eager.statistics()
    assert statistics.lost_trials == 0
    assert statistics.hot_runs == 2 * trial._RUNS + 1


def test_equal_bits_are_more_than_speed(monkeypatch) -> None:
    """A program that lost its trial is hot where all runs are to give the same bits."""
    slow_down(monkeypatch, Executable, "__call__")
    run = run_until_decided(59)
    statistics = flow.eager.statistics()
    flow.use_deterministic_algorithms(True)
    try:
        cold_runs = statistics.cold_runs
        run()
        assert statistics.cold_runs == cold_runs
    finally:
        flow.use_deterministic_algorithms(False)


def test_a_program_in_the_queue_is_compiled_at_once_for_equal_bits(monkeypatch) -> None:
    monkeypatch.setattr(COMPILER, "submit", lambda run, priority: None)
    x = flow.ones(61)
    x.numpy()
    for _ in range(SETTINGS.hot_after + 2):
        (x * 2.0).numpy()
    flow.use_deterministic_algorithms(True)
    try:
        cold_runs = flow.eager.statistics().cold_runs
        (x * 2.0).numpy()
        assert flow.eager.statistics().cold_runs == cold_runs
    finally:
        flow.use_deterministic_algorithms(False)


def test_an_interrupt_during_a_trial_loses_nothing(monkeypatch) -> None:
    x = flow.ones(67)
    x.numpy()
    for _ in range(SETTINGS.hot_after + 1):
        x.mul_(2.0)
        x.numpy()
    COMPILER.wait()
    run_trial = trial.Trial.__call__

    def interrupted(self, *arguments):
        run_trial(self, *arguments)
        raise KeyboardInterrupt

    x.mul_(2.0)
    with monkeypatch.context() as patch:
        patch.setattr(trial.Trial, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            x.numpy()
    assert x[0].item() == 2.0 ** (SETTINGS.hot_after + 2)
