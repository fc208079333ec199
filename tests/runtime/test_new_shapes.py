"""Programs of ever new shapes take no more memory than was agreed."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import oneflow as flow
from oneflow.base import spec
from oneflow.compiler import executable_cache
from oneflow.compiler.executable_cache import (
    EXECUTABLES,
    OPERATION_BYTES,
    ExecutableCache,
    mapping_count,
)
from oneflow.dispatch import call
from oneflow.runtime import program_cache

FEW = 20


@pytest.fixture
def little_room(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(EXECUTABLES, "max_bytes", FEW * OPERATION_BYTES)
    yield
    flow.eager.synchronize()


@pytest.mark.usefixtures("little_room")
def test_three_hundred_new_shapes_leave_the_mappings_bounded() -> None:
    flow.ones(3).numpy()
    EXECUTABLES.evict(EXECUTABLES)
    before = mapping_count()
    for size in range(1000, 1300):
        assert flow.ones(size).numpy().sum() == size
        assert len(EXECUTABLES) <= FEW
    assert mapping_count() - before < 10 * FEW
    assert EXECUTABLES.bytes <= FEW * OPERATION_BYTES


def _losses(steps: int) -> list[float]:
    numbers = np.random.RandomState(1)
    model = flow.nn.Sequential(flow.nn.Linear(3, 5), flow.nn.Tanh(), flow.nn.Linear(5, 1))
    for parameter in model.parameters():
        shape = tuple(parameter.shape)
        parameter.data.copy_(flow.tensor(numbers.standard_normal(shape).astype(np.float32)))
    optimizer = flow.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        x = flow.tensor(np.random.RandomState(step).standard_normal((4, 3)).astype(np.float32))
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def test_training_is_the_same_where_nothing_can_be_kept(monkeypatch) -> None:
    want = _losses(6)
    EXECUTABLES.evict(EXECUTABLES)
    monkeypatch.setattr(EXECUTABLES, "max_bytes", 1)
    np.testing.assert_allclose(_losses(6), want, rtol=1e-5)
    assert len(EXECUTABLES) == 1


def _fill(cache: ExecutableCache, names: str) -> list[str]:
    """Owners that are made to let go while these are kept, each of 10 bytes."""
    released: list[str] = []
    for name in names:
        cache.add(name, 10, lambda name=name: released.append(name))
    return released


def test_what_was_used_least_recently_is_dropped_first() -> None:
    cache = ExecutableCache(40, 2**30)
    released = _fill(cache, "abcd")
    cache.touch("a")
    cache.touch("unknown")
    cache.add("e", 10, lambda: released.append("e"))
    assert released == ["b", "c"]  # one more than necessary, so that it happens seldom
    cache.add("a", 10, lambda: released.append("a"))  # it holds two now
    assert cache.bytes == 40
    cache.evict([*cache, "unknown"])
    assert sorted(released) == list("abcde")
    assert cache.bytes == len(cache) == 0


def test_too_many_mappings_drop_some(monkeypatch) -> None:
    monkeypatch.setattr(executable_cache, "_CHECK_INTERVAL", 4)
    cache = ExecutableCache(2**40, 1)
    assert _fill(cache, "abc") == []
    assert _fill(ExecutableCache(2**40, 1), "abcd") == ["a"]
    assert _fill(ExecutableCache(2**40, 2**30), "abcdefgh") == []


def test_programs_are_forgotten_by_their_instructions(monkeypatch) -> None:
    monkeypatch.setattr(program_cache, "_MAX_INSTRUCTIONS", 100)
    programs = program_cache.ProgramCache()
    program = flow.eager.record(lambda x: x * 2.0 + x, flow.ones(2))
    for number in range(50):
        programs.add((number,), program)
    assert len(programs) == 10
    assert programs.instructions == 100
    assert programs.find((49,)) is not None
    assert programs.find((0,)) is None


def test_executables_that_another_cold_program_uses_are_not_released() -> None:
    programs = program_cache.ProgramCache()
    x = flow.ones(2)
    large = flow.eager.record(lambda x: (x * 2.0 + x).exp(), x)
    small = programs.add((1,), flow.eager.record(lambda x: x * 3.0, x))
    programs.add((0,), large).executable = object()

    def names() -> set[str]:
        return {operation.primitive.name for operation in programs.operations_only_in(large)}

    assert names() == {"add", "exp"}
    small.executable = object()
    assert names() == {"mul", "add", "exp"}


def test_operations_and_specs_that_nobody_uses_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(program_cache, "_MAX_INSTRUCTIONS", 50)
    monkeypatch.setattr(EXECUTABLES, "max_bytes", FEW * OPERATION_BYTES)
    call._evict_unused()
    monkeypatch.setattr(call._cache, "max_size", len(call._operations) + 60)
    x = flow.ones(7, requires_grad=True)
    y = (x * 3.0).sum()
    shapes = {(size,) for size in range(20011, 20161)}  # that no other test uses
    for shape in shapes:
        flow.ones(shape).numpy()
    assert len(call._operations) < call._cache.max_size
    call._evict_unused()  # by itself, how often depends on the tests before this one
    gc.collect()
    assert sum(1 for tensor in list(spec._KNOWN.values()) if tensor.shape in shapes) < 100
    y.backward()
    assert x.grad.tolist() == [3.0] * 7
