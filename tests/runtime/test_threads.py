"""Threads: what one does, its modes and its errors, leaves the others alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import oneflow as flow
import oneflow.nn.functional as F
from oneflow.runtime import checks, eager
from oneflow.runtime.checks import thread_checks
from oneflow.utils.checkpoint import checkpoint
from oneflow.utils.global_view import current_global_mode, global_mode

STEPS = 4
# Training that has yet to do something gives way here, so that threads take turns.
Steps = Iterator[None]
Log = list[object]


def _model() -> flow.nn.Module:
    """A perceptron whose weights are the same every time."""
    model = flow.nn.Sequential(flow.nn.Linear(6, 12), flow.nn.Tanh(), flow.nn.Linear(12, 3))
    numbers = np.random.RandomState(5)
    for parameter in model.parameters():
        data = numbers.standard_normal(tuple(parameter.shape)).astype(np.float32)
        parameter.data.copy_(flow.tensor(data))
    return model


def _batch(step: int) -> flow.Tensor:
    data = np.random.RandomState(step).standard_normal((4, 6))
    return flow.tensor(data.astype(np.float32))


def _train(log: Log, forward: Callable[[flow.nn.Module, flow.Tensor], flow.Tensor]) -> Steps:
    """Train, and log the bits of everything; `forward` gives the loss."""
    model = _model()
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        loss = forward(model, _batch(step))
        yield
        loss.backward()
        yield
        optimizer.step()
        log += [loss.numpy().tobytes(), *[p.grad.numpy().tobytes() for p in model.parameters()]]
        optimizer.zero_grad()
    log += [parameter.numpy().tobytes() for parameter in model.parameters()]


def _plain(log: Log) -> Steps:
    return _train(log, lambda model, x: (model(x) ** 2).mean())


def _checkpointed(log: Log) -> Steps:
    return _train(log, lambda model, x: (checkpoint(model, x) ** 2).mean())


def _saved_tensors(log: Log) -> Steps:
    def forward(model: flow.nn.Module, x: flow.Tensor) -> flow.Tensor:
        pack, unpack = (lambda saved: saved * 2.0), (lambda packed: packed / 2.0)
        with flow.autograd.graph.saved_tensors_hooks(pack, unpack):
            return (model(x) ** 2).mean()

    return _train(log, forward)


def _autocast(log: Log) -> Steps:
    with flow.autocast("cpu", flow.bfloat16):
        model = _model()
        for step in range(STEPS):
            loss = (model(_batch(step)).float() ** 2).mean()
            yield
            loss.backward()
            log.append(str(model(_batch(step)).dtype))
            log += [p.grad.numpy().tobytes() for p in model.parameters()]
            yield


@flow.autocast("cpu", flow.bfloat16)
def _decorated(model: flow.nn.Module, x: flow.Tensor, pause: Callable[[], None]) -> str:
    pause()
    return str(model(x).dtype)


def _without_grad(log: Log) -> Steps:
    with flow.no_grad():
        model = _model()
        for step in range(2 * STEPS):
            y = model(_batch(step))
            log += [y.requires_grad, flow.is_grad_enabled(), y.numpy().tobytes()]
            yield


def _inference(log: Log) -> Steps:
    with flow.inference_mode():
        model = _model()
        for step in range(2 * STEPS):
            y = model(_batch(step))
            log += [y.requires_grad, y.is_inference(), y.numpy().tobytes()]
            yield


def _anomaly(log: Log) -> Steps:
    with flow.autograd.set_detect_anomaly(True):
        for _ in range(2 * STEPS):
            x = flow.tensor([-1.0], requires_grad=True)
            yield
            with pytest.raises(RuntimeError, match="nan"):
                flow.sqrt(x).sum().backward()
            log.append("nan")


def _without_anomaly(log: Log) -> Steps:
    for _ in range(2 * STEPS):
        x = flow.tensor([-1.0], requires_grad=True)
        yield
        flow.sqrt(x).sum().backward()
        log.append(str(x.grad.item()))


def _bad_index(log: Log) -> Steps:
    table = flow.ones(3, 2)
    for _ in range(2 * STEPS):
        bad = F.embedding(flow.tensor([7]), table)
        yield
        with pytest.raises(IndexError, match="7"):
            bad.numpy()
        log.append("raised")


def _graph(log: Log) -> Steps:
    model = _model()

    class Training(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))

        def build(self, x: flow.Tensor) -> flow.Tensor:
            loss = (self.model(x) ** 2).mean()
            loss.backward()
            return loss

    training = Training()
    for step in range(2 * STEPS):
        log.append(training(_batch(step)).numpy().tobytes())
        yield
    log += [parameter.numpy().tobytes() for parameter in model.parameters()]


def _global(log: Log) -> Steps:
    placement = flow.placement("cpu", [0])
    with global_mode(True, placement, flow.sbp.broadcast):
        for _ in range(2 * STEPS):
            log.append(flow.ones(2).is_global)
            yield


def _local(log: Log) -> Steps:
    for _ in range(2 * STEPS):
        log += [flow.ones(2).is_global, current_global_mode().is_enabled]
        yield


TASKS = (
    _plain,
    _checkpointed,
    _saved_tensors,
    _autocast,
    _without_grad,
    _inference,
    _anomaly,
    _without_anomaly,
    _bad_index,
    _graph,
    _global,
    _local,
)


@pytest.fixture
def deterministic() -> Iterator[None]:
    """Programs compiled as a whole from the first time on, so that equal ones give equal bits."""
    flow.use_deterministic_algorithms(True)
    yield
    flow.use_deterministic_algorithms(False)


def _together(tasks: tuple[Callable[[Log], Steps], ...]) -> dict[str, Log]:
    """All tasks at once, a thread each, which wait for each other after every turn."""
    logs: dict[str, Log] = {task.__name__: [] for task in tasks}
    turn = threading.Barrier(len(tasks))

    def run(task: Callable[[Log], Steps]) -> None:
        log = logs[task.__name__]
        try:
            for _ in task(log):
                turn.wait(120)
        except BaseException as error:
            log.append(repr(error))
            turn.abort()

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return logs


@pytest.mark.usefixtures("deterministic")
def test_threads_with_different_modes_get_what_each_gets_alone() -> None:
    # On a thread of its own, too: behind earlier checks programs write to parameters otherwise.
    alone = {task.__name__: _together((task,))[task.__name__] for task in TASKS}
    together = _together(TASKS)
    assert {name for name in alone if together[name] != alone[name]} == set()


def _in_thread(function: Callable[[], object]) -> object:
    """The result of `function`, or the error it raises, on a thread of its own."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_recomputation_elsewhere_leaves_autocast_and_random_numbers_alone() -> None:
    x = flow.ones(2, 2)
    with flow.autocast("cpu", flow.bfloat16):
        w = flow.ones(2, 2, requires_grad=True)
        inside: list[object] = []

        def function(x: flow.Tensor) -> flow.Tensor:
            with flow.autocast("cpu", enabled=False):
                inside.append((x @ x).dtype)
            inside.append((x @ x).dtype)
            before = flow.get_rng_state()
            drawn = _in_thread(lambda: flow.rand(1).item())
            inside.append(drawn)
            inside.append(bool((flow.get_rng_state() == before).all()))
            return x @ w

        y = checkpoint(function, x).float().sum()
    position = flow.default_generator.position
    _in_thread(y.backward)
    # It ran again as it first did, though mixed precision is off here ...
    assert inside[4:6] == inside[:2] == [flow.float32, flow.bfloat16]
    # ... and what other threads drew meanwhile was drawn once.
    assert inside[2] != inside[6]
    assert inside[7] is True
    assert flow.default_generator.position == (position[0], position[1] + 1)
    assert (x @ x).dtype is flow.float32


