"""The eager virtual machine: what it compiles, when it runs, what it keeps."""

import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import oneflow as flow
from oneflow.program.evaluate import evaluate
from oneflow.program.ir import program_from_key
from oneflow.program.recorder import Recorder
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.tensor.views import unwrap

pytestmark = pytest.mark.usefixtures("no_small_programs")


@pytest.fixture(autouse=True)
def fresh_start():
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    yield
    SETTINGS.mode = "deferred"


def repeat(step, times):
    """Run `step(i)` until its program is hot, then `times` more; statistics of those runs only."""
    for i in range(SETTINGS.hot_after + 2):
        step(i)
        flow.eager.synchronize()
    flow.eager.statistics().reset()
    results = [step(i) for i in range(times)]
    return flow.eager.statistics(), results


def test_nothing_runs_before_a_value_is_read():
    x = flow.ones(3) * 2
    y = x + 1
    assert flow.eager.statistics().flushes.total() == 0
    assert y.tolist() == [3.0, 3.0, 3.0]
    assert flow.eager.statistics().flushes == {"read": 1}


def test_initial_values_are_no_part_of_the_first_step():
    model = flow.nn.Linear(5, 3)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = flow.randn(2, 5)

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    step()
    flow.eager.statistics().reset()
    step()
    assert flow.eager.statistics().new_programs == 0


def test_a_changed_number_compiles_nothing():
    weight = flow.ones(4)

    def step(i):
        return (weight * (0.1 + i) - i).sum().item()

    statistics, results = repeat(step, 5)
    assert statistics.program_compiles == 0
    assert statistics.operation_compiles == 0
    assert statistics.new_programs == 0
    assert statistics.hot_runs == 5
    assert results == pytest.approx([4 * (0.1 + i - i) for i in range(5)], abs=1e-6)


