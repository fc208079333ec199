"""Steps of which nothing is read wait for no run-time check of an earlier one."""

from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow.runtime.checks import ProgramChecks

nn = flow.nn
WARM_UP = 6  # until every program is hot
STEPS = 12


def classifier() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = flow.randn(8, 8), flow.tensor([0, 1, 2, 3, 0, 1, 2, 3])

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def classifier_graph() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    images, labels = flow.randn(8, 8), flow.tensor([0, 1, 2, 3, 0, 1, 2, 3])

    class Step(nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))

        def build(self, images: flow.Tensor, labels: flow.Tensor) -> flow.Tensor:
            loss = nn.functional.cross_entropy(self.model(images), labels)
            loss.backward()
            return loss

    graph = Step()

    def step() -> None:
        graph(images, labels)

    return step


def embedding() -> Callable[[], None]:
    table = nn.Embedding(16, 4)
    optimizer = flow.optim.Adam(table.parameters(), lr=0.1)
    rows = flow.tensor([1, 5, 9])

    def step() -> None:
        optimizer.zero_grad()
        table(rows).square().sum().backward()
        optimizer.step()

    return step


def moving_average() -> Callable[[], None]:
    step, average = classifier(), flow.zeros(4)

    def both() -> None:
        step()
        picked = flow.randn(4, 3).gather(1, flow.tensor([[0], [1], [2], [0]]))
        average.mul_(0.9).add_(picked[:, 0], alpha=0.1)

    return both


@pytest.mark.parametrize("training", [classifier, classifier_graph, embedding, moving_average])
def test_steps_wait_for_no_check(training, monkeypatch):
    step = training()
    for _ in range(WARM_UP):
        step()
    waits = []
    error = ProgramChecks.error

    def counted(checks: ProgramChecks) -> Exception | None:
        waits.append(checks)
        return error(checks)

    # As on a device that has finished nothing yet.
    monkeypatch.setattr(ProgramChecks, "is_ready", False)
    monkeypatch.setattr(ProgramChecks, "error", counted)
    for _ in range(STEPS):
        step()
    assert not waits


def test_another_array_at_the_same_address_is_not_waited_for():
    def array() -> object:
        return flow.zeros(4).add(1)._value.read()

    checks, first = ProgramChecks(None, (), ()), array()
    checks.note_invalid([first])
    identity = id(first)
    assert checks.concerns({identity})
    del first
    assert not checks.concerns({identity})
