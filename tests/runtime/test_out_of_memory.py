"""A program that finds too little memory: nothing is lost, and a smaller one goes on."""

import gc
import weakref

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.device import CPU
from oneflow.compiler import loaded_executable
from oneflow.runtime import cold
from oneflow.runtime.eager_settings import SETTINGS
from tests.runtime.interruptions import contents

# Rows of 64 floats: four terabytes.
HUGE = 2**34


class Training:
    def __init__(self, optimizer):
        flow.manual_seed(0)
        self.model = flow.nn.Linear(64, 2)
        self.optimizer = optimizer(self.model.parameters())
        self.seen = flow.zeros(2, 3)

    def step(self, rows):
        self.seen[0] += 1
        loss = (self.model(flow.ones(rows, 64)) - 1).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def tensors(self):
        return {**self.model.state_dict(), "seen": self.seen}


OPTIMIZERS = {
    "sgd": lambda parameters: flow.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: flow.optim.Adam(parameters, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("steps_before", [0, 1, SETTINGS.hot_after + 2])
def test_training_goes_on_as_if_nothing_had_happened(name, steps_before):
    training, reference = Training(OPTIMIZERS[name]), Training(OPTIMIZERS[name])
    for _ in range(steps_before):
        assert training.step(8) == pytest.approx(reference.step(8), rel=1e-5)
    before = contents(training.model.state_dict())
    with pytest.raises(flow.OutOfMemoryError, match=r"`\w+`, which makes float32\[17179869184"):
        training.step(HUGE)
    now = contents(training.model.state_dict())
    for key, value in now.items():
        np.testing.assert_array_equal(value, before[key])
    assert training.seen[0].tolist() == [steps_before + 1.0] * 3  # does not need the model
    for _ in range(3):
        assert training.step(8) == pytest.approx(reference.step(8), rel=1e-5)


def test_what_could_not_be_computed_says_so_whenever_it_is_read():
    small = flow.ones(3) + 1
    huge = flow.ones(HUGE, 64) * 2
    total = huge.sum()
    with pytest.raises(flow.OutOfMemoryError, match="out of memory"):
        total.item()
    with pytest.raises(flow.OutOfMemoryError, match="out of memory"):
        total.item()
    with pytest.raises(flow.OutOfMemoryError, match="out of memory"):
        (total + 1).item()
    assert small.tolist() == [2.0] * 3


def test_writes_are_undone_up_to_the_last_that_could_be_done():
    x = flow.zeros(2, 3)
    row = x[0]
    x.add_(1)
    row.mul_(3)
    factor = flow.ones(HUGE, 64).sum()
    row.mul_(factor)
    x.add_(factor)
    with pytest.raises(flow.OutOfMemoryError):
        x.numpy()
    assert x.tolist() == [[3.0] * 3, [1.0] * 3]
    assert row.tolist() == [3.0] * 3
    x.data = x * flow.ones(HUGE, 64).sum()
    with pytest.raises(flow.OutOfMemoryError):
        flow.eager.synchronize()
    assert x.tolist() == [[3.0] * 3, [1.0] * 3]


class LargeStep(flow.nn.Graph):
    def __init__(self, training):
        super().__init__()
        self.model = training.model
        self.add_optimizer(training.optimizer)

    def build(self, x):
        loss = (self.model(x.expand(x.shape[0] * x.shape[1], 64)) - 1).square().cumsum(0).mean()
        loss.backward()
        return loss


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_graphs(name, monkeypatch):
    training, reference = Training(OPTIMIZERS[name]), Training(OPTIMIZERS[name])
    graph, other = LargeStep(training), LargeStep(reference)
    x = flow.ones(2**12, 1)

    def fails():
        before = contents(training.model.state_dict())
        with monkeypatch.context() as patch:
            patch.setattr("oneflow.compiler.loaded_executable.can_allocate", lambda size: False)
            with pytest.raises(flow.OutOfMemoryError, match="smaller batch"):
                graph(x)
        now = contents(training.model.state_dict())
        for key, value in now.items():
            np.testing.assert_array_equal(value, before[key])

    fails()
    for _ in range(2):
        assert graph(x).item() == pytest.approx(other(x).item(), rel=1e-6)
    fails()
    assert graph(x).item() == pytest.approx(other(x).item(), rel=1e-6)


def test_a_hot_program_that_finds_no_memory_runs_op_by_op(monkeypatch, caplog):
    x = flow.rand(512, 1024)

    def run():
        return (x * 2.0 + 1.0).tanh().cumsum(0).numpy()

    for _ in range(SETTINGS.hot_after + 2):
        expected = run()
    monkeypatch.setattr("oneflow.compiler.loaded_executable.can_allocate", lambda size: False)
    np.testing.assert_allclose(run(), expected, rtol=1e-5)
    assert "op by op" in caplog.text


class Cycle:
    """Refers to itself, so that only the garbage collector finds it."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def collect_on_demand():
    """Let nothing but a call collect garbage."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("collect_on_demand")
def test_garbage_is_collected_before_a_program_has_too_little_memory(monkeypatch):
    garbage = weakref.ref(Cycle())
    monkeypatch.setattr(loaded_executable, "can_allocate", lambda size: garbage() is None)
    assert garbage() is not None
    loaded_executable.check_memory(CPU, 1)
    monkeypatch.setattr(loaded_executable, "can_allocate", lambda size: False)
    with pytest.raises(flow.OutOfMemoryError, match="more than is left"):
        loaded_executable.check_memory(CPU, 1)


@pytest.mark.usefixtures("collect_on_demand")
def test_garbage_is_collected_before_an_operation_has_too_little_memory(monkeypatch):
    garbage = weakref.ref(Cycle())
    run = cold._run_on_host

    def run_if_collected(*arguments):
        if garbage() is not None:
            raise MemoryError
        return run(*arguments)

    monkeypatch.setattr(cold, "_run_on_host", run_if_collected)
    assert garbage() is not None
    assert (flow.ones(3) + 1).tolist() == [2.0] * 3
