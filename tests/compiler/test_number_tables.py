"""The tables that a program's run-time numbers are sent in hold the numbers of each run."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.device import CPU
from oneflow.compiler import number_tables
from oneflow.compiler.number_tables import NumberTables, NumberVectors, number_arguments
from oneflow.program import update_number
from oneflow.program.update_number import UpdateNumber
from oneflow.runtime import eager
from oneflow.runtime.background import COMPILER
from oneflow.runtime.program_cache import ProgramCache

ROWS = number_tables._MAX_ROWS
RUNS = 3 * ROWS
Run = tuple[list[float], list[int]]


def _counted(step: int) -> list[float]:
    """The numbers of a step, which know those to come."""

    def ahead(steps: int) -> list[list[float]]:
        return [[1.0 / later, 0.5] for later in range(step + 1, step + 1 + steps)]

    return [UpdateNumber(1.0 / step, ahead), 0.5]


def constant() -> Iterator[Run]:
    return (([0.1, 0.9], [7]) for _ in range(RUNS))


def counts() -> Iterator[Run]:
    return ((_counted(step), []) for step in range(1, RUNS))


def draws() -> Iterator[Run]:
    first = 2**63 - 50  # they wrap around
    streams = (first + 3 * step for step in range(RUNS))
    return (([], [5, (s + 2**63) % 2**64 - 2**63]) for s in streams)


def counts_and_draws() -> Iterator[Run]:
    return (([0.3, *_counted(step)], [5, 3 * step]) for step in range(1, RUNS))


def changed_by_hand() -> Iterator[Run]:
    for step, (floats, integers) in enumerate(counts_and_draws()):
        floats[0] = 0.2 if step == ROWS + 9 else 0.1
        yield floats, [9 if step > 20 else 5, integers[1]]


def unknown() -> Iterator[Run]:
    random = np.random.default_rng(0)
    for step in range(1, RUNS):
        yield [*_counted(step), random.random()], [int(random.integers(9))]


def many() -> Iterator[Run]:
    return (([*_counted(step), *[0.5] * 9000], [step]) for step in range(1, 9))


def repeated() -> Iterator[Run]:
    """Runs that were interrupted and are made again, and steps taken back."""
    for step, (floats, integers) in enumerate(counts_and_draws()):
        yield floats, integers
        if step % 20 == 9:
            yield floats, integers
        if step == ROWS + 30:
            yield [0.3, *_counted(step - 4)], integers


def wide() -> Iterator[Run]:
    return (([*_counted(step), *[0.5] * 198], [step]) for step in range(1, RUNS))


# The transfers of all runs: arrays that stay, and arrays given to the program itself.
SENT: dict[Any, tuple[int, int]] = {
    constant: (2, 2),
    counts: (3, 1),
    draws: (3, 1),
    counts_and_draws: (6, 2),
    changed_by_hand: (14, 10),
    unknown: (30, 2 * RUNS),
    many: (0, 16),
    repeated: (10, 4),
    wide: (10, 2),
}


@pytest.mark.parametrize("runs", SENT)
def test_each_run_gets_its_numbers(runs, monkeypatch):
    monkeypatch.setattr(update_number, "_TYPES_WITHOUT_TABLES", ())
    sent = []
    put = number_tables._replicated
    monkeypatch.setattr(
        number_tables, "_replicated", lambda array, device: sent.append(array) or put(array, device)
    )
    tables: NumberTables | NumberVectors | None = None
    given = 0
    for floats, integers in runs():
        tables = tables or number_arguments(len(floats), len(integers), CPU)
        kinds = ((floats, np.float64), (integers, np.int64))
        vectors = [np.array(numbers, kind) for numbers, kind in kinds if numbers]
        arguments = tables(vectors, floats)
        arrays, row = arguments[: len(vectors)], arguments[len(vectors) :]
        for array, vector in zip(arrays, vectors, strict=True):
            numbers = np.asarray(array)[tuple(map(int, row))]
            if numbers.dtype == np.uint32:  # low words, high words
                numbers = np.stack(np.split(numbers, 2), axis=1).view(np.int64)[:, 0]
            assert np.array_equal(numbers, vector)
        given += sum(isinstance(array, np.ndarray) for array in arrays)
        shapes = [(array.shape, array.dtype) for array in arguments]
        assert shapes == [(spec.shape, spec.dtype) for spec in tables.abstract()]
    most_sent, most_given = SENT[runs]
    assert len([array for array in sent if array.ndim]) <= most_sent
    assert given <= most_given


def _weights_after_steps(as_graph: bool) -> tuple[np.ndarray, int, int]:
    """A weight after training, the steps counted and the draws; more steps than a table has."""
    flow.manual_seed(3)
    weight = flow.ones(64).requires_grad_()
    optimizer = flow.optim.AdamW([weight], lr=0.01)
    schedule = flow.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=90)

    def loss() -> flow.Tensor:
        return flow.nn.functional.dropout(weight * weight, 0.5).sum()

    class Training(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.weight = weight
            self.add_optimizer(optimizer, lr_sch=schedule)

        def build(self) -> flow.Tensor:
            value = loss()
            value.backward()
            return value

    graph = Training() if as_graph else None
    for step in range(ROWS + 26):
        if step == 30:
            optimizer.param_groups[0]["lr"] = 0.5
        if step == 50:
            flow.manual_seed(4)
        if graph is not None:
            graph()
            continue
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        schedule.step()
        if step < 6:
            COMPILER.wait()
    counted = optimizer.state_dict()["state"][0]["step"]
    return weight.numpy(), counted, flow.get_rng_state().numpy().view("<u8")[1]


@pytest.mark.parametrize("as_graph", [False, True])
def test_training_is_what_it_is_without_tables(as_graph, monkeypatch):
    expected, *expected_counts = _weights_after_steps(as_graph)
    monkeypatch.setattr(update_number, "_TYPES_WITHOUT_TABLES", ())
    monkeypatch.setattr(eager, "PROGRAMS", ProgramCache())
    sizes = []
    abstract = NumberTables.abstract
    monkeypatch.setattr(
        NumberTables,
        "abstract",
        lambda tables: sizes.append(tables._count) or abstract(tables),
    )
    weights, *counts = _weights_after_steps(as_graph)
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    assert counts == expected_counts == [ROWS + 26, ROWS - 24]
    assert ROWS in sizes
