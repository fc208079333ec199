"""Steps of graphs that take longer as a whole than op by op: they run op by op on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from oneflow.compiler.lower import Executable
from oneflow.graph import step
from oneflow.runtime import cold, step_trial, trial
from oneflow.runtime.eager_settings import SETTINGS

_SECONDS = 0.2


class Training(flow.nn.Graph):
    """Rows of an embedding, which are checked, and an optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = flow.nn.Embedding(5, 3)
        flow.nn.init.ones_(self.table.weight)
        self.add_optimizer(flow.optim.Adam(self.table.parameters(), lr=0.5))

    def build(self, rows: flow.Tensor) -> flow.Tensor:
        loss = self.table(rows).square().sum()
        loss.backward()
        return loss


@pytest.fixture(autouse=True)
def every_step_has_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cold runs are as short as they get: JAX has traced what they compute."""
    eager_losses(1)
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    monkeypatch.setattr(SETTINGS, "background", True)
    monkeypatch.setattr(trial, "_SHORT", 0.0)


def slow_down(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Let a function take longer than any small program does."""
    function: Callable = getattr(owner, name)

    def run_slowly(*arguments: Any) -> Any:
        time.sleep(_SECONDS)
        return function(*arguments)

    monkeypatch.setattr(owner, name, run_slowly)


def losses(graph: Training, count: int) -> list[float]:
    return [graph(flow.tensor([0, 2, 2])).item() for _ in range(count)]


def eager_losses(count: int) -> list[float]:
    model = Training()
    optimizer = flow.optim.Adam(model.table.parameters(), lr=0.5)
    values = []
    for _ in range(count):
        optimizer.zero_grad()
        values.append(model.build(flow.tensor([0, 2, 2])).item())
        optimizer.step()
    return values


def cold_runs() -> int:
    return flow.eager.statistics().cold_runs


def test_a_step_that_is_slower_as_a_whole_runs_op_by_op_on(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_down(monkeypatch, Executable, "__call__")
    count = 2 * trial._RUNS + 3
    expected = eager_losses(count)
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    graph = Training()
    assert losses(graph, count) == pytest.approx(expected, rel=1e-5)
    assert flow.eager.statistics().lost_trials == 1
    before = cold_runs()
    losses(graph, 2)
    assert cold_runs() == before + 2
    assert "as a whole" in flow.eager.explain_last_miss()


def test_a_step_that_lost_its_trial_has_another_one_later(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Training()
    with monkeypatch.context() as patch:
        slow_down(patch, Executable, "__call__")
        losses(graph, 3 * trial._RUNS)
    assert flow.eager.statistics().lost_trials == 1
    losses(graph, (trial.RETRY_AFTER - 1) * 3 * trial._RUNS)
    slow_down(monkeypatch, step_trial, "run_cold")
    losses(graph, trial._RUNS + 1)
    before = cold_runs()
    losses(graph, 2)
    assert (cold_runs(), flow.eager.statistics().lost_trials) == (before, 1)


def test_a_cold_run_that_takes_longer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = eager_losses(4)
    flow.eager.synchronize()
    slow_down(monkeypatch, cold, "_run_instruction")
    graph = Training()
    losses_so_far = losses(graph, 3)
    before = cold_runs()
    started = time.perf_counter()
    assert [*losses_so_far, *losses(graph, 1)] == pytest.approx(expected, rel=1e-5)
    # The first instruction takes all the time there is; the step has many.
    assert cold_runs() == before
    assert time.perf_counter() - started < 8 * _SECONDS


def test_a_cold_run_that_fails_is_repeated_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = eager_losses(3 * trial._RUNS + 2)
    graph = Training()
    with monkeypatch.context() as patch:
        slow_down(patch, Executable, "__call__")
        values = losses(graph, 3 * trial._RUNS)
    assert flow.eager.statistics().lost_trials == 1

    def fail(*arguments: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(cold, "_as_jax_arrays", fail)
    assert [*values, *losses(graph, 2)] == pytest.approx(expected, rel=1e-5)


def test_an_interrupt_behind_a_cold_run_keeps_the_whole_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = Training()
    with monkeypatch.context() as patch:
        slow_down(patch, Executable, "__call__")
        losses(graph, 3 * trial._RUNS)
    (optimizer,) = (added.optimizer for added in graph._optimizers)
    parameter = graph.table.weight
    count = lambda: optimizer.state_dict()["state"][0]["step"]  # noqa: E731
    before, steps = parameter.numpy().copy(), int(count())

    def interrupt(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(step.Step, "_distribute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            losses(graph, 1)
    assert (parameter.numpy() != before).any()
    assert int(count()) == steps + 1


def test_a_step_of_short_runs_or_with_slow_instructions_has_no_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("the step ran cold")

    monkeypatch.setattr(step_trial, "run_cold", refuse)
    with monkeypatch.context() as patch:
        patch.setattr(trial, "_SHORT", float("inf"))
        losses(Training(), 2 * trial._RUNS)
    monkeypatch.setattr(cold, "is_slow", lambda function, repeats: True)
    losses(Training(), 2 * trial._RUNS)
    monkeypatch.setattr(SETTINGS, "background", False)
    losses(Training(), 2 * trial._RUNS)


def test_a_check_that_fails_in_a_cold_step_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_down(monkeypatch, Executable, "__call__")
    graph = Training()
    losses(graph, 3 * trial._RUNS)
    before = graph.table.weight.numpy().copy()
    graph(flow.tensor([0, 5, 2]))
    with pytest.raises(IndexError, match="5"):
        flow.eager.synchronize()
    assert (graph.table.weight.numpy() == before).all()
    runs = cold_runs()
    losses(graph, 1)
    assert cold_runs() == runs + 1


def test_equal_bits_are_more_than_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that lost its trial runs as a whole where all runs are to give the same bits."""
    slow_down(monkeypatch, Executable, "__call__")
    graph = Training()
    losses(graph, 3 * trial._RUNS)
    flow.use_deterministic_algorithms(True)
    try:
        before = cold_runs()
        losses(graph, 2)
        assert cold_runs() == before
    finally:
        flow.use_deterministic_algorithms(False)
