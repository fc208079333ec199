"""The end of a process waits for what XLA still computes, and for nothing else."""

from __future__ import annotations

import gc
import os
import threading
import time

import jax
import pytest

import oneflow as flow
from oneflow.runtime import end_of_process
from tests.runtime.scripts import run_script


def test_a_process_ends_when_its_programs_have() -> None:
    """Otherwise their code is taken away under them."""
    script = """
import atexit
arrays = []
atexit.register(lambda: print(all(array.is_ready() for array in arrays)))  # called as the last one
import oneflow as flow, jax
x = flow.full((2048, 2048), 1e-4)
for _ in range(8):
    x = x @ x
flow.eager.synchronize()
arrays += jax.live_arrays()
print(all(array.is_ready() for array in arrays))
"""
    done = run_script(script)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "False\nTrue\n")


@pytest.mark.parametrize("result", ["x", "x.sum()"])
@pytest.mark.parametrize(
    "start", ["run()", "thread = Thread(target=run); thread.start(); thread.join()"]
)
def test_a_process_ends_when_programs_without_results_have(start: str, result: str) -> None:
    """No array is left that could be waited for."""
    script = f"""
import atexit, time
from threading import Thread
def last():
    before = time.process_time()
    time.sleep(0.3)
    print("runs" if time.process_time() - before > 0.02 else "has ended")
atexit.register(last)
import oneflow as flow
class Powers(flow.nn.Graph):
    def build(self, x):
        for _ in range(20):
            x = flow.sin(x @ x)
        return {result}
def main():
    x, graph = flow.full((1000, 1000), 1e-4), Powers()
    graph(x).numpy()
    def run():
        for _ in range(3):
            graph(x)
    {start}
main()
"""
    done = run_script(script)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "has ended\n")


def test_results_of_threads_that_have_ended_are_not_held() -> None:
    class Doubled(flow.nn.Graph):
        def build(self, x: flow.Tensor) -> flow.Tensor:
            return x * 2.0

    def run() -> None:
        graph, x = Doubled(), flow.ones(1000, 1000)
        for _ in range(3):
            graph(x).sum().item()
        graph(x)

    before = sum(array.nbytes for array in jax.live_arrays())
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    flow.eager.synchronize()
    gc.collect()
    assert sum(array.nbytes for array in jax.live_arrays()) - before < 2**20


def test_finalizers_in_threads_run_programs() -> None:
    script = """
import gc, sys, threading
import oneflow as flow
class Doubled(flow.nn.Graph):
    def build(self, x):
        return x * 2 + 1
graph, x = Doubled(), flow.ones(4)
graph(x)
class Logger:
    def __init__(self):
        self.me = self
    def __del__(self):
        graph(x)
def collect(frame, event, argument):
    if event == "call" and frame.f_globals.get("__name__", "").startswith("oneflow"):
        gc.collect(0)
def run():
    # JAX itself fails where a finalizer within it runs its programs.
    gc.disable()
    sys.setprofile(collect)
    for _ in range(200):
        Logger()
        graph(x)
    sys.setprofile(None)
    print("has run")
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    done = run_script(script)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "has run\n")


def test_threads_that_outlive_the_interpreter_say_nothing() -> None:
    script = """
import threading, time
import oneflow as flow
class Doubled(flow.nn.Graph):
    def build(self, x):
        return x * 2
graph, x = Doubled(), flow.ones(4)
graph(x)
has_run = threading.Event()
def run():
    graph(x).tolist()
    has_run.set()
    time.sleep(100)
threading.Thread(target=run, daemon=True).start()
has_run.wait()
"""
    done = run_script(script)
    assert (done.returncode, done.stderr) == (0, "")


def test_daemon_threads_that_compute_end_with_the_process() -> None:
    """Python would end them within XLA's code, which aborts the process."""
    script = """
import sys, threading, time
import oneflow as flow
class Powers(flow.nn.Graph):
    def build(self, x):
        for _ in range(4):
            x = flow.sin(x @ x)
        return x
x, graph, model = flow.full((300, 300), 1e-4), Powers(), flow.nn.Linear(300, 300)
have_run = []
def start(work):
    def run():
        work()
        have_run.append(work)
        while True:
            work()
    threading.Thread(target=run, daemon=True).start()
start(lambda: graph(x))
start(lambda: (x + 1).sum().item())
start(lambda: model(x).sum().backward())
start(lambda: flow.tensor([[1.0, 2.0]]).numpy())
start(lambda: (time.sleep(0.0005), x.sum().item()))
while len(have_run) < 5:
    time.sleep(0.1)
sys.exit(5)
"""
    done = run_script(script)
    assert (done.returncode, done.stderr) == (5, "")