def test_autocast_entered_while_another_thread_recomputes_stays() -> None:
    again, entered = threading.Event(), threading.Event()
    w = flow.ones(2, 2, requires_grad=True)
    runs: list[None] = []

    def function(x: flow.Tensor) -> flow.Tensor:
        runs.append(None)
        if len(runs) == 2:
            again.set()
            entered.wait(60)
        return x @ w

    y = checkpoint(function, flow.ones(2, 2)).sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    again.wait(60)
    with flow.autocast("cpu", flow.bfloat16):
        entered.set()
        thread.join()
        assert (w @ w).dtype is flow.bfloat16
    assert (w @ w).dtype is flow.float32


def test_a_function_under_autocast_runs_on_several_threads() -> None:
    model = _model()
    inner, outer = threading.Event(), threading.Event()

    def slow() -> str:
        with flow.autocast("cpu", flow.float16):
            _decorated(model, _batch(0), lambda: (inner.set(), outer.wait(60)))
            return str((flow.ones(2, 2) @ flow.ones(2, 2)).dtype)

    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(slow()))
    thread.start()
    inner.wait(60)
    assert _decorated(model, _batch(0), outer.set) == "oneflow.bfloat16"
    assert (flow.ones(2, 2) @ flow.ones(2, 2)).dtype is flow.float32
    thread.join()
    assert found == ["oneflow.float16"]


def _look_up(position: int) -> flow.Tensor:
    return F.embedding(flow.tensor([position]), flow.ones(3, 2))


def test_whoever_reads_a_bad_value_gets_the_error() -> None:
    bad = _look_up(5)  # recorded here, run by the other thread, which reads it
    assert isinstance(_in_thread(bad.numpy), IndexError)
    with pytest.raises(IndexError, match="5"):
        flow.ones(1).item()  # this thread recorded it

    bad = _look_up(6)  # run here, read there
    with pytest.raises(IndexError, match="6"):
        flow.eager.synchronize()
    assert isinstance(_in_thread(bad.numpy), IndexError)
    assert isinstance(_in_thread(lambda: (bad * 2).sum().item()), IndexError)
    assert _in_thread(lambda: flow.ones(2).sum().item()) == 2.0


def test_errors_of_a_thread_that_has_ended_reach_the_reader_of_its_values_alone() -> None:
    def work() -> flow.Tensor:
        bad = _look_up(9)
        with pytest.raises(IndexError):
            flow.eager.synchronize()
        return bad

    bad = _in_thread(work)
    assert flow.ones(2).sum().item() == 2.0
    assert not thread_checks()
    with pytest.raises(IndexError, match="9"):
        bad.numpy()

    bad = _in_thread(lambda: _look_up(10))  # ended before anything ran
    assert flow.ones(2).sum().item() == 2.0
    with pytest.raises(IndexError, match="10"):
        bad.numpy()


def test_checks_of_a_thread_that_has_ended_are_forgotten_with_its_values() -> None:
    def work() -> None:
        value = _look_up(1)
        recorder = eager.current.recorder
        assert recorder is not None
        recorder.flush("limit")  # it ends without looking at the check
        assert set(checks._open) - before
        del value

    flow.eager.synchronize()
    before = set(checks._open)
    assert _in_thread(work) is None
    flow.ones(2).sum().item()
    assert not set(checks._open) - before


def test_many_threads_record_at_once() -> None:
    def work(start: int) -> float:
        x = flow.full((3,), float(start))
        for _ in range(200):
            x = x + 1.0
        return x.sum().item()

    found: dict[int, float] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: work(n)})) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: 3.0 * (n + 200) for n in range(6)}
