"""In a loop that reads nothing the host sends nothing, reads nothing and waits for nothing."""

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from oneflow.program import update_number
from oneflow.runtime import eager
from oneflow.runtime.background import COMPILER
from oneflow.runtime.checks import POLL_INTERVAL
from oneflow.runtime.program_cache import ProgramCache
from tests.devices import OTHER_DEVICE
from tests.runtime.host_traffic import host_traffic

nn = flow.nn
WARM_UP = 6  # until every program is hot


@pytest.fixture(autouse=True)
def accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs take their numbers as those of accelerators do."""
    monkeypatch.setattr(update_number, "_TYPES_WITHOUT_TABLES", ())
    monkeypatch.setattr(eager, "PROGRAMS", ProgramCache())


STEPS = 12

Step = Callable[[], flow.Tensor | None]
Loss = Callable[..., flow.Tensor]


def _model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def _batch() -> tuple[flow.Tensor, flow.Tensor]:
    return flow.randn(8, 8), flow.tensor([0, 1, 2, 3, 0, 1, 2, 3])


def _optimizer(model: nn.Module) -> flow.optim.Optimizer:
    return flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def _eager(model: nn.Module, loss: Loss) -> Callable[[], flow.Tensor]:
    optimizer = _optimizer(model)

    def step() -> flow.Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach()

    return step


class Training(nn.Graph):
    """The step of a model of which `loss` gives the loss."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        optimizer: flow.optim.Optimizer | None = None,
        schedule: flow.optim.lr_scheduler.LRScheduler | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.add_optimizer(optimizer or _optimizer(model), lr_sch=schedule)

    def build(self, *batch: flow.Tensor) -> flow.Tensor:
        loss = self.loss(*batch)
        loss.backward()
        return loss


def _square(model: nn.Module) -> Loss:
    return lambda images: model(images).square().mean()


def _cross_entropy(model: nn.Module) -> Loss:
    return lambda images, labels: nn.functional.cross_entropy(model(images), labels)


def perceptron() -> Step:
    model, (images, _) = _model(), _batch()
    return _eager(model, lambda: _square(model)(images))


def perceptron_graph() -> Step:
    model, (images, _) = _model(), _batch()
    graph = Training(model, _square(model))
    return lambda: graph(images)


def classifier() -> Callable[[], flow.Tensor]:
    model, batch = _model(), _batch()
    return _eager(model, lambda: _cross_entropy(model)(*batch))


def classifier_graph() -> Callable[[], flow.Tensor]:
    model, batch = _model(), _batch()
    graph = Training(model, _cross_entropy(model))
    return lambda: graph(*batch)


def embedding() -> Step:
    table, rows = nn.Embedding(16, 4), flow.tensor([1, 5, 9])
    return _eager(table, lambda: table(rows).square().sum())


def embedding_graph() -> Step:
    table, rows = nn.Embedding(16, 4), flow.tensor([1, 5, 9])
    graph = Training(table, lambda rows: table(rows).square().sum())
    return lambda: graph(rows)


def accumulated_loss() -> Step:
    step, total = classifier(), flow.zeros(())
    return lambda: total.add_(step())


def accumulated_loss_graph() -> Step:
    step, total = classifier_graph(), flow.zeros(())
    return lambda: total.add_(step().detach())


def _averaged(make: Callable[[nn.Module], Step]) -> Step:
    model, average = _model(), _model()
    step = make(model)

    @flow.no_grad()
    def both() -> None:
        with flow.enable_grad():
            step()
        for mine, its in zip(average.parameters(), model.parameters(), strict=True):
            mine.mul_(0.9).add_(its, alpha=0.1)

    return both


def moving_average() -> Step:
    batch = _batch()
    return _averaged(lambda model: _eager(model, lambda: _cross_entropy(model)(*batch)))


def moving_average_graph() -> Step:
    batch = _batch()

    def make(model: nn.Module) -> Step:
        graph = Training(model, _cross_entropy(model))
        return lambda: graph(*batch)

    return _averaged(make)


