"""Under every schedule a step has OneFlow's learning rate, eagerly and in graphs.

A program may step the schedule of a graph itself, as most that were written for OneFlow do: the
graph counts its calls, so that the rates stay the same.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.mock_torch.pytorch.optim import lr_scheduler as of_pytorch
from oneflow.nn.optimizer.optimizer import ParamGroup
from tests.optim.oneflow_schedules import ROWS, STEPS, L, Row


class Parameters(nn.Module):
    """Two parameters that fall by their learning rates."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Parameter(flow.zeros(1, dtype=flow.float64))
        self.other = nn.Parameter(flow.zeros(1, dtype=flow.float64))

    def forward(self) -> flow.Tensor:
        return self.one.sum() + self.other.sum()

    def values(self) -> tuple[float, float]:
        return self.one.item(), self.other.item()


class Trained:
    """An optimizer of two groups, or of the first one alone, with a schedule."""

    def __init__(
        self,
        make: Callable[[Any], L.LRScheduler],
        small: float | None = 0.2,
        kind: Callable[..., flow.optim.Optimizer] = flow.optim.SGD,
        **options: Any,
    ) -> None:
        self.module = Parameters()
        groups = [
            {"params": [self.module.one], "lr": 1.0},
            {"params": [self.module.other], "lr": small},
        ]
        self.optimizer = kind(groups[: 1 if small is None else 2], **options)
        self.schedule = make(self.optimizer)

    def graph(self) -> nn.Graph:
        """A graph that trains with the schedule."""
        trained = self

        class Training(nn.Graph):
            def __init__(self) -> None:
                super().__init__()
                self.module = trained.module
                self.add_optimizer(trained.optimizer, lr_sch=trained.schedule)

            def build(self, *scales: flow.Tensor) -> flow.Tensor:
                loss = self.module()
                for scale in scales:
                    loss = loss * scale.mean()
                loss.backward()
                return loss

        return Training()

    def step_eagerly(self) -> None:
        self.module().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step()

    def rates(self, step: Callable[[], Any], count: int = STEPS) -> list[tuple[float, float]]:
        """The distances by which each of `count` steps moves the parameters."""
        rates = []
        before = self.module.values()
        for _ in range(count):
            step()
            after = self.module.values()
            rates.append((before[0] - after[0], before[1] - after[1]))
            before = after
        return rates


def both(graph: nn.Graph, schedule: L.LRScheduler) -> Callable[[], None]:
    """A step of a program that steps the schedule of its graph itself."""

    def step() -> None:
        graph()
        schedule.step()

    return step


MODES: dict[str, Callable[[Trained], Callable[[], Any]]] = {
    "eager": lambda trained: trained.step_eagerly,
    "graph": lambda trained: trained.graph(),
    "graph and schedule": lambda trained: both(trained.graph(), trained.schedule),
}


def expected_rates(row: Row) -> list[list[float]]:
    """The rates of the row's groups, of two equal ones where OneFlow refuses unequal ones."""
    return [list(pair) for pair in zip(row.rates, row.small_rates or row.rates, strict=True)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ROWS)
def test_rates_are_those_of_oneflow(name: str, mode: str) -> None:
    row = ROWS[name]
    trained = Trained(row.make, 0.2 if row.small_rates else 1.0)
    for rate, expected in zip(
        trained.rates(MODES[mode](trained)), expected_rates(row), strict=True
    ):
        assert rate == pytest.approx(expected, abs=2e-6)
    assert trained.schedule.state_dict()["last_step"] == STEPS
    assert trained.schedule.get_last_lr() == pytest.approx(
        [group["lr"] for group in trained.optimizer.param_groups]
    )


@pytest.mark.parametrize("is_stepped", [True, False])
@pytest.mark.parametrize("name", ROWS)
def test_a_schedule_shows_the_rate_that_the_call_used(name: str, is_stepped: bool) -> None:
    row = ROWS[name]
    trained = Trained(row.make, 0.2 if row.small_rates else 1.0)
    graph = trained.graph()
    for expected in expected_rates(row):
        graph()
        assert trained.schedule.get_last_lr() == pytest.approx(expected, abs=2e-6)
        groups = trained.optimizer.param_groups
        assert [group["lr"] for group in groups] == pytest.approx(expected, abs=2e-6)
        if is_stepped:
            trained.schedule.step()


