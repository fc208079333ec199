"""Whatever happens between its steps, training with tables of numbers is training without."""

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.compiler import number_tables
from oneflow.compiler.lower import Executable
from oneflow.compiler.number_tables import NumberTables
from oneflow.program import update_number
from oneflow.runtime import eager
from oneflow.runtime.background import COMPILER
from oneflow.runtime.program_cache import ProgramCache

ROWS = 8
STEPS, EVENT = 3 * ROWS, ROWS + 5  # in the middle of a table
Schedules = flow.optim.lr_scheduler


class Training:
    """A weight, what trains it, and one step of that, eager or as a graph."""

    turns, optimizer_count, scaler = 1, 1, None

    def __init__(self, as_graph: bool) -> None:
        flow.manual_seed(2**40 + 3)  # both words of it count
        self.weights = [flow.ones(64).requires_grad_() for _ in range(self.optimizer_count)]
        self.optimizers = [flow.optim.AdamW([weight], lr=0.01) for weight in self.weights]
        self.schedules = [self.make_schedule(optimizer) for optimizer in self.optimizers]
        self.factor = flow.ones(2)
        self.graph = _Graph(self) if as_graph else None
        self.saved: Any = None

    def make_schedule(self, optimizer: flow.optim.Optimizer) -> Any:
        return Schedules.CosineAnnealingLR(optimizer, T_max=90)

    def loss(self, factor: flow.Tensor) -> flow.Tensor:
        squares = [flow.nn.functional.dropout(w * w, 0.5).sum() for w in self.weights]
        return sum(squares) * factor.mean()

    def step(self) -> None:
        if self.graph is not None:
            self.graph(self.factor)
            return
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        for _ in range(self.turns):
            loss = self.loss(self.factor) / self.turns
            (self.scaler.scale(loss) if self.scaler else loss).backward()
        for optimizer, schedule in zip(self.optimizers, self.schedules, strict=True):
            self.scaler.step(optimizer) if self.scaler else optimizer.step()
            schedule.step()
        if self.scaler:
            self.scaler.update()

    def states(self) -> list[dict[str, Any]]:
        return [state.state_dict() for state in (*self.optimizers, *self.schedules)]

    def before(self, step: int) -> None:
        """Do what is to happen before a step."""


class _Graph(flow.nn.Graph):
    def __init__(self, training: Training) -> None:
        super().__init__()
        self.trained = training
        self.weight, self.others = training.weights[0], training.weights[1:]
        for optimizer, schedule in zip(training.optimizers, training.schedules, strict=True):
            self.add_optimizer(optimizer, lr_sch=schedule)
        if training.scaler is not None:
            self.set_grad_scaler(training.scaler)
        if training.turns > 1:
            self.config.set_gradient_accumulation_steps(training.turns)

    def build(self, factor: flow.Tensor) -> flow.Tensor:
        loss = self.trained.loss(factor)
        loss.backward()
        return loss


class StateLoaded(Training):
    def before(self, step: int) -> None:
        if step == 4:
            self.saved = copy.deepcopy(self.states())
        if step == EVENT:
            for part, state in zip((*self.optimizers, *self.schedules), self.saved, strict=True):
                part.load_state_dict(state)


class Seeded(Training):
    def before(self, step: int) -> None:
        if step == EVENT:
            flow.manual_seed(2**41 + 3)


class DrawsAgain(Training):
    def before(self, step: int) -> None:
        if step == 4:
            self.saved = flow.get_rng_state()
        if step in (EVENT, EVENT + 1):
            flow.set_rng_state(self.saved)


class DrawsBetween(Training):
    def before(self, step: int) -> None:
        if step % 5 == 0:
            flow.rand(2)


class RateSet(Training):
    def before(self, step: int) -> None:
        if step >= EVENT:
            self.optimizers[0].param_groups[0]["lr"] = 0.5 / step


class OptionsSet(Training):
    def before(self, step: int) -> None:
        if step == EVENT:
            self.optimizers[0].param_groups[0].update(betas=(0.8, 0.9), weight_decay=0.5)


