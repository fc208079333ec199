"""Alike run-time checks are computed together and reported as if they were not."""

import functools
import operator

import jax
import numpy as np
import pytest

import oneflow as flow
from oneflow.compiler import check_rows as module
from oneflow.compiler.check_rows import check_rows
from oneflow.compiler.guarded_writes import CheckedUpdates
from oneflow.program.evaluate import evaluate, walk

pytestmark = pytest.mark.usefixtures("jax_x64")

POSITIONS = [[0, 9], [11, 3], [2, 2], [-1, 30], [4, 12]]


def lookups(small, large, *columns):
    """The rows of one of two tables for each column, of the large one for every third."""
    embed = flow.nn.functional.embedding
    found = [embed(column, large if i % 3 == 2 else small) for i, column in enumerate(columns)]
    return functools.reduce(operator.add, [tensor.sum() for tensor in found])


def recorded(columns):
    """A program of lookups, recorded with other positions, and its arrays in order of use."""
    tables = [np.ones((10, 4), "float32"), np.ones((12, 4), "float32")]
    arrays = []
    for i, column in enumerate(columns):
        arrays.append(np.array(column))
        if i in (0, 2):
            arrays.append(tables[i // 2])
    zeros = [flow.zeros(len(column), dtype=flow.int64) for column in columns]
    return flow.eager.record(lookups, *map(flow.tensor, tables), *zeros), arrays


def rows_of(program, arrays):
    return check_rows(walk(program, arrays, [])[1])


@pytest.mark.parametrize("most", [0, module._MAX_ELEMENTS])
def test_rows_are_those_of_the_evaluator_in_order(most, monkeypatch):
    monkeypatch.setattr(module, "_MAX_ELEMENTS", most)
    program, arrays = recorded(POSITIONS)
    want = [(int(bad), int(value)) for bad, value in evaluate(program, arrays, [])[1]]
    assert [bad for bad, _ in want] == [0, 1, 0, 1, 1]
    rows = jax.jit(rows_of, static_argnums=0)(program, arrays)
    assert rows.dtype == np.int64
    assert [tuple(row) for row in rows.tolist()] == want


def test_alike_checks_are_one():
    def reductions(columns, name="argmax"):
        program, arrays = recorded(columns)
        traced = jax.make_jaxpr(lambda *arrays: rows_of(program, arrays))(*arrays)
        return str(traced).count(f"{name}[")

    assert reductions(POSITIONS[:1]) == 1
    assert reductions(POSITIONS) == 2  # one for each table
    long = [position * 10_000 for position in POSITIONS]
    assert reductions(long, "reduce_min") == len(POSITIONS)


def test_equal_checks_of_the_same_array_are_one():
    """Rows are those of all checks, so that the first operation that failed is named."""

    def layers(x, up, down, ends):
        hidden = flow.nn.functional.grouped_mm(x, up, offs=ends)
        return flow.nn.functional.grouped_mm(hidden, down, offs=ends)

    x, up, down = flow.ones(6, 3), flow.ones(2, 3, 5), flow.ones(2, 5, 3)
    ends = flow.tensor([2, 6], dtype=flow.int32)
    program = flow.eager.record(layers, x, up, down, ends)
    arrays = [tensor.numpy() for tensor in (x, up, ends, down)]

    def run(arrays, both):
        (first, second) = walk(program, arrays, [])[1]
        operation, operands = second
        changed = (operation, [*operands[:-1], operands[-1] + 0])
        return check_rows([first, second if both else changed])

    def reductions(both):
        return str(jax.make_jaxpr(functools.partial(run, both=both))(arrays)).count("argmax[")

    assert (reductions(True), reductions(False)) == (1, 2)
    arrays[2] = np.array([2, 9], "int32")
    assert run(arrays, True).tolist() == [[1, 9], [1, 9]]


def test_a_large_table_that_is_not_read_does_not_count():
    program, arrays = recorded(POSITIONS[:2])
    ((operation, operands), _) = walk(program, arrays, [])[1]
    table = np.zeros((module._MAX_ELEMENTS, 4), "float32")
    places = [i for i, operand in enumerate(operands) if operand.ndim == 2]
    assert module._reads_little(
        operation, [table if i in places else x for i, x in enumerate(operands)]
    )


@pytest.mark.parametrize("wrong", range(len(POSITIONS)))
def test_a_graph_names_the_position(wrong):
    class Lookups(flow.nn.Graph):
        def build(self, *tensors):
            return lookups(*tensors)

    columns = [[0, 1]] * len(POSITIONS)
    columns[wrong] = [3, 50 + wrong]
    size = 12 if wrong % 3 == 2 else 10
    with pytest.raises(IndexError, match=f"index {50 + wrong}, but the table has {size} rows"):
        Lookups()(flow.ones(10, 4), flow.ones(12, 4), *map(flow.tensor, columns)).item()


def test_checks_between_updates_are_computed_once():
    """A program of twice as many updates behind checks is twice as long, not four times."""

    def size(count):
        program, arrays = recorded(POSITIONS[:1] * count)

        def failed_before_each(*arrays):
            checked = walk(program, arrays, [])[1]
            updates = CheckedUpdates(program, lambda failed: failed)
            flags = [updates.has_failed(checked[: i + 1]) for i in range(count)]
            return flags, updates.rows(checked)

        flags, rows = failed_before_each(*arrays)
        assert flags == [False] * count
        assert rows.shape == (count, 2)
        return len(jax.make_jaxpr(failed_before_each)(*arrays).eqns)

    assert size(24) < 2.5 * size(12)
