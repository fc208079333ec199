"""Programs that become hot on a background thread while they still run op by op."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import oneflow as flow
from oneflow.compiler.lower import Executable
from oneflow.runtime import eager, hot
from oneflow.runtime.background import COMPILER, BackgroundCompiler
from oneflow.runtime.eager_settings import SETTINGS
from tests.runtime.scripts import run_script

pytestmark = pytest.mark.usefixtures("no_small_programs")


@pytest.fixture(autouse=True)
def in_background(monkeypatch) -> Iterator[None]:
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    monkeypatch.setattr(SETTINGS, "background", True)
    yield
    flow.eager.synchronize()


@pytest.fixture
def compiler_at_gate(monkeypatch) -> Iterator[threading.Event]:
    """An event for which the background compiler waits; set at the end."""
    gate, compile_now = threading.Event(), Executable.compile

    def compile_later(self: Executable) -> Executable:
        if threading.current_thread() is not threading.main_thread():
            gate.wait()
        return compile_now(self)

    monkeypatch.setattr(Executable, "compile", compile_later)
    yield gate
    gate.set()
    COMPILER.wait()


def training_step(width: int) -> Callable[[], float]:
    """A step of a small model from the same start; no other test has programs of this `width`."""
    flow.manual_seed(0)
    layer = flow.nn.Linear(width, 3)
    optimizer = flow.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    x = flow.arange(2.0 * width).reshape(2, width) / width

    def step() -> float:
        loss = layer(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def test_a_program_runs_on_until_it_is_compiled_and_then_hot(compiler_at_gate) -> None:
    step, statistics = training_step(19), flow.eager.statistics()
    losses = [step() for _ in range(SETTINGS.hot_after + 4)]
    assert COMPILER.is_compiling
    assert statistics.hot_runs == 0
    compiler_at_gate.set()
    COMPILER.wait()
    assert statistics.program_compiles > 0
    assert statistics.compile_seconds > 0
    cold_runs = statistics.cold_runs
    losses += [step() for _ in range(4)]
    assert statistics.cold_runs == cold_runs
    SETTINGS.background = False
    again = training_step(19)
    np.testing.assert_allclose(losses, [again() for _ in losses], rtol=1e-5)


@pytest.fixture
def long_runs(monkeypatch) -> None:
    """Every cold run takes so long that its program is a long one."""
    run_cold = eager.run_cold

    def run_slowly(*arguments):
        time.sleep(0.05)
        return run_cold(*arguments)

    monkeypatch.setattr(eager, "run_cold", run_slowly)
    monkeypatch.setattr(hot, "_LONG_RUN", 0.05)


@pytest.mark.usefixtures("long_runs")
def test_a_long_program_runs_alone_before_it_is_compiled() -> None:
    x, statistics = flow.ones(41), flow.eager.statistics()
    x.numpy()
    for _ in range(hot._LONG_HOT_AFTER):
        assert (x * 2.0).tolist() == [2.0] * 41
    assert not COMPILER.is_compiling
    assert statistics.program_compiles == 0
    assert (x * 2.0).tolist() == [2.0] * 41
    COMPILER.wait()
    assert statistics.program_compiles == 1


@pytest.mark.usefixtures("long_runs")
def test_a_long_program_waits_for_its_compilation(monkeypatch) -> None:
    x, statistics, precompile = flow.ones(43), flow.eager.statistics(), hot._precompile
    begun = threading.Event()

    def precompile_late(*arguments) -> None:
        begun.wait()
        precompile(*arguments)

    monkeypatch.setattr(hot, "_precompile", precompile_late)
    x.numpy()
    for _ in range(hot._LONG_HOT_AFTER + 1):
        (x * 2.0).numpy()
    assert statistics.program_compiles == 0
    cold_runs = statistics.cold_runs
    begun.set()
    assert (x * 2.0).tolist() == [2.0] * 43
    assert statistics.cold_runs == cold_runs
    assert statistics.waiting_seconds > 0


@pytest.mark.usefixtures("long_runs")
def test_a_long_program_runs_on_if_it_takes_too_long_to_compile(compiler_at_gate) -> None:
    x, statistics = flow.ones(47), flow.eager.statistics()
    for _ in range(hot._LONG_HOT_AFTER + 4):
        assert (x * 2.0).tolist() == [2.0] * 47
    assert COMPILER.is_compiling
    assert statistics.hot_runs == 0
    assert statistics.waiting_seconds > 0


@pytest.mark.usefixtures("long_runs", "interruptible")
def test_ctrl_c_while_a_long_program_waits(compiler_at_gate) -> None:
    x = flow.ones(53)
    x.numpy()
    for _ in range(hot._LONG_HOT_AFTER + 1):
        (x * 2.0).numpy()
    y = x * 2.0
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        y.numpy()
    timer.join()
    compiler_at_gate.set()
    assert y.tolist() == [2.0] * 53


def test_small_programs_too_are_compiled_on_the_other_thread(monkeypatch) -> None:
    threads, compile_now = [], Executable.compile

    def record(self: Executable) -> Executable:
        threads.append(threading.current_thread().name)
        return compile_now(self)

    monkeypatch.setattr(Executable, "compile", record)
    x = flow.ones(29)
    x.numpy()
    for _ in range(SETTINGS.hot_after + 1):
        (x * 2.0).numpy()
    COMPILER.wait()
    assert "oneflow-compiler" in threads
    flow.eager.statistics().reset()
    assert (x * 2.0).tolist() == [2.0] * 29
    assert flow.eager.statistics().hot_runs == 1


def test_programs_that_do_not_come_back_are_not_compiled() -> None:
    x = flow.ones(140)
    for length in range(101, 140):
        (x[:length] * 2.0).sum().item()
    COMPILER.wait()
    assert flow.eager.statistics().program_compiles == 0


def test_what_comes_back_most_often_is_compiled_first() -> None:
    compiler, gate, order = BackgroundCompiler(), threading.Event(), []
    compiler.submit(gate.wait)
    for name, priority in (("rare", 3), ("frequent", 9), ("as rare", 3)):
        compiler.submit(lambda name=name: order.append(name), lambda priority=priority: priority)
    gate.set()
    compiler.wait()
    assert order == ["frequent", "rare", "as rare"]
    assert not compiler.is_compiling
    compiler.close()


def test_closing_drops_what_has_not_begun() -> None:
    compiler, begun, gate, done = BackgroundCompiler(), threading.Event(), threading.Event(), []

    def first() -> None:
        begun.set()
        gate.wait()
        done.append(1)

    compiler.submit(first)
    begun.wait()
    compiler.submit(lambda: done.append(2))
    threading.Timer(0.01, gate.set).start()
    compiler.close()
    assert done == [1]


def test_a_program_that_cannot_be_compiled_runs_on(monkeypatch, caplog) -> None:
    def fail(self: Executable) -> Executable:
        raise RuntimeError("no compiler today")

    monkeypatch.setattr(Executable, "compile", fail)
    x = flow.ones(31)
    x.numpy()
    for _ in range(SETTINGS.hot_after + 3):
        assert (x * 5.0).tolist() == [5.0] * 31
        COMPILER.wait()
    assert caplog.text.count("no compiler today") == 1


def test_an_index_out_of_range_while_its_program_is_compiled(compiler_at_gate) -> None:
    table = flow.ones(5, 2)

    def look_up(index: int) -> list:
        return flow.nn.functional.embedding(flow.tensor([index]), table).tolist()

    for _ in range(SETTINGS.hot_after + 2):
        with pytest.raises(IndexError, match="index 7"):
            look_up(7)
        assert look_up(1) == [[1.0, 1.0]]
    compiler_at_gate.set()
    COMPILER.wait()
    with pytest.raises(IndexError, match="index 7"):
        look_up(7)
    assert look_up(1) == [[1.0, 1.0]]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises, whatever an earlier test has made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_a_program_is_compiled(compiler_at_gate) -> None:
    step, reference = training_step(23), training_step(23)
    for _ in range(SETTINGS.hot_after + 1):
        step(), reference()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    compiler_at_gate.set()
    assert step() == pytest.approx(reference(), rel=1e-5)
    COMPILER.wait()
    assert step() == pytest.approx(reference(), rel=1e-5)


# Becomes hot in the last run of the loop.
_HOT = """
import os, oneflow as flow
x = flow.ones(64, 64, requires_grad=True)
for _ in range(3):
    y = x
    for _ in range(20):
        y = (y * 1.01).tanh() + y
    y.sum().backward()
    gradient = x.grad.numpy()
    x.grad = None
"""


def test_a_process_ends_in_good_order_while_it_compiles() -> None:
    done = run_script(_HOT + "print(flow.eager.statistics().cold_runs)")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_copy_made_while_the_process_compiles() -> None:
    script = """
child = os.fork()
if child == 0:
    assert x.tolist()[0][0] == 1.0  # computed before
    try:
        (x * 2.0).tolist()
    except RuntimeError as error:
        os._exit(0 if "os.fork" in str(error) else 3)
    os._exit(4)
assert os.waitpid(child, 0)[1] == 0
flow.eager.synchronize()
assert (x * 2.0)[0, 0].item() == 2.0
"""
    done = run_script(_HOT + script)
    assert done.returncode == 0, done.stderr
