"""Programs that NumPy has run for long enough are compiled while other shapes go on coming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.compiler.lower import Use
from oneflow.nn import functional
from oneflow.primitives.operation import Operation
from oneflow.runtime import block_functions, cold, compile_ahead
from oneflow.runtime.background import BackgroundCompiler
from oneflow.runtime.block_functions import BlockFunction
from oneflow.runtime.eager_settings import SETTINGS

# Operators that are computed in blocks, and one that is not.
CALLS: dict[str, Callable[[flow.Tensor], flow.Tensor]] = {
    "gelu": functional.gelu,
    "of two tensors": lambda x: flow.atan2(x, x.flip(0)),
    "broadcast": lambda x: flow.pow(x.abs(), x[:1].abs()),
    "of a number": lambda x: flow.pow(x.abs(), 1.7),
    "dropout": lambda x: functional.dropout(x, 0.3),
    "alpha dropout": lambda x: functional.alpha_dropout(x, 0.3, training=True),
    "mask of smaller shape": lambda x: functional.dropout1d(x, 0.3),
    "truth values": lambda x: flow.isfinite(x.exp()),
}


@pytest.fixture
def eager_to_compile(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything that NumPy computes is compiled ahead at once."""
    flow.eager.synchronize()
    monkeypatch.setattr(SETTINGS, "background", True)
    monkeypatch.setattr(SETTINGS, "hot_after", 1000)
    monkeypatch.setattr(block_functions, "_BLOCK", 1024)
    monkeypatch.setattr(compile_ahead, "_MIN_SECONDS", 0.0)
    monkeypatch.setattr(compile_ahead, "_MAX_IDLE_SECONDS", float("inf"))
    monkeypatch.setattr(compile_ahead, "_MIN_RUN_SECONDS", 0.0)
    monkeypatch.setattr(compile_ahead, "_MIN_ELEMENTS", 2)
    monkeypatch.setattr(compile_ahead, "_MIN_SECONDS_PER_ELEMENT", 0.0)
    block_functions._function.cache_clear()
    yield
    flow.eager.synchronize()
    block_functions._function.cache_clear()


@pytest.mark.parametrize("name", CALLS)
def test_compiled_ahead_equals_interpreted(name: str, eager_to_compile: None) -> None:
    def run(rows: int) -> np.ndarray:
        flow.manual_seed(rows)
        x = flow.tensor(np.random.default_rng(rows).standard_normal((rows, 41), np.float32))
        return CALLS[name](x).numpy()

    before = {rows: run(rows) for rows in (30, 7, 100)}
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    for rows, expected in before.items():
        np.testing.assert_allclose(run(rows), expected, rtol=2e-6, atol=1e-6)
    assert flow.eager.statistics().cold_runs > 0


def test_a_new_shape_uses_what_others_had_compiled(
    eager_to_compile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, shapes = BlockFunction.__call__, []

    def note(self: BlockFunction, operation: Operation, operands: Sequence[Any]) -> np.ndarray:
        shapes.append(tuple(operation.out_specs[0].shape))
        return run(self, operation, operands)

    monkeypatch.setattr(BlockFunction, "__call__", note)
    functional.dropout(flow.ones(50, 41), 0.3).numpy()
    flow.eager.synchronize()
    flow.eager.statistics().reset()
    functional.dropout(flow.ones(90, 43), 0.3).numpy()
    assert (90, 43) in shapes
    flow.eager.synchronize()
    assert flow.eager.statistics().program_compiles == 0


def test_an_operation_that_comes_back_is_compiled(
    eager_to_compile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, names = cold._run_compiled, []

    def note(operation: Operation, operands: Sequence[Any], *use: Use) -> Any:
        names.append(operation.primitive.name)
        return run(operation, operands, *use)

    def train(steps: int) -> list[float]:
        flow.manual_seed(0)
        layer = flow.nn.Linear(37, 31)
        optimizer = flow.optim.AdamW(layer.parameters(), lr=1e-3)
        losses = []
        for rows in range(3, 3 + steps):
            loss = layer(flow.ones(rows, 37)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    monkeypatch.setattr(cold, "_run_compiled", note)
    interpreted = train(5)
    flow.eager.synchronize()
    names.clear()
    np.testing.assert_allclose(train(5), interpreted, rtol=1e-5)
    assert "adam_update" in names


def test_what_is_not_needed_any_more_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted = []
    monkeypatch.setattr(
        BackgroundCompiler, "submit", lambda _, run, priority: submitted.append(run)
    )
    spent, compiled = compile_ahead.NumpyTime(), []
    spent.note(10.0, 1, lambda: compiled.append(1))
    spent.note(10.0, 1, lambda: compiled.append(1))
    spent.last -= 100.0
    (compile_later,) = submitted
    compile_later()
    assert not compiled
    spent.note(10.0, 1, lambda: compiled.append(2))
    submitted[1]()
    assert compiled == [2]
