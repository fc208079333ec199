"""Programs that are not hot: interpreted on NumPy, with as little compiled as possible."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.spec import TensorSpec
from oneflow.nn import functional as F
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program
from oneflow.runtime import compile_pool
from oneflow.runtime.cold import COLD, _exclusive_array
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.tensor.views import unwrap
from tests.oracle import eager_mode


@pytest.fixture(autouse=True)
def fresh_start() -> Iterator[None]:
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    yield
    flow.eager.synchronize()


def pointer(tensor: flow.Tensor) -> int:
    """The address of the numbers of a tensor."""
    tensor.numpy()
    return unwrap(tensor).array.unsafe_buffer_pointer()


def test_ever_new_shapes_compile_nothing() -> None:
    table, layer = flow.nn.Embedding(30, 6), flow.nn.Linear(6, 30)
    optimizer = flow.optim.AdamW([*table.parameters(), *layer.parameters()], lr=0.01)
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    for length in range(3, 11):
        tokens = flow.arange(length)
        hidden = F.layer_norm(table(tokens), (6,)).relu()
        loss = F.cross_entropy(layer(hidden), tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        assert np.isfinite(loss.item())
    statistics = flow.eager.statistics()
    assert statistics.operation_compiles == 0
    assert statistics.program_compiles == 0
    assert statistics.cold_seconds > 0
    assert statistics.tracing_seconds > 0


def test_heavy_operations_and_those_without_a_rule_are_compiled() -> None:
    # The size is one that no other test of this process has compiled.
    matrix = flow.ones(23, 23) + 4 * flow.eye(23)
    assert flow.linalg.eigvals(matrix).abs().max().item() == pytest.approx(27)
    assert flow.eager.statistics().operation_compiles == 1
    x = flow.ones(2048, 301)
    assert (x @ x.T)[5, 5].item() == 301
    assert flow.eager.statistics().operation_compiles == 2


def test_compiled_operations_take_interpreted_numbers_without_dimensions() -> None:
    with eager_mode("cold"):
        x = flow.tensor([0.25, 0.75]).sum()
        assert flow.polygamma(1, x).item() == pytest.approx(np.pi**2 / 6)
    assert flow.eager.statistics().operation_compiles == 1


def test_without_the_interpreter_everything_is_compiled(monkeypatch) -> None:
    x = flow.tensor([[1.0, -2.0, 3.5]])
    interpreted = F.softmax(x * 1.25, -1).numpy()
    monkeypatch.setattr(COLD, "interpret", False)
    flow.eager.statistics().reset()
    np.testing.assert_allclose(F.softmax(x * 1.25, -1).numpy(), interpreted, rtol=1e-6)
    assert flow.eager.statistics().operation_compiles == 2
    monkeypatch.undo()


@pytest.fixture
def several_compilers(monkeypatch) -> list[str]:
    """Nothing is interpreted; the names of the threads that compile operations side by side."""
    threads, compile_now = [], compile_pool.compile_operation

    def compile_operation(operation: Operation) -> None:
        threads.append(threading.current_thread().name)
        if operation.primitive.name == "sinh":
            raise RuntimeError("no compiler for this one")
        compile_now(operation)

    monkeypatch.setattr(COLD, "interpret", False)
    monkeypatch.setattr(compile_pool, "compile_operation", compile_operation)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    return threads


def test_operations_of_a_new_program_are_compiled_side_by_side(several_compilers) -> None:
    # The size is one that no other test of this process has compiled.
    x = flow.arange(59.0, requires_grad=True)
    loss = (x.sin() * x.square().sum() + 0.5).mean()
    loss.backward()
    want = np.arange(59.0) ** 2
    assert loss.item() == pytest.approx(np.sin(np.arange(59.0)).mean() * want.sum() + 0.5, rel=1e-4)
    assert x.grad.shape == (59,)
    assert len(several_compilers) > 5
    assert all("oneflow-operation-compiler" in compiler for compiler in several_compilers)
    assert flow.eager.statistics().operation_compiles == len(several_compilers)
    assert flow.eager.statistics().compile_seconds > 0


def test_an_operation_that_failed_to_compile_ahead_is_compiled_in_its_turn(
    several_compilers,
) -> None:
    x = flow.arange(61.0) / 61
    np.testing.assert_allclose(x.sinh().exp().numpy(), np.exp(np.sinh(np.arange(61) / 61)), 1e-5)
    assert len(several_compilers) > 1


def test_views_keep_their_values_when_what_they_look_at_is_overwritten() -> None:
    state = flow.arange(4096, dtype=flow.float32)
    kept = {}
    for step in range(SETTINGS.hot_after + 4):
        kept[step] = [state.clone().view(64, 64), state[128:256].clone(), state.detach() * 1]
        kept[step][1].numpy()
        state += 1.0  # in the memory of its input, once it is hot
        flow.eager.synchronize()
    for step, (whole, part, copy) in kept.items():
        want = np.arange(4096, dtype=np.float32) + step
        np.testing.assert_array_equal(whole.numpy().ravel(), want)
        np.testing.assert_array_equal(part.numpy(), want[128:256])
        np.testing.assert_array_equal(copy.numpy(), want)


def test_cold_results_share_no_memory() -> None:
    x = flow.arange(4096, dtype=flow.float32)
    tensors = [x, x.reshape(64, 64).clone(), x.clone(), x.to(flow.float32, copy=True), x.relu()]
    halves = x.chunk(2)
    tensors += [half.clone() for half in halves]
    assert len(set(map(pointer, tensors))) == len(tensors)


def test_cold_results_are_taken_over_by_hot_programs() -> None:
    def step(x: flow.Tensor) -> flow.Tensor:
        return x * 2.0 + 1.0

    for _ in range(SETTINGS.hot_after + 2):
        fresh = flow.arange(1024, dtype=flow.float32)  # made cold once, then hot
        fresh.numpy()
        again = fresh.reshape(32, 32).t().clone()
        result = step(again)
        del again
        flow.eager.synchronize()
        want = np.arange(1024, dtype=np.float32).reshape(32, 32).T * 2 + 1
        np.testing.assert_array_equal(result.numpy(), want)
        np.testing.assert_array_equal(fresh.numpy(), np.arange(1024))


def test_memory_goes_to_jax_where_nobody_else_has_it() -> None:
    alone = np.arange(6.0).reshape(2, 3)
    almost_whole = np.arange(6.0)[1:]
    for array in (alone, almost_whole):
        assert _exclusive_array(array, {}) is array
    memory = np.arange(6.0)
    shared = [memory.reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.arange(64.0)[32:]]
    shared += [view.reshape(3, 2) for view in shared[:1]]
    twin = np.arange(6.0).reshape(2, 3)
    other = twin.reshape(6)
    for array in (*shared, twin, other):
        copy = _exclusive_array(array, {})
        assert not np.shares_memory(copy, array)
        np.testing.assert_array_equal(copy, array)
    assert _exclusive_array(alone, {id(alone): alone}) is not alone


def test_specs_are_listed_once_however_many_results_there_are(monkeypatch) -> None:
    listed: list[Program] = []
    table_of = Program.spec_table

    def count(program: Program) -> dict[int, TensorSpec]:
        listed.append(program)
        return table_of(program)

    monkeypatch.setattr(Program, "spec_table", count)
    with eager_mode("cold"):
        for results in (15, 30):
            listed.clear()
            tensors = [flow.ones(3, 4099) * number for number in range(results)]
            assert tensors[-1].sum().item() == 3 * 4099 * (results - 1)
            assert 1 <= len(listed) <= 4


def test_indices_are_checked_without_compiling() -> None:
    with pytest.raises(IndexError, match="index 9"):
        F.embedding(flow.tensor([1, 9]), flow.ones(7, 2)).numpy()
    assert flow.eager.statistics().operation_compiles == 0


def test_numpy_warns_of_nothing() -> None:
    x = flow.tensor([-1.0, 0.0, 3e38, float("nan")])
    results = (x.log(), 1 / x, x * x, x.to(flow.int32), x.half(), x.bfloat16(), x.sqrt(), x % 0)
    for result in results:
        result.numpy()
    assert (flow.tensor([2**31 - 1], dtype=flow.int32) + 1).item() == -(2**31)


@pytest.mark.usefixtures("no_small_programs")
def test_too_little_memory_is_an_error_as_elsewhere(monkeypatch) -> None:
    x = flow.ones(3)
    x.numpy()

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("oneflow.runtime.cold.interpret", fail)
    with pytest.raises(flow.OutOfMemoryError, match="`mul`, which makes"):
        (x * 2.0).numpy()
