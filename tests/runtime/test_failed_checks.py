"""After an index out of range: tensors hold what they held before, and work goes on."""

import functools

import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime.checks import ProgramChecks
from oneflow.runtime.eager_settings import SETTINGS
from tests.runtime.interruptions import contents

nn = flow.nn

GOOD, BAD = list(range(8)), [*range(7), 70]
MODES = {"cold": 1, "hot": 4}


class Training:
    """Everything that a step writes to, behind the lookup of an embedding."""

    def __init__(self, optimizer, place=None):
        flow.manual_seed(0)
        self.model = nn.Sequential(nn.Embedding(16, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
        self.cache = flow.zeros(3, 5)
        self.total = flow.zeros(())
        self.untouched = flow.zeros(2)
        if place is not None:
            self.model.to_global(place, flow.sbp.broadcast)
            for name in ("cache", "total", "untouched"):
                setattr(self, name, getattr(self, name).to_global(place, flow.sbp.broadcast))
        self.place = place
        self.optimizer = optimizer(self.model.parameters())

    def tensor(self, rows):
        tensor = flow.tensor(rows)
        if self.place is not None:
            tensor = tensor.to_global(self.place, flow.sbp.broadcast)
            tensor = tensor.to_global(self.place, flow.sbp.split(0))
        return tensor

    def step(self, rows):
        self.untouched += 1  # before the lookup: it happens
        logits = self.model(self.tensor(rows))
        loss = flow.nn.functional.cross_entropy(logits, self.tensor([0, 1, 2, 0, 1, 2, 0, 1]))
        loss.backward()
        self.cache[1, 2:4] = loss.detach()
        self.cache[:, 0] += loss.detach()
        self.total += loss.detach()
        self.total.mul_(0.5)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def tensors(self):
        states = self.optimizer.state_dict()["state"]
        kept = {
            f"{number}.{name}": value
            for number, state in states.items()
            for name, value in state.items()
            if isinstance(value, flow.Tensor)
        }
        return {**self.model.state_dict(), **kept, "cache": self.cache, "total": self.total}


OPTIMIZERS = {
    "SGD": functools.partial(flow.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.1),
    "AMSGrad": functools.partial(flow.optim.Adam, lr=0.1, amsgrad=True),
    "Adadelta": flow.optim.Adadelta,
}


def assert_same(now, before):
    for name, value in now.items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_nothing_behind_a_failed_check_is_written(optimizer, mode):
    training, reference = Training(OPTIMIZERS[optimizer]), Training(OPTIMIZERS[optimizer])
    for _ in range(MODES[mode]):
        training.step(GOOD).item()
        reference.step(GOOD).item()
    before, count = contents(training.tensors()), training.untouched.numpy()
    with pytest.raises(IndexError):
        training.step(BAD).item()
    assert_same(contents(training.tensors()), before)
    np.testing.assert_array_equal(training.untouched.numpy(), count + 1)
    # The optimizer has not counted the step, and training goes on as if it had not been tried.
    for _ in range(2):
        assert training.step(GOOD).item() == pytest.approx(reference.step(GOOD).item(), rel=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_devices_of_a_placement_agree(mode, sample):
    sample.take_turns(MODES, mode)
    place = flow.placement("cpu", [0, 1])
    training = Training(OPTIMIZERS["SGD"], place)
    for _ in range(MODES[mode]):
        training.step(GOOD).numpy()
    before = contents(training.tensors())
    with pytest.raises(IndexError):
        training.step(BAD).numpy()  # only the second device has the bad index
    assert_same(contents(training.tensors()), before)
    training.step(GOOD).numpy()
    assert not np.array_equal(training.model[2].weight.numpy(), before["2.weight"])


@pytest.mark.parametrize("mode", MODES)
def test_writes_before_the_failing_operation_have_happened(mode):
    table, x, y = flow.ones(4), flow.zeros(2), flow.zeros(2)

    def run(index):
        table[flow.tensor([0])]
        x.add_(1)
        value = table[flow.tensor([index])]
        x.add_(value)
        y.add_(x)
        return value

    for _ in range(MODES[mode]):
        run(1).item()
    was = x.numpy(), y.numpy()
    with pytest.raises(IndexError):
        run(9).item()
    np.testing.assert_array_equal(x.numpy(), was[0] + 1)
    np.testing.assert_array_equal(y.numpy(), was[1])


WRITES = {
    "add": lambda x, v: x.add_(v),
    "copy": lambda x, v: x.copy_(v.expand(4, 6)),
    "zero": lambda x, v: x.zero_(),
    "slice": lambda x, v: x[1:3, ::2].copy_(v.expand(2, 3)),
    "row": lambda x, v: x.__setitem__(1, v),
    "rows": lambda x, v: x.__setitem__(flow.tensor([2, 0]), v),
    "mask": lambda x, v: x.masked_fill_(x > 3, 1.0),
    "index_add": lambda x, v: x.index_add_(0, flow.tensor([1, 1]), v.expand(2, 6)),
    "scatter": lambda x, v: x.scatter_(1, flow.tensor([[0], [5]]), v.expand(2, 1)),
    "diagonal": lambda x, v: x.diagonal().mul_(v),
    "transposed": lambda x, v: x.t()[2].sub_(v),
    "flat": lambda x, v: x.view(-1)[3:5].add_(v),
    "data": lambda x, v: setattr(x, "data", x.data * v),
    "twice": lambda x, v: x.add_(v).mul_(2.0),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_in_place(write):
    table = flow.ones(4)
    x = flow.arange(24.0).reshape(4, 6).clone()
    view = x[1]

    def run(index):
        value = table[flow.tensor([index])]
        WRITES[write](x, value)
        return value

    for _ in range(4):
        before = x.numpy()
        with pytest.raises(IndexError):
            run(9).item()
        np.testing.assert_array_equal(x.numpy(), before)
        np.testing.assert_array_equal(view.numpy(), before[1])
        run(1).item()


def test_gradients_are_those_of_before():
    model = nn.Embedding(4, 2)

    def fail():
        model(flow.tensor([9])).sum().backward()
        model.weight.grad.numpy()

    with pytest.raises(IndexError):
        fail()
    assert model.weight.grad is None
    model(flow.tensor([1])).sum().backward()
    before = model.weight.grad.numpy()
    for _ in range(4):
        with pytest.raises(IndexError):
            fail()
        np.testing.assert_array_equal(model.weight.grad.numpy(), before)


def test_a_later_program_writes_nothing_that_was_computed_behind_a_failed_check():
    table, x = flow.ones(4), flow.zeros(1)
    x.numpy()
    for _ in range(4):
        value = table[flow.tensor([9])]
        limit, SETTINGS.limit = SETTINGS.limit, 1
        try:
            with pytest.raises(IndexError):
                _ = x.add_(value).numpy()
        finally:
            SETTINGS.limit = limit
        np.testing.assert_array_equal(x.numpy(), [0.0])


class TrainGraph(nn.Graph):
    """The step of a training, and a gradient that nobody uses."""

    def __init__(self, training, **options):
        super().__init__()
        self.model, self.cache, self.total = training.model, training.cache, training.total
        self.extra = nn.Parameter(flow.ones(1))
        self.add_optimizer(training.optimizer, **options)

    def build(self, rows):
        logits = self.model(rows) * self.extra
        loss = nn.functional.cross_entropy(logits, rows % 3)
        loss.backward()
        self.cache[1, 2:4] = loss.detach()
        self.cache.zero_()
        self.total += loss.detach()
        return loss


@pytest.mark.parametrize("options", [{}, {"is_sparse": True}], ids=["dense", "rows"])
def test_graphs(options):
    training = Training(OPTIMIZERS["SGD"])
    training.optimizer = flow.optim.Adam(training.model.parameters(), lr=0.1)
    graph = TrainGraph(training, **options)
    for _ in range(2):
        graph(flow.tensor(GOOD)).item()
        assert graph.extra.grad is not None
        graph.extra.grad = None
        before = contents(training.tensors())
        with pytest.raises(IndexError):
            graph(flow.tensor(BAD)).item()
        assert_same(contents(training.tensors()), before)
        assert graph.extra.grad is None
    steps = {state["step"] for state in training.optimizer.state_dict()["state"].values()}
    assert steps == {2}


def test_pipelines():
    first, second = flow.placement("cpu", [0]), flow.placement("cpu", [1])
    flow.manual_seed(0)
    table = nn.Embedding(16, 4).to_global(first, flow.sbp.broadcast)
    head = nn.Linear(4, 3).to_global(second, flow.sbp.broadcast)
    model = nn.ModuleList([table, head])
    optimizer = flow.optim.Adam(model.parameters(), lr=0.1)

    class Pipeline(nn.Graph):
        def __init__(self):
            super().__init__()
            self.table, self.head = table, head
            self.config.set_gradient_accumulation_steps(2)
            self.add_optimizer(optimizer)

        def build(self, rows, labels):
            hidden = self.table(rows).to_global(second, flow.sbp.broadcast)
            loss = nn.functional.cross_entropy(self.head(hidden), labels)
            loss.backward()
            return loss

    graph = Pipeline()

    def step(rows, label=1):
        rows = flow.tensor(rows).to_global(first, flow.sbp.broadcast)
        labels = flow.tensor([0, 1, 2, 0, 1, 2, 0, label]).to_global(second, flow.sbp.broadcast)
        return graph(rows, labels).numpy()

    for _ in range(3):
        step(GOOD)
        before = contents(model.state_dict())
        with pytest.raises(IndexError):
            step(BAD)
        with pytest.raises(IndexError):
            step(GOOD, label=3)
        assert_same(contents(model.state_dict()), before)
    step(GOOD)
    steps = {state["step"] for state in optimizer.state_dict()["state"].values()}
    assert steps == {4}


def test_graphs_with_arrays_that_no_device_holds():
    class Huge(nn.Graph):
        def build(self, x):
            return (x.expand(2**21, 2**21) + 1).sum()

    with pytest.raises(flow.OutOfMemoryError):
        Huge()(flow.ones(1))


def test_a_state_loaded_after_a_failed_step_is_loaded_whole_or_not_at_all(monkeypatch):
    table = nn.Embedding(16, 4)
    optimizer = flow.optim.Adam(table.parameters(), lr=0.1)

    def step(rows):
        optimizer.zero_grad()
        table(flow.tensor(rows)).sum().backward()
        optimizer.step()

    for _ in range(3):
        step(GOOD)
    saved = optimizer.state_dict()
    step(GOOD)
    monkeypatch.setattr(ProgramChecks, "is_ready", False)  # as on a device that is still computing
    step(BAD)
    with pytest.raises(IndexError, match="70"):  # it reads the old state
        optimizer.load_state_dict(saved)
    assert optimizer.state_dict()["state"][0]["step"] == 4
    step(BAD)
    optimizer.load_state_dict({**saved, "state": {0: {"step": 3}}})  # it reads nothing
    with pytest.raises(IndexError, match="70"):
        table.weight.sum().item()
    assert optimizer.state_dict()["state"][0]["step"] == 3


@pytest.mark.parametrize(
    "write",
    [
        lambda view, bad: view.copy_(bad),
        lambda view, bad: view.add_(bad),
        lambda view, bad: view[1:].mul_(bad[:2]),
        lambda view, bad: view.__setitem__(slice(None), bad),
        lambda view, bad: view.masked_fill_(bad > 0, 9),
        lambda view, bad: view.detach().copy_(bad),
        lambda view, bad: flow.add(bad, 1, out=view),
        lambda view, bad: view.view(3, 1).sub_(bad.view(3, 1)),
    ],
)
@pytest.mark.parametrize("read", ["base", "view", "other"])
def test_views_and_their_bases_keep_their_values(write, read) -> None:
    base = flow.arange(4)
    tensors = {"base": base, "view": base[1:], "other": flow.arange(4) * 2}
    for _ in range(3):
        write(tensors["view"], flow.arange(9)[flow.tensor([1, 20, 3])])
        with pytest.raises(IndexError, match="20"):
            (tensors[read] + 1).tolist()
        assert (base.tolist(), tensors["view"].tolist()) == ([0, 1, 2, 3], [1, 2, 3])
    assert (base + 1).tolist() == [1, 2, 3, 4]