def test_hot_equals_cold():
    x = flow.tensor(np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
    values = [((x * 1.5).tanh() @ x.T).numpy() for _ in range(SETTINGS.hot_after + 2)]
    assert flow.eager.statistics().cold_runs == SETTINGS.hot_after
    assert flow.eager.statistics().hot_runs == 2
    for value in values[1:]:
        np.testing.assert_allclose(value, values[0], rtol=1e-6)


def test_compiled_mode_compiles_at_first_sight():
    SETTINGS.mode = "compiled"
    assert (flow.ones(5) * 3.0).sum().item() == 15.0
    assert flow.eager.statistics().cold_runs == 0


def test_immediate_mode_runs_every_operation_at_once():
    SETTINGS.mode = "immediate"
    x = flow.ones(3) * 2
    assert unwrap(x).array is not None
    assert flow.eager.statistics().flushes["immediate"] == 0
    assert flow.eager.statistics().flushes["limit"] >= 2


def test_values_nobody_holds_are_never_materialised(monkeypatch):
    held = []

    def program_of(key, live, updated):
        held.append(len(live))
        return program_from_key(key, live, updated)

    monkeypatch.setattr("oneflow.runtime.eager.program_from_key", program_of)
    x = flow.ones(7, 11)
    x.numpy()

    def step(i):
        hidden = x * (2.0 + i)
        result = hidden.exp().sum()
        del hidden
        flow.eager.synchronize()
        return result

    for i in range(SETTINGS.hot_after + 2):
        step(i).item()
    assert held
    assert set(held) == {1}
    program = flow.eager.record(lambda v: (v * 2.0).exp().sum(), x)
    assert len(program.outputs) == 1
    assert len(program.instructions) == 3


def test_dead_instructions_are_dropped():
    def unused(x):
        _ = x.exp()
        return x + 1

    program = flow.eager.record(unused, flow.ones(2))
    assert [i.operation.primitive.name for i in program.instructions] == ["add"]


def test_inputs_nobody_holds_are_donated():
    state = flow.zeros(1024)
    state.numpy()
    buffers = set()
    for _ in range(SETTINGS.hot_after + 6):
        state += 1.0
        flow.eager.synchronize()
        buffers.add(unwrap(state).array.unsafe_buffer_pointer())
    assert state[0].item() == SETTINGS.hot_after + 6
    assert len(buffers) <= SETTINGS.hot_after + 2


def test_an_input_somebody_holds_is_not_donated():
    x = flow.ones(16)
    x.numpy()
    kept = x
    for _ in range(SETTINGS.hot_after + 3):
        x = x + 1.0
        flow.eager.synchronize()
    assert kept.tolist() == [1.0] * 16


def test_record_gives_a_program_the_evaluator_agrees_with():
    x = flow.tensor([1.0, 2.0, 3.0])
    program = flow.eager.record(lambda v: (v * 2.0 + 1.0).sum(), x)
    (total,), checks = evaluate(program, [unwrap(x).read()], [np.float32(2.0), np.float32(1.0)])
    assert float(total) == 15.0
    assert checks == []


def test_why_a_program_is_new():
    (flow.ones(37) * 2.0).numpy()
    (flow.ones(41) * 2.0).numpy()
    assert "(41,)" in flow.eager.explain_last_miss()


def test_new_programs_are_logged_on_request(caplog, monkeypatch):
    monkeypatch.setattr(SETTINGS, "explain", True)
    with caplog.at_level(logging.INFO, logger="oneflow.eager"):
        (flow.ones(7) * 2.0 - 3.0).numpy()
    assert "(7,)" in caplog.text


def test_a_loop_of_writes_is_flushed_after_some_checks():
    """As one program, thousands of writes to elements would compile for hours."""
    x, index = flow.zeros(8), flow.arange(8)
    for i in range(100):
        x[index[i % 8]] += 1
    assert flow.eager.statistics().flushes["limit"] >= 1
    assert x.tolist() == [13.0] * 4 + [12.0] * 4


def test_a_long_trace_is_flushed_at_the_limit(monkeypatch):
    monkeypatch.setattr(SETTINGS, "limit", 16)
    x = flow.zeros(2)
    for _ in range(40):
        x = x + 1.0
    assert flow.eager.statistics().flushes["limit"] >= 2
    assert x.tolist() == [40.0, 40.0]


def test_optimizer_style_updates_are_one_program_per_step():
    weight, momentum = flow.ones(6), flow.zeros(6)

    def step(i):
        nonlocal weight, momentum
        momentum = momentum * 0.9 + 1.0
        weight = weight - momentum * (0.1 / (i + 1))
        flow.eager.synchronize()

    statistics, _ = repeat(step, 4)
    assert statistics.flushes.total() == 4
    assert statistics.hot_runs == 4
    assert statistics.new_programs == 0


def test_a_value_pending_on_another_thread_can_be_read():
    made = []
    thread = threading.Thread(target=lambda: made.append(flow.ones(3) * 5))
    thread.start()
    thread.join()
    assert (made[0] + 1).tolist() == [6.0, 6.0, 6.0]


def test_a_failing_program_raises_again_and_spoils_nothing_else(monkeypatch):
    good = flow.ones(2)
    bad = good * 3.0

    def broken(recorder: Recorder):
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("oneflow.runtime.eager._prepare", broken)
        with pytest.raises(MemoryError):
            bad.numpy()
    with pytest.raises(MemoryError):
        bad.numpy()
    assert (flow.ones(2) * 3.0).tolist() == [3.0, 3.0]


def test_graphs_are_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        x = flow.ones(4, requires_grad=True)
        loss = (x * x).exp().sum()
        nodes = [weakref.ref(unwrap(loss).node), weakref.ref(unwrap(loss).node.edges[0][0])]
        loss.backward()
        del loss
        flow.eager.synchronize()
        assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("in_graph", [False, True])
def test_an_optimizer_takes_no_step_after_an_index_out_of_range(name, in_graph):
    flow.manual_seed(0)
    table = flow.nn.Embedding(5, 300)
    optimizer = getattr(flow.optim, name)(table.parameters(), lr=0.1)

    def loss_of(indices):
        loss = table(indices).square().sum()
        loss.backward()
        return loss

    class Step(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.table = table
            self.add_optimizer(optimizer)

        def build(self, indices):
            return loss_of(indices)

    graph = Step()

    def step(indices):
        if in_graph:
            return graph(flow.tensor(indices)).item()
        optimizer.zero_grad()
        loss = loss_of(flow.tensor(indices))
        optimizer.step()
        return loss.item()

    for _ in range(SETTINGS.hot_after + 2):
        before = table.weight.numpy()
        with pytest.raises(IndexError, match="index 7"):
            step([0, 7])
        np.testing.assert_array_equal(table.weight.numpy(), before)
        step([0, 1])
        changed = (table.weight.numpy() != before).any(1)
        assert changed.tolist() == [True, True, False, False, False]