SCHEDULES: dict[str, Callable[[Any], L.LRScheduler]] = {
    "steps": lambda optimizer: L.StepLR(optimizer, 1, 0.5),
    "one cycle": lambda optimizer: L.OneCycleLR(optimizer, 1.0, total_steps=9),
    "cycles": lambda optimizer: L.CyclicLR(optimizer, 0.1, 1.0, step_size_up=3),
    "averaging": lambda optimizer: flow.optim.swa_utils.SWALR(optimizer, 0.05, anneal_epochs=4),
    "steps of PyTorch": lambda optimizer: of_pytorch.StepLR(optimizer, 1, 0.5),
}
# The name and value of an option that a program sets in every step, always to one object; or a
# function that makes it for each program.
OPTIONS: dict[str, tuple[str, Any]] = {
    "rate": ("lr", 0.3),
    "rate, an int": ("lr", 1),
    "rate of NumPy": ("lr", np.float64(0.3)),
    "rate, a tensor": ("lr", lambda: flow.tensor(0.25, dtype=flow.float64)),
    "momentum": ("momentum", 0.3),
    "momentum, an int": ("momentum", 0),
    "momentum of NumPy": ("momentum", np.float64(0.3)),
    "betas": ("betas", (0.5, 0.75)),
    "betas, a list": ("betas", [0.5, 0.75]),
    "weight decay": ("weight_decay", 0.1),
    "target of the averaging": ("swa_lr", 0.5),
}
WAYS: dict[str, Callable[[Any, str, Any], object]] = {
    "item": lambda group, name, value: group.__setitem__(name, value),
    "update": lambda group, name, value: group.update({name: value}),
    "update by keyword": lambda group, name, value: group.update(**{name: value}),
    "or": lambda group, name, value: group.__ior__({name: value}),
    "pop": lambda group, name, value: (group.pop(name), group.setdefault(name, value)),
    "delete": lambda group, name, value: (group.__delitem__(name), group.setdefault(name, value)),
    "clear": lambda group, name, value: (
        (before := dict(group)),
        group.clear(),
        group.update(before, **{name: value}),
    ),
    "popitem": lambda group, name, value: group.update([group.popitem(), (name, value)]),
}


def trained_with(schedule: str, name: str = "lr") -> Trained:
    """An optimizer that has the option `name`, with a schedule."""
    if name == "betas":
        return Trained(SCHEDULES[schedule], kind=flow.optim.Adam)
    return Trained(SCHEDULES[schedule], momentum=0.9)


def assert_as_eager(run: Callable[[str], tuple[Any, dict[str, Any]]]) -> None:
    """In every mode `run` gives the rates of eager training, and leaves the schedule so."""
    expected, state = run("eager")
    for mode in list(MODES)[1:]:
        rates, state_in_mode = run(mode)
        for pair, expected_pair in zip(rates, expected, strict=True):
            assert pair == pytest.approx(expected_pair, rel=1e-9), mode
        assert state_in_mode["_last_lr"] == pytest.approx(state["_last_lr"], rel=1e-9), mode
        assert state_in_mode["last_step"] == state["last_step"]


def _set_in_every_step(
    schedule: str, name: str, change: Callable[[Trained], object], mode: str
) -> tuple[Any, dict[str, Any]]:
    trained = trained_with(schedule, name)
    step = MODES[mode](trained)
    rates = trained.rates(step, 2)
    for _ in range(3):
        change(trained)
        rates += trained.rates(step, 1)
    return rates + trained.rates(step, 2), trained.schedule.state_dict()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_a_program_sets_count_in_the_next_call(
    option: str, schedule: str, loads: bool
) -> None:
    name, value = OPTIONS[option]
    if name == "swa_lr" and schedule != "averaging":
        return

    def run(mode: str) -> tuple[Any, dict[str, Any]]:
        own_value = value() if callable(value) else value

        def change(trained: Trained) -> None:
            optimizer = trained_with(schedule, name).optimizer if loads else trained.optimizer
            for group in optimizer.param_groups:
                group[name] = own_value
            if loads:
                trained.optimizer.load_state_dict(optimizer.state_dict())

        return _set_in_every_step(schedule, name, change, mode)

    assert_as_eager(run)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_an_option_counts(way: str) -> None:
    def change(trained: Trained) -> None:
        for group in trained.optimizer.param_groups:
            WAYS[way](group, "lr", 1)

    assert_as_eager(lambda mode: _set_in_every_step("steps", "lr", change, mode))


