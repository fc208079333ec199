"""Arithmetic on two operands."""

from __future__ import annotations

from tests.samples.table import ALL, REAL, Operator, case, tensor

# Broadcast, number, 0-size, 0-dim, not contiguous.
BINARY_CASES = [
    case(tensor(2, 3), tensor(3)),
    case(tensor(2, 3), 1.5),
    case(tensor(0, 3), tensor(1, 3)),
    case(tensor(), tensor(2, 1)),
    case(tensor(2, 3), 2),
    case(tensor(2, 3, dtype="int64"), tensor(3)),
]
BINARY_ERRORS = [case(tensor(2, 3), tensor(2)), case(tensor(2), "text"), case(tensor(2), None)]

OPERATORS = [
    Operator(
        "add",
        cases=[*BINARY_CASES, case(tensor(2, 3), tensor(3), alpha=2.5)],
        dtypes=ALL,
        errors=[*BINARY_ERRORS, case(tensor(2, dtype="int64"), 1, alpha=1.5)],
    ),
    Operator("sub", cases=BINARY_CASES, dtypes=ALL, errors=BINARY_ERRORS),
    Operator("mul", cases=BINARY_CASES, dtypes=ALL, errors=BINARY_ERRORS),
]