@pytest.mark.parametrize(
    "wait",
    ["time.sleep(1000)", "threading.Event().wait()", "socket.socketpair()[0].recv(1)"],
)
def test_daemon_threads_that_wait_do_not_hold_the_process(wait: str) -> None:
    """The module has imported JAX, but the thread is in none of its functions."""
    script = f"""
import socket, threading, time
import jax
import oneflow as flow
has_run = threading.Event()
def run():
    flow.ones(1).add(1).numpy()
    has_run.set()
    {wait}
threading.Thread(target=run, daemon=True).start()
has_run.wait()
begin = time.monotonic()
import atexit
from oneflow.runtime import daemon_threads
daemon_threads.end_daemon_threads()
assert time.monotonic() - begin < 5
"""
    done = run_script(script)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("item", ["flow.ones(2)", "2"])
def test_daemon_threads_go_on_serving_a_queue(item: str) -> None:
    """A handler from before the first import waits for them; a number of a thread comes again."""
    script = f"""
import atexit, queue, threading, time
tasks, results = queue.Queue(), []
@atexit.register
def flush():
    tasks.join()
    print(len(results))
import oneflow as flow
for _ in range(3):
    thread = threading.Thread(target=lambda: flow.ones(1).numpy())
    thread.start()
    thread.join()
    del thread
def serve():
    while True:
        task = tasks.get()
        time.sleep(0.05)
        results.append(task.sum().item() if isinstance(task, flow.Tensor) else task)
        tasks.task_done()
threading.Thread(target=serve, daemon=True).start()
for _ in range(20):
    tasks.put({item})
while not results:
    time.sleep(0.01)
"""
    done = run_script(script)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "20\n")


def test_errors_at_the_end_of_a_process_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    waited_for = []

    class Array:
        def block_until_ready(self) -> None:
            waited_for.append(self)
            raise RuntimeError("overwritten")

        def is_ready(self) -> bool:
            return True

    def fail(devices: object) -> None:
        raise MemoryError

    monkeypatch.setattr(end_of_process, "small_program", fail)
    monkeypatch.setattr(end_of_process.jax, "live_arrays", lambda: [Array(), Array()])
    end_of_process._wait(os.getpid())
    assert len(waited_for) == 2


def test_a_process_does_not_wait_long_for_other_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Never:
        def is_ready(self) -> bool:
            return False

    monkeypatch.setattr(end_of_process, "_SECONDS_FOR_OTHER_RANKS", 0.1)
    monkeypatch.setattr(end_of_process.cluster, "is_multiprocess", lambda: True)
    monkeypatch.setattr(end_of_process.jax, "live_arrays", lambda: [Never(), Never()])
    begin = time.monotonic()
    end_of_process._wait(os.getpid())
    assert 0.1 <= time.monotonic() - begin < 5.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_copy_of_the_process_starts_nothing_for_threads_that_it_lacks() -> None:
    script = """
import os, threading
import oneflow as flow
has_run, may_end = threading.Event(), threading.Event()
def run():
    flow.ones(3).add(1).tolist()
    from oneflow.base.device import CPU
    from oneflow.compiler import other_threads
    other_threads.THREAD.devices.add(CPU)
    has_run.set()
    may_end.wait()
thread = threading.Thread(target=run)
thread.start()
has_run.wait()
child = os.fork()
if child == 0:
    from oneflow.compiler import other_threads
    os._exit(len(other_threads.last_results()))
assert os.waitpid(child, 0)[1] == 0
may_end.set()
thread.join()
from oneflow.compiler import other_threads
assert len(other_threads.last_results()) == 1
"""
    done = run_script(script)
    assert done.returncode == 0, done.stderr
