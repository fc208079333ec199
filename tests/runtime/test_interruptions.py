"""Interrupts at any moment: every tensor holds the value of before or after, and work goes on."""

import copy
import gc
import signal
import threading
import time

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.no_interrupt import compiled_without_interrupt
from oneflow.runtime.eager_settings import SETTINGS
from tests.runtime.interruptions import (
    assert_before_or_after,
    contents,
    delays,
    run_interrupted,
)

nn = flow.nn

# Python cannot raise what a handler raises during a garbage collection.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Training:
    """A model with everything that is written to: parameters, buffers, states, a view."""

    def __init__(self, width=8):
        flow.manual_seed(0)
        self.model = nn.Sequential(
            nn.BatchNorm1d(4), nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1)
        )
        self.optimizer = flow.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.seen = flow.zeros(3, 2)

    def step(self, rows=6):
        x = flow.arange(float(rows * 4)).reshape(rows, 4) / (4.0 * rows)
        loss = (self.model(x) - 1).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.seen[1] += 1
        return loss.item()

    def tensors(self):
        named = dict(self.model.state_dict())
        for number, state in self.optimizer.state_dict()["state"].items():
            named.update({f"{number}.{k}": v for k, v in state.items() if hasattr(v, "numpy")})
        return {**named, "seen": self.seen}

    def twin(self):
        """Another one in the same state."""
        other = Training(self.model[1].out_features)
        other.model.load_state_dict(self.model.state_dict())
        other.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict()))
        other.seen = self.seen.clone()
        return other


def interrupt_steps(training, times, rows=lambda i: 6):
    for number, seconds in enumerate(times):
        twin, before = training.twin(), contents(training.tensors())
        twin.step(rows(number))
        after = contents(twin.tensors())
        before = {name: before.get(name, np.zeros(())) for name in after}
        run_interrupted(lambda: training.step(rows(number)), seconds)  # noqa: B023 - called at once
        now = contents(training.tensors())
        assert_before_or_after(now, before, after)
        training.optimizer.zero_grad()
        assert np.isfinite(training.step(rows(number)))


def test_hot_steps():
    training = Training()
    for _ in range(SETTINGS.hot_after + 3):
        training.step()
        flow.eager.synchronize()
    start = time.perf_counter()
    training.step()
    longest = 1.5 * (time.perf_counter() - start)
    interrupt_steps(training, delays(np.random.default_rng(0), 150, longest))


def test_cold_steps():
    training = Training()
    for _ in range(2):
        training.step()
    times = delays(np.random.default_rng(1), 12, 1.0)
    interrupt_steps(training, times, rows=lambda i: 7 + i)


class TrainingGraph(nn.Graph):
    def __init__(self, training):
        super().__init__()
        self.model = training.model
        self.add_optimizer(training.optimizer)

    def build(self, x):
        loss = (self.model(x) - 1).square().mean()
        loss.backward()
        return loss


class GraphTraining(Training):
    """The same with a graph; another one in the same state has a graph of its own."""

    def __init__(self, width=8):
        super().__init__(width)
        self.graph = TrainingGraph(self)

    def step(self, rows=6):
        x = flow.arange(float(rows * 4)).reshape(rows, 4) / (4.0 * rows)
        return self.graph(x).item()

    def twin(self):
        other = GraphTraining(self.model[1].out_features)
        other.model.load_state_dict(self.model.state_dict())
        other.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict()))
        return other


def test_calls_of_a_graph():
    training = GraphTraining()
    training.step()
    training.step()
    reference = training.twin()
    start = time.perf_counter()
    training.step()
    reference.step()
    times = delays(np.random.default_rng(2), 200, 2 * (time.perf_counter() - start))
    for seconds in times:
        before = contents(training.tensors())
        interrupted = run_interrupted(training.step, seconds)
        now = contents(training.tensors())
        moved = any((now[name] != before[name]).any() for name in now)
        if moved:
            reference.step()
        after = contents(reference.tensors())
        assert_before_or_after(now, after, after)
        assert interrupted or moved