def clipping() -> Step:
    model, batch = _model(), _batch()
    optimizer = _optimizer(model)

    def step() -> None:
        optimizer.zero_grad()
        _cross_entropy(model)(*batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def clipping_graph() -> Step:
    model, batch = _model(), _batch()
    norm = {"clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}
    clipped = [{"params": model.parameters(), **norm}]
    graph = Training(model, _cross_entropy(model), flow.optim.SGD(clipped, lr=0.1))
    return lambda: graph(*batch)


def _scaled(make: Callable[..., flow.optim.Optimizer]) -> Step:
    model, batch = _model(), _batch()
    optimizer, scaler = make(model.parameters()), flow.amp.GradScaler(growth_interval=5)

    def step() -> None:
        optimizer.zero_grad()
        scaler.scale(_cross_entropy(model)(*batch)).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def scaler() -> Step:
    return _scaled(lambda parameters: flow.optim.SGD(parameters, lr=0.1, momentum=0.9))


def scaler_and_adam() -> Step:
    return _scaled(flow.optim.AdamW)


def scaler_graph() -> Step:
    model, batch = _model(), _batch()
    graph = Training(model, _cross_entropy(model))
    graph.set_grad_scaler(flow.amp.GradScaler())
    return lambda: graph(*batch)


def chosen_batch_graph() -> Step:
    model, (images, labels) = _model(), _batch()
    graph, rows = Training(model, _cross_entropy(model)), flow.tensor([1, 0, 3, 2])
    return lambda: graph(images[rows], labels[rows])


def _many_numbers() -> tuple[nn.Module, flow.optim.Optimizer]:
    """A model that draws, and an optimizer that counts in two groups."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 4), nn.Dropout(0.1))
    first, *others = model.parameters()
    return model, flow.optim.AdamW([{"params": [first], "lr": 1e-3}, {"params": others}], lr=0.01)


def _schedule(optimizer: flow.optim.Optimizer) -> flow.optim.lr_scheduler.LRScheduler:
    schedules = flow.optim.lr_scheduler
    warm_up = schedules.LinearLR(optimizer, total_iters=9)
    cosine = schedules.CosineAnnealingLR(optimizer, T_max=200)
    return schedules.SequentialLR(optimizer, [warm_up, cosine], milestones=[9])


def _counting(
    make_schedule: Callable[..., Any] = _schedule, scaler: flow.amp.GradScaler | None = None
) -> Step:
    model, optimizer = _many_numbers()
    schedule, (images, labels) = make_schedule(optimizer), _batch()

    def step() -> None:
        optimizer.zero_grad()
        loss = _cross_entropy(model)(images, labels)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        schedule.step()

    return step


def counts_schedule_and_draws() -> Step:
    return _counting()


def one_cycle() -> Step:
    schedules = flow.optim.lr_scheduler
    return _counting(lambda optimizer: schedules.OneCycleLR(optimizer, 0.1, total_steps=200))


def counts_schedule_and_draws_graph(scaler: flow.amp.GradScaler | None = None) -> Step:
    model, optimizer = _many_numbers()
    batch = _batch()
    graph = Training(model, _cross_entropy(model), optimizer, _schedule(optimizer))
    if scaler is not None:
        graph.set_grad_scaler(scaler)
    return lambda: graph(*batch)


def scaled_counts_and_draws_graph() -> Step:
    return counts_schedule_and_draws_graph(flow.amp.GradScaler(growth_interval=5))


TRAININGS = [
    counts_schedule_and_draws,
    counts_schedule_and_draws_graph,
    one_cycle,
    scaled_counts_and_draws_graph,
    perceptron,
    perceptron_graph,
    classifier,
    classifier_graph,
    embedding,
    embedding_graph,
    accumulated_loss,
    accumulated_loss_graph,
    moving_average,
    moving_average_graph,
    clipping,
    clipping_graph,
    scaler,
    scaler_and_adam,
    scaler_graph,
    chosen_batch_graph,
]


@pytest.mark.parametrize("training", TRAININGS)
def test_steady_steps(training: Callable[[], Step]) -> None:
    _check_steady_steps(training())


@pytest.mark.parametrize(
    "training",
    [perceptron_graph, accumulated_loss, moving_average_graph, counts_schedule_and_draws],
)
def test_steady_steps_on_another_device(training: Callable[[], Step]) -> None:
    with flow.device(OTHER_DEVICE):
        _check_steady_steps(training())


def _check_steady_steps(step: Step) -> None:
    for _ in range(WARM_UP):
        step()
        COMPILER.wait()
    with host_traffic() as counts:
        for _ in range(STEPS):
            step()
    flow.eager.synchronize()
    copies = counts.pop("copy", 0)
    assert not counts
    assert copies <= 3 * STEPS // POLL_INTERVAL + 1  # a flag now and then, which nobody waits for