def test_groups_are_like_dicts() -> None:
    group, value = trained_with("steps").optimizer.param_groups[0], 3
    assert isinstance(group, ParamGroup)
    plain = dict(group)
    for way in WAYS.values():
        way(group, "lr", value)
        way(plain, "lr", value)
        assert group == plain
        assert list(group) == list(plain)
    assert group.setdefault("lr", 4) == value
    assert group.pop("nothing", 5) == 5
    for again in (copy.copy(group), copy.deepcopy(group), pickle.loads(pickle.dumps(group))):
        assert type(again) is type(group)
        assert {**again, "params": []} == {**plain, "params": []}
        group.written.clear()
        again["momentum"] = 0.5
        assert not group.written
    changing = {"__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem"}
    assert changing | {"setdefault", "update"} <= set(vars(type(group)))


def test_groups_that_the_program_replaced_keep_other_values() -> None:
    def run(mode: str) -> tuple[Any, dict[str, Any]]:
        trained = trained_with("one cycle")
        step = MODES[mode](trained)
        rates = trained.rates(step, 2)
        groups = [dict(group) for group in trained.optimizer.param_groups]
        for momentum in (0.25, 0.375):
            trained.optimizer.param_groups = groups
            groups[0]["momentum"] = momentum
            rates += trained.rates(step, 1)
        return rates + trained.rates(step, 2), trained.schedule.state_dict()

    assert_as_eager(run)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_group_added_between_calls_keeps_its_rate(schedule: str) -> None:
    def run(mode: str) -> tuple[Any, dict[str, Any]]:
        trained = Trained(SCHEDULES[schedule], None, momentum=0.9)
        step = MODES[mode](trained)
        rates = trained.rates(step, 2)
        added = {"params": [trained.module.other], "lr": 1, "momentum": 0, "swa_lr": 0.5}
        trained.module.other.grad = None
        trained.optimizer.add_param_group(added)
        return rates + trained.rates(step, 3), trained.schedule.state_dict()

    assert_as_eager(run)


def test_a_failed_load_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(mode: str) -> tuple[Any, dict[str, Any]]:
        trained = trained_with("steps")
        state = trained.optimizer.state_dict()
        step = MODES[mode](trained)
        rates = trained.rates(step, 2)
        for group in state["param_groups"]:
            group["lr"] = 7.0
        with monkeypatch.context() as patch:
            patch.setattr(trained.optimizer, "__setstate__", None)
            with pytest.raises(TypeError):
                trained.optimizer.load_state_dict(state)
        return rates + trained.rates(step, 2), trained.schedule.state_dict()

    assert_as_eager(run)


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda parts: pickle.loads(pickle.dumps(parts)),
}


@pytest.mark.parametrize("value", [None, 1, 0.3])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copied", COPIES)
def test_copies_between_two_calls_go_on(copied: str, schedule: str, value: Any) -> None:
    def run(mode: str) -> tuple[Any, dict[str, Any]]:
        trained = Trained(SCHEDULES[schedule], momentum=0.9)
        rates = trained.rates(MODES[mode](trained), 2)
        if value is not None:
            trained.optimizer.param_groups[0]["lr"] = value
        trained = COPIES[copied](trained)
        return rates + trained.rates(MODES[mode](trained), 3), trained.schedule.state_dict()

    assert_as_eager(run)


@pytest.mark.parametrize("saved", ["schedule", "optimizer", "graph"])
def test_saved_between_a_call_and_its_schedule(saved: str) -> None:
    trained = Trained(lambda optimizer: L.StepLR(optimizer, 1, 0.5))
    graph = trained.graph()
    graph()
    parts = {"schedule": trained.schedule, "optimizer": trained.optimizer, "graph": graph}
    parts[saved].state_dict()
    assert trained.schedule.last_step == 1
    trained.schedule.step()
    assert trained.schedule.last_step == 1
    graph()
    trained.schedule.load_state_dict({**trained.schedule.state_dict(), "last_step": 5})
    trained.schedule.step()
    assert trained.schedule.last_step == 5
    graph()
    trained.schedule.step(3)
    assert trained.schedule.state_dict()["last_step"] == 3


@pytest.mark.parametrize("name", ROWS)
def test_groups_added_later_keep_their_rate(name: str) -> None:
    row = ROWS[name]
    trained = Trained(row.make, 0.2 if row.small_rates else 1.0)
    trained.rates(trained.step_eagerly, 4)
    added = nn.Parameter(flow.zeros(1))
    trained.optimizer.add_param_group({"params": [added], "lr": 0.7})
    rates = trained.rates(trained.step_eagerly, STEPS - 4)
    for rate, expected in zip(rates, expected_rates(row)[4:], strict=True):
        assert rate == pytest.approx(expected, abs=2e-6)
    assert trained.optimizer.param_groups[2]["lr"] == 0.7


