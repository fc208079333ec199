"""Programs that start behind a failed check that nobody has looked at yet."""

from collections.abc import Callable

import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime.background import COMPILER
from oneflow.runtime.checks import POLL_INTERVAL, thread_checks
from tests.devices import OTHER_DEVICE
from tests.runtime.host_traffic import host_traffic
from tests.runtime.interruptions import contents

pytestmark = pytest.mark.usefixtures("no_small_programs")

nn = flow.nn
WARM_UP = 6  # until every program is hot
GOOD, BAD = flow.tensor([1, 5, 9]), flow.tensor([1, 50, 9])


class Training:
    """A table that is trained, an average of it, and the sum of all losses."""

    def __init__(self, place: flow.placement | None = None, graph: bool = False) -> None:
        flow.manual_seed(0)
        self.table, self.average, self.total = (
            nn.Embedding(16, 4),
            nn.Embedding(16, 4),
            flow.zeros(1),
        )
        self.rows: dict[str, flow.Tensor] = {"good": GOOD, "bad": BAD}
        if place is not None:
            self.table.to_global(place, flow.sbp.broadcast)
            self.average.to_global(place, flow.sbp.broadcast)
            self.total = self.total.to_global(place, flow.sbp.broadcast)
            self.rows = {
                name: rows.to_global(place, flow.sbp.broadcast) for name, rows in self.rows.items()
            }
        self.optimizer = flow.optim.Adam(self.table.parameters(), lr=0.1)
        self.loss: Callable[[flow.Tensor], flow.Tensor] = Graph(self) if graph else self.train

    def train(self, rows: flow.Tensor) -> flow.Tensor:
        self.optimizer.zero_grad()
        loss = self.table(rows).square().sum()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def step(self, name: str = "good") -> None:
        loss = self.loss(self.rows[name])
        with flow.no_grad():
            self.total.add_(loss)
            self.average.weight.mul_(0.5).add_(self.table.weight, alpha=0.5)

    def tensors(self) -> dict[str, flow.Tensor]:
        moments = {
            name: moment
            for name, moment in self.optimizer.state[self.table.weight].items()
            if isinstance(moment, flow.Tensor)
        }
        weights = {"table": self.table.weight, "average": self.average.weight}
        return {**weights, **moments, "total": self.total}

    def count(self) -> int:
        return self.optimizer.state_dict()["state"][0]["step"]


class Graph(nn.Graph):
    def __init__(self, training: Training) -> None:
        super().__init__()
        self.table = training.table
        self.add_optimizer(training.optimizer)

    def build(self, rows: flow.Tensor) -> flow.Tensor:
        loss = self.table(rows).square().sum()
        loss.backward()
        return loss


def on_another_device() -> Training:
    with flow.device(OTHER_DEVICE):
        training = Training()
        training.rows = {name: rows.to(OTHER_DEVICE) for name, rows in training.rows.items()}
        return training


KINDS = {
    "eager": lambda: Training(),
    "graph": lambda: Training(graph=True),
    "placement": lambda: Training(flow.placement("cpu", [0, 1])),
    "another_device": on_another_device,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("behind", [0, 1, 3])
def test_no_later_step_writes_or_counts(kind: str, behind: int) -> None:
    training, reference = KINDS[kind](), KINDS[kind]()
    for _ in range(WARM_UP):
        training.step()
        reference.step()
        COMPILER.wait()
    before, count = contents(training.tensors()), training.count()

    def go_on() -> None:
        training.step("bad")
        for _ in range(behind):
            training.step()
        training.total.numpy()

    with host_traffic(), pytest.raises(IndexError, match="50"):  # nothing is ever ready
        go_on()
    for name, value in contents(training.tensors()).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    assert training.count() == count
    for trainer in (training, reference):
        trainer.step()
    expected = contents(reference.tensors())
    for name, value in contents(training.tensors()).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("kind", ["eager", "graph"])
def test_a_loop_that_reads_nothing_raises_after_some_steps(kind: str) -> None:
    training = KINDS[kind]()
    for _ in range(WARM_UP):
        training.step()
        COMPILER.wait()
    flow.eager.synchronize()
    before = contents(training.tensors())

    def go_on() -> None:
        training.step("bad")
        for _ in range(100 * POLL_INTERVAL):
            training.step()

    with pytest.raises(IndexError, match="50"):
        go_on()
    for name, value in contents(training.tensors()).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_a_flag_goes_from_device_to_device() -> None:
    first, second = flow.placement("cpu", [0]), flow.placement("cpu", [1])
    table = flow.ones(4).to_global(first, flow.sbp.broadcast)
    total = flow.zeros(1).to_global(second, flow.sbp.broadcast)

    def step(row: int) -> None:
        rows = flow.tensor([row]).to_global(first, flow.sbp.broadcast)
        total.add_(table[rows].to_global(second, flow.sbp.broadcast))

    for _ in range(WARM_UP):
        step(1)
        COMPILER.wait()
    before = total.numpy()
    with host_traffic():
        step(7)
        step(1)
    with pytest.raises(IndexError, match="7"):
        total.numpy()
    np.testing.assert_array_equal(total.numpy(), before)


def test_a_tensor_that_is_given_an_array_gets_its_old_one_back() -> None:
    table, holder = flow.ones(4), flow.zeros(1)

    def give(row: int) -> None:
        value = table[flow.tensor([row])]
        value._value.read()
        holder.data = value

    for _ in range(WARM_UP):
        give(1)
        COMPILER.wait()
    with host_traffic():
        give(9)
    with pytest.raises(IndexError, match="9"):
        holder.numpy()
    np.testing.assert_array_equal(holder.numpy(), [1.0])
    assert not thread_checks()
