"""Every operator in a graph gives what it gives in eager mode."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from oneflow.compiler.export import to_bytes
from tests.graph.helpers import graph_of
from tests.laws.test_operators import (
    FIRST_CASE_RAISES,
    NO_VALUES,
    ROWS,
    _forward_and_backward,
    _outcome,
)
from tests.oracle import FLOW, array_difference, dtype_name
from tests.samples.table import Operator


def assert_same_in_a_graph(row: Operator) -> None:
    """Results and gradients of the row's first case."""
    case = row.cases[0]
    dtype = next(iter(row.gradient_dtypes), row.dtypes[0])
    if not row.values:
        pytest.skip(NO_VALUES)
    if _outcome(FLOW, row, case, dtype)[1] is not None:
        pytest.skip(FIRST_CASE_RAISES)
    eager = _forward_and_backward(row, case, dtype)
    graph = graph_of(lambda: _forward_and_backward(row, case, dtype))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            static = graph()
    except RuntimeError as error:
        if "read inside `build`" in str(error):
            pytest.skip("the shape of its result depends on values")
        raise
    for mine, reference in zip(static, eager, strict=True):
        problem = array_difference(
            mine.numpy(), np.asarray(reference.detach().numpy()), dtype_name(mine), row.tolerance
        )
        assert problem is None, f"in a graph: {problem}"
    for step in graph._steps.values():
        # It can be saved: it calls no native functions but known ones.
        to_bytes(step.executable)


@pytest.mark.one_in(24)
@pytest.mark.parametrize("row", [pytest.param(row, id=f"{f}-{row.name}") for f, row in ROWS])
def test_operator_in_a_graph(row: Operator) -> None:
    assert_same_in_a_graph(row)
