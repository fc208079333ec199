"""Calls of the operator table whose results differ from PyTorch's for a reason, one by one.

A line of ``known_differences.tsv`` has the order, 0 for the values and 1 or 2 for the gradients
that are the first to differ; the operator; the dtype, or "*" for every one; the case as it is
printed; and the reason. A line that no longer holds is an error.
"""

from __future__ import annotations

import csv
from pathlib import Path

from tests.samples.table import Case, Operator

LIST = Path(__file__).with_name("known_differences.tsv")


def _read() -> dict[tuple[str, str, str, bool], int]:
    with LIST.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        (operator, dtype, case, order != "0"): int(order)
        for order, operator, dtype, case, _reason in lines
    }


_ORDERS = _read()


def has_other_values(row: Operator, case: Case, dtype: str) -> bool:
    """True if the values of a call are known to differ."""
    return _known(row, case, dtype, False) is not None


def first_other_gradient(row: Operator, case: Case, dtype: str) -> int | None:
    """The order of the first gradients of a call that are known to differ."""
    return _known(row, case, dtype, True)


def _known(row: Operator, case: Case, dtype: str, is_gradient: bool) -> int | None:
    key = repr(case), is_gradient
    return _ORDERS.get((row.name, dtype, *key), _ORDERS.get((row.name, "*", *key)))