def test_the_first_call_of_a_graph():
    for seconds in delays(np.random.default_rng(3), 4, 2.0):
        training = GraphTraining()
        before = contents(training.model.state_dict())
        reference = training.twin()
        reference.step()
        run_interrupted(training.step, seconds)
        after = contents(reference.model.state_dict())
        assert_before_or_after(contents(training.model.state_dict()), before, after)
        assert np.isfinite(training.step())


def test_writing_in_place():
    x = flow.zeros(5, 7)
    rows = x[1:3]
    rng = np.random.default_rng(4)

    def write():
        x.add_(1.0)
        rows.mul_(2.0)
        x[4, 2:] = -1.0
        rows[0].sub_(x[3])
        return x.numpy()

    for seconds in delays(rng, 200, 2e-3):
        x.zero_()
        run_interrupted(write, seconds)
        np.testing.assert_array_equal(rows.numpy(), x.numpy()[1:3])
        assert set(np.unique(x.numpy())) <= {0.0, 1.0, 2.0, -1.0}
    x.zero_()
    assert write()[1].tolist() == [1.0] * 7


def test_writing_elements():
    x, state = flow.zeros(4), flow.zeros(1)
    rows = x[:3]
    rng = np.random.default_rng(5)

    def write():
        for index in range(4):
            x[index] = 1.0
            x[index] += state[0] + 1.0
            state[0] = state[0] * 0.5
        return x.tolist()

    for seconds in delays(rng, 200, 1e-3):
        x.zero_()
        x.numpy()
        run_interrupted(write, seconds)
        np.testing.assert_array_equal(rows.numpy(), x.numpy()[:3])
        assert [x[index].item() for index in range(4)] == x.tolist()
        assert set(x.tolist()) <= {0.0, 1.0, 2.0}
    x.zero_()
    assert write() == [2.0] * 4


def test_saving(tmp_path):
    training = Training()
    training.step()
    path = tmp_path / "checkpoint"
    flow.save(training.tensors(), path)
    expected = contents(training.tensors())
    for seconds in delays(np.random.default_rng(5), 40, 0.02):
        run_interrupted(lambda: flow.save(training.tensors(), path), seconds)
        loaded = contents(flow.load(path))
        assert_before_or_after(loaded, expected, expected)


def test_an_exception_of_a_handler_is_like_an_interrupt():
    training = Training()
    for _ in range(SETTINGS.hot_after + 2):
        training.step()
    for seconds in delays(np.random.default_rng(6), 40, 2e-3):
        before = contents(training.tensors())
        twin = training.twin()
        twin.step()
        run_interrupted(training.step, seconds, TimeoutError)
        assert_before_or_after(contents(training.tensors()), before, contents(twin.tensors()))
        training.optimizer.zero_grad()


def test_a_handler_may_compute_and_read():
    training, reference = Training(), Training()
    seen = []

    def handler(number, frame):
        seen.append(contents(training.model.state_dict()))
        seen.append((flow.ones(3) * 2).sum().item())

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for number, seconds in enumerate(delays(np.random.default_rng(7), 120, 4e-3)):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            loss = training.step()
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert loss == pytest.approx(reference.step(), rel=1e-3, abs=1e-4), number
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(seen[1::2]) == {6.0}
    now, expected = contents(training.tensors()), contents(reference.tensors())
    for name in now:
        np.testing.assert_allclose(now[name], expected[name], rtol=1e-2, atol=1e-3)


def test_programs_are_compiled_where_no_handler_runs():
    on_main_thread = []

    def program(x):
        on_main_thread.append(threading.current_thread() is threading.main_thread())
        return x

    call = compiled_without_interrupt(program)
    for shape in (2, 2, 3, 3):
        call(np.ones(shape))
    assert on_main_thread == [False, True, False, True]


def test_no_python_code_of_jax_runs_in_garbage_collections():
    flow.ones(1).numpy()
    assert "_xla_gc_callback" not in [
        getattr(callback, "__name__", "") for callback in gc.callbacks
    ]
    gc.collect()
