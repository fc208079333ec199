"""Programs with much working memory wait for each other."""

import jax
import jax.numpy as jnp
import pytest

import oneflow as flow
from oneflow.base.device import CPU
from oneflow.compiler import loaded_executable, sequential_runs
from oneflow.compiler.export import ImportedProgram, to_bytes
from oneflow.compiler.loaded_executable import LoadedExecutable
from oneflow.compiler.sequential_runs import SequentialRuns
from oneflow.tensor.views import unwrap


class Result:
    """Stands for an array of a program that is still running."""

    def __init__(self, overwritten=False):
        self.overwritten = overwritten
        self.is_ready = False

    def block_until_ready(self):
        if self.overwritten:
            raise RuntimeError("Array has been deleted")
        self.is_ready = True


@pytest.fixture
def trims(monkeypatch):
    """The number of times that the heap was trimmed; no program has run before."""
    counted = []
    monkeypatch.setattr(sequential_runs, "trim_heap", lambda: counted.append(1))
    monkeypatch.setattr(SequentialRuns, "_latest", None)
    return counted


@pytest.fixture
def limit(monkeypatch):
    """The working memory of programs that take turns: less than otherwise, for small ones."""
    for module in (sequential_runs, loaded_executable):
        monkeypatch.setattr(module, "LARGE", 2**20)
    return 2**20


def compiled(rows):
    """A program that writes down `rows` rows of 4 KiB before it adds them up."""

    def running_sum(x):
        sums = jnp.cumsum(jnp.broadcast_to(x, (rows, 1024)) + 1.0, axis=0)
        return [jnp.sort(sums, axis=0).sum()]

    return jax.jit(running_sum).lower(jax.ShapeDtypeStruct((1024,), "float32")).compile()


def test_only_large_programs_take_turns(limit):
    small, large = compiled(16), compiled(limit // 4096 + 1)
    assert LoadedExecutable(small, CPU).sequential_runs is None
    loaded = LoadedExecutable(large, CPU)
    assert loaded.sequential_runs is not None
    x, returned = jnp.ones(1024, "float32"), []
    loaded((x,), returned)
    assert returned[0] == large(x)


def test_a_program_waits_for_the_one_before(trims):
    first = Result()
    SequentialRuns().note_start([first])
    assert not first.is_ready
    SequentialRuns().wait(())
    assert first.is_ready


def test_results_that_were_overwritten_are_passed_over(trims):
    gone = Result(overwritten=True)
    SequentialRuns().note_start([gone])
    SequentialRuns().wait(())
    assert not gone.is_ready


def test_results_are_not_kept(trims):
    kept = Result()
    SequentialRuns().note_start([kept])
    assert SequentialRuns._latest() is kept
    kept = None
    assert SequentialRuns._latest() is None


def test_the_first_runs_give_free_memory_back(trims):
    program = SequentialRuns()
    after = []
    for _ in range(6):
        program.wait(())
        after.append(len(trims))
    assert after == [1, 2, 2, 3, 3, 3]


def graph_and_step(x):
    """A graph with much working memory, called three times, its result and its program."""

    class Sorted(flow.nn.Graph):
        def build(self, x):
            return flow.cumsum(x + 1, dim=0).sort(dim=0)[0].sum()

    graph = Sorted()
    (value,) = {graph(x).item() for _ in range(3)}
    (step,) = graph._steps.values()
    return value, step.executable


def test_a_graph_with_much_working_memory_is_right(limit):
    x = flow.rand(limit // 4096 + 1, 1024)
    value, executable = graph_and_step(x)
    assert executable._loaded.sequential_runs is not None
    assert value == pytest.approx(flow.cumsum(x + 1, dim=0).sum().item(), rel=1e-4)


def test_programs_on_placements_do_not_wait(limit):
    x = flow.ones(limit // 4096 + 1, 1024)
    placed = x.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast)
    _, executable = graph_and_step(placed)
    assert executable._loaded.sequential_runs is None


def test_saved_programs_take_turns_too(trims, limit):
    x = flow.rand(limit // 4096 + 1, 1024)
    value, executable = graph_and_step(x)
    trims.clear()
    saved = ImportedProgram(
        to_bytes(executable), CPU, [unwrap(x).spec], (0, 0), [None], has_convolution=False
    )
    (total,) = saved([unwrap(x).array], [], [])
    assert float(total) == pytest.approx(value)
    assert len(trims) == 1