def accumulated(trained: Trained) -> Callable[[], Any]:
    graph = trained.graph()
    graph.config.set_gradient_accumulation_steps(2)
    scale = flow.ones(4, dtype=flow.float64)
    return lambda: (graph(scale), trained.schedule.step())


def scaled(trained: Trained) -> Callable[[], Any]:
    graph = trained.graph()
    graph.set_grad_scaler(flow.amp.GradScaler(init_scale=8.0))
    return both(graph, trained.schedule)


def with_hook(trained: Trained) -> Callable[[], Any]:
    trained.optimizer.register_step_post_hook(lambda optimizer, args, kwargs: None)
    return both(trained.graph(), trained.schedule)


@pytest.mark.parametrize("make", [accumulated, scaled, with_hook])
def test_every_kind_of_graph_counts_its_calls(make) -> None:
    row = ROWS["SequentialLR"]
    trained = Trained(row.make)
    for rate, expected in zip(trained.rates(make(trained)), expected_rates(row), strict=True):
        assert rate == pytest.approx(expected, abs=2e-6)


def test_skipped_steps_count() -> None:
    trained = Trained(lambda optimizer: L.StepLR(optimizer, 1, 0.5))
    graph = trained.graph()
    graph.set_grad_scaler(flow.amp.GradScaler(init_scale=8.0))
    scales = iter([1.0, float("inf"), 1.0])

    def step() -> None:
        graph(flow.full((1,), next(scales), dtype=flow.float64))
        trained.schedule.step()

    rates = [one for one, _ in trained.rates(step, 3)]
    assert rates == pytest.approx([1.0, 0.0, 0.25])


def test_eager_steps_between_calls_of_a_graph_count_once() -> None:
    row = ROWS["MultiStepLR"]
    trained = Trained(row.make)
    graph = trained.graph()
    steps = [graph, both(graph, trained.schedule), trained.step_eagerly, trained.step_eagerly] * 2
    turns = iter(steps)
    rates = trained.rates(lambda: next(turns)(), len(steps))
    for rate, expected in zip(rates, expected_rates(row), strict=False):
        assert rate == pytest.approx(expected, abs=2e-6)


def test_a_state_saved_by_a_program_that_steps_the_schedule_goes_on() -> None:
    row = ROWS["CosineDecayLR"]
    first = Trained(row.make)
    first.rates(MODES["graph and schedule"](first), 4)
    second = Trained(row.make)
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.schedule.load_state_dict(first.schedule.state_dict())
    rates = second.rates(MODES["graph and schedule"](second), 4)
    for rate, expected in zip(rates, expected_rates(row)[4:8], strict=True):
        assert rate == pytest.approx(expected, abs=2e-6)


def test_a_program_may_move_the_schedule_of_a_graph() -> None:
    trained = Trained(lambda optimizer: L.StepLR(optimizer, 1, 0.5))
    graph = trained.graph()
    graph()
    trained.schedule.step(3)
    assert trained.rates(graph, 2)[1][0] == pytest.approx(0.0625)


def test_groups_warm_up_to_rates_of_their_own() -> None:
    trained = Trained(lambda o: L.WarmUpLR(L.CosineAnnealingLR(o, 8, 0.05), 0.5, 4))
    rates = trained.rates(trained.graph())
    after = L.CosineAnnealingLR(trained.optimizer, 8, 0.05)
    for step, pair in enumerate(rates):
        for base, rate in zip((1.0, 0.2), pair, strict=True):
            end = after.get_lr(base, max(step, 4))
            start = base * 0.5
            expected = start + (end - start) * step / 4 if step < 4 else end
            assert rate == pytest.approx(expected, abs=1e-12)


def test_a_schedule_whose_step_fails_stays_that_of_its_graph():
    layer = flow.nn.Linear(2, 1)
    optimizer = flow.optim.SGD(layer.parameters(), lr=1.0)
    fails = []

    def factor(step):
        if fails:
            raise ValueError("no rate")
        return 1.0

    schedule = flow.optim.lr_scheduler.LambdaLR(optimizer, factor)
    optimizer.make_schedule_due(schedule)
    fails.append(True)
    with pytest.raises(ValueError, match="no rate"):
        schedule.step()
    assert optimizer.schedule_of_graph is schedule
