"""Every number of the operator table's calls replaced: what PyTorch refuses is refused.

In place of integers come floats, in place of other numbers NaN, infinities and the negative number.
What only PyTorch refuses, and why it may, is in `ACCEPTED`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.laws.test_operators import _outcome, _report, every_operator
from tests.oracle import FLOW, TORCH, eager_mode
from tests.samples.table import Case, Operator

pytestmark = pytest.mark.usefixtures("quiet_torch")
# Rows of which more is accepted than in PyTorch, by the reason.
ACCEPTED = {
    name: reason
    for reason, names in {
        "a number is the data of a tensor": "LongTensor",
        "whole floats equal the sizes of the input": """
            nn.functional.layer_norm nn.functional.rms_norm""",
    }.items()
    for name in names.split()
}


def others(number: float) -> list[float]:
    """Return the values that come in place of a number."""
    values = [math.nan, math.inf, -math.inf]
    return [*values, float(number), number + 0.5] if type(number) is int else [*values, -number]


def replaced(value: Any) -> Iterator[Any]:
    """A number, or several of which the first one is replaced, in other forms."""
    if type(value) in (int, float):
        yield from others(value)
    elif type(value) in (tuple, list) and value and type(value[0]) in (int, float):
        for other in others(value[0]):
            yield type(value)((other, *value[1:]))


def other_cases(row: Operator) -> Iterator[Case]:
    """The calls of a row with one argument replaced, each argument in each way once."""
    seen = set()
    for case in row.cases:
        arguments = [*enumerate(case.args), *case.kwargs.items()]
        for place, value in arguments:
            for other in replaced(value):
                if (key := (len(case.args), place, repr(other))) in seen:
                    continue
                seen.add(key)
                args = tuple(other if at == place else own for at, own in enumerate(case.args))
                kwargs = {name: other if name == place else v for name, v in case.kwargs.items()}
                yield Case(args, kwargs)


@every_operator
def test_numbers_that_pytorch_refuses_are_refused(row: Operator) -> None:
    problems = []
    with eager_mode("cold"):
        for case in row.cases:  # a float equals the integer that operations are kept by
            _outcome(FLOW, row, case, row.dtypes[0])
        for case in other_cases(row):
            _, theirs = _outcome(TORCH, row, case, row.dtypes[0])
            if theirs is None or row.name in ACCEPTED:
                continue
            result, mine = _outcome(FLOW, row, case, row.dtypes[0])
            if mine is None:
                problems.append(f"{row.name}{case} gives {result!r}, torch raises {theirs!r}")
    _report(problems)
