"""A law for every operator of the table: results share memory with operands where PyTorch's do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.laws.test_operators import every_operator
from tests.oracle import FLOW, TORCH, Library, difference, eager_mode, flat_tensors
from tests.samples.table import Case, Operator

CASES = 2
# Rows of which PyTorch's documentation does not say that results share memory.
COPIES = {
    "einsum": "a mere permutation is a view in PyTorch",
    "einsum_diagonal": "a mere diagonal is a view in PyTorch",
    "from_numpy": "values are immutable",
    "histogramdd": "PyTorch returns the edges that it was given",
}


pytestmark = pytest.mark.usefixtures("quiet_torch")


def _after_a_write(
    library: Library, row: Operator, case: Case, dtype: str, index: int
) -> list[Any] | None:
    """The operands after one of the results was filled; None where that is refused."""
    arguments = library.arguments(case, dtype, f"{row.name}{case!r}")
    operands = flat_tensors([*arguments.args, *arguments.kwargs.values()])
    try:
        results = flat_tensors(library.function(row)(*arguments.args, **arguments.kwargs))
        if index >= len(results):
            return None
        results[index].fill_(7)
    except Exception:
        return None
    return operands


def _problems(row: Operator, case: Case, dtype: str) -> Iterator[str]:
    index = 0
    while (theirs := _after_a_write(TORCH, row, case, dtype, index)) is not None:
        mine = _after_a_write(FLOW, row, case, dtype, index)
        if mine is not None and (problem := difference(mine, theirs)):
            yield f"{row.name}{case} of {dtype}, result {index} written to: {problem}"
        index += 1


@every_operator
def test_what_is_written_to_a_result_is_seen_where_torch_shows_it(
    row: Operator, exhaustive: bool
) -> None:
    if row.name in COPIES:
        pytest.skip(COPIES[row.name])
    dtypes = {row.dtypes[0], *(dtype for dtype in row.dtypes if dtype.startswith("complex"))}
    problems = []
    with eager_mode("cold"):
        for dtype in sorted(dtypes):
            for case in row.cases if exhaustive else row.cases[:CASES]:
                problems += _problems(row, case, dtype)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