class ScheduleSet(Training):
    def before(self, step: int) -> None:
        if step == EVENT:
            self.schedules[0].load_state_dict({**self.schedules[0].state_dict(), "last_step": 50})
        if step == EVENT + 4:
            self.schedules[0].base_lrs = [0.3]


class RateOverflowsLater(Training):
    def make_schedule(self, optimizer: flow.optim.Optimizer) -> Any:
        optimizer.param_groups[0]["initial_lr"] = 1e-300
        return Schedules.ExponentialLR(optimizer, 1e23)  # 1e23**14 is no float

    def before(self, step: int) -> None:
        if step == EVENT - 1:
            self.schedules[0].gamma = 1.0


class TwoOptimizers(Training):
    optimizer_count = 2

    def before(self, step: int) -> None:
        if step == EVENT:
            self.optimizers[1].param_groups[0]["lr"] = 0.5


class Accumulation(Training):
    turns = 2


class SkippedStep(Training):
    def __init__(self, as_graph: bool) -> None:
        self.scaler = flow.amp.GradScaler(init_scale=8.0, growth_interval=6)
        super().__init__(as_graph)

    def make_schedule(self, optimizer: flow.optim.Optimizer) -> Any:
        return Schedules.StepLR(optimizer, step_size=EVENT)

    def before(self, step: int) -> None:
        self.factor = flow.tensor([1.0, float("inf") if step == EVENT else 1.0])


class Copied(Training):
    def before(self, step: int) -> None:
        if step == EVENT:
            self.saved = copy.deepcopy(self.optimizers[0])
        if step > EVENT:
            (weight,) = self.saved.param_groups[0]["params"]
            weight.grad = flow.full_like(weight, 0.1)
            self.saved.step()
            self.factor = 1 + 0.01 * weight.detach()[:2]


class OtherThread(Training):
    def step(self) -> None:
        thread = threading.Thread(target=super().step)
        thread.start()
        thread.join()


class Interrupted(Training):
    """An interrupt between sending a table and the run that reads it; the step is made again."""

    def step(self) -> None:
        for hit in (ROWS, EVENT, EVENT + 1):
            if self.saved == hit:
                self._interrupt()
        super().step()

    def _interrupt(self) -> None:
        arguments_of = Executable._number_arguments

        def interrupted(executable: Executable, scalars: Any) -> Any:
            Executable._number_arguments = arguments_of
            arguments_of(executable, scalars)
            raise KeyboardInterrupt

        Executable._number_arguments = interrupted
        try:
            with pytest.raises(KeyboardInterrupt):
                super().step()
        finally:
            Executable._number_arguments = arguments_of

    def before(self, step: int) -> None:
        self.saved = step


def _result(make: Callable[[bool], Training], as_graph: bool) -> list[Any]:
    """The weights, what is counted, and where the generator stands after training."""
    training = make(as_graph)
    for step in range(STEPS):
        training.before(step)
        training.step()
        COMPILER.wait()
    counts = [state["step"] for o in training.optimizers for state in o.state.values()]
    counts += [schedule.last_step for schedule in training.schedules]
    counts = [float(count) for count in counts]
    rates = [group["lr"] for o in training.optimizers for group in o.param_groups]
    return [*(w.numpy() for w in training.weights), counts, rates, flow.get_rng_state().numpy()]


TRAININGS = Training.__subclasses__()


@pytest.mark.parametrize("as_graph", [False, True])
@pytest.mark.parametrize("make", TRAININGS)
def test_training_is_what_it_is_without_tables(make, as_graph, monkeypatch):
    expected = _result(make, as_graph)
    monkeypatch.setattr(update_number, "_TYPES_WITHOUT_TABLES", ())
    monkeypatch.setattr(number_tables, "_MAX_ROWS", ROWS)
    monkeypatch.setattr(eager, "PROGRAMS", ProgramCache())
    rows_used = []
    arguments_of = NumberTables.__call__

    def note_row(tables: NumberTables, *numbers: Any) -> Any:
        arguments = arguments_of(tables, *numbers)
        rows_used.append(tables._sent.row)
        return arguments

    monkeypatch.setattr(NumberTables, "__call__", note_row)
    for result, number in zip(_result(make, as_graph), expected, strict=True):
        np.testing.assert_allclose(result, number, rtol=1e-6)
    assert any(rows_used)
