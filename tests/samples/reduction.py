"""Reductions, statistics and cumulative operations."""

from __future__ import annotations

import math

from tests.samples.table import (
    ALL,
    COMPLEX,
    FLOATS,
    REAL,
    REAL_AND_BOOL,
    Operator,
    case,
    dtype,
    tensor,
)

CUBE = tensor(2, 3, 4, distinct=True)
MATRIX = tensor(3, 4, distinct=True)
UNORDERED = case(tensor(2, dtype="complex64"))
EMPTY = tensor(0, 3)
LOST = tensor(2, 3, values=[1.0, float("nan"), 3.0, -2.0, 0.5, float("inf")], grad=False)
LOST_ROW = tensor(2, 3, values=[float("nan")] * 3 + [1.0, 2.0, 3.0], grad=False)
PARTLY_LOST = tensor(2, 3, values=[1.0, float("nan"), 3.0, -2.0, 0.5, 4.0])
TIED = tensor(2, 4, values=[1.0, 3.0, 3.0, 2.0, 0.0, 0.0, 0.0, 0.0])
TURNED = tensor(3, 4, distinct=True, layout="transposed")
# Over all, one, several dimensions; keeping them; without elements; with NaN.
OVER_DIMS = [
    case(MATRIX),
    case(CUBE, 1),
    case(CUBE, (0, 2), keepdim=True),
    case(CUBE, (-1,), True),
    case(TURNED, 0),
    case(tensor()),
    case(LOST, 1),
]
BAD_DIMS = [case(MATRIX, 2), case(MATRIX, (0, 0)), case("text")]
ALONG = [
    case(MATRIX, 1),
    case(CUBE, 1, keepdim=True),
    case(CUBE, -1, True),
    case(TIED, 1),
    case(TURNED, 0),
    case(tensor(), 0),
    case(LOST, 1),
]
NOTHING = [case(EMPTY, 0)]


def kept(*cases):
    """Cases whose results exist also without elements."""
    return [*cases, case(EMPTY), case(EMPTY, 0)]


SUMS = [
    Operator(
        "sum",
        cases=[*kept(*OVER_DIMS), case(MATRIX, dtype=dtype("float64")), case(MATRIX, dim=())],
        dtypes=ALL,
        errors=BAD_DIMS,
    ),
    Operator(
        "mean",
        cases=[*kept(*OVER_DIMS), case(tensor(3, dtype="int64"), dtype=dtype("float32"))],
        dtypes=(*FLOATS, *COMPLEX),
        errors=[*BAD_DIMS, case(tensor(3, dtype="int64")), case(tensor(3, dtype="bool"))],
    ),
    Operator(
        "prod",
        cases=[
            case(MATRIX),
            case(CUBE, 1),
            case(CUBE, -1, True),
            case(tensor(2, 3, values=[0.0, 2.0, 3.0, 0.0, 0.0, 1.0]), 1),
            case(EMPTY, 0),
            case(LOST, 1),
            case(MATRIX, dtype=dtype("float64")),
        ],
        dtypes=ALL,
        errors=[case(MATRIX, 2)],
    ),
    Operator("nansum", cases=kept(*OVER_DIMS), dtypes=REAL, errors=BAD_DIMS),
    Operator("nanmean", cases=[*OVER_DIMS, case(LOST_ROW, 1)], dtypes=FLOATS, errors=BAD_DIMS),
    Operator("count_nonzero", cases=[case(CUBE), case(CUBE, 1), case(CUBE, (0, 2))], dtypes=ALL),
    Operator(
        "logsumexp",
        cases=[
            case(MATRIX, 1),
            case(CUBE, (0, 2), keepdim=True),
            case(tensor(2, 3, values=[1e4, 1e4, 0.0, -1e4, -1e4, -1e4], grad=False), 1),
            case(tensor(2, values=[float("-inf")] * 2, grad=False), 0),
            case(tensor(2, values=[float("inf"), 1.0], grad=False), 0),
            case(MATRIX, tensor(dtype="int64", values=1)),
            case(EMPTY, 0),
            case(tensor(), 0),
        ],
        dtypes=(*REAL, *COMPLEX),
        errors=[case(MATRIX, 2)],
    ),
    *[
        Operator(
            name,
            cases=[
                case(MATRIX),
                case(CUBE, 1),
                case(CUBE, (0, 2)),
                case(CUBE, -1, True),
                case(MATRIX, ()),
                *NOTHING,
            ],
            dtypes=ALL,
            errors=[case(MATRIX, 2)],
        )
        for name in ("all", "any")
    ],
]

EXTREMES = [
    *[
        Operator(
            name,
            cases=[
                case(MATRIX),
                *ALONG,
                case(TIED),
                case(tensor()),
                case(LOST),
                case(MATRIX, tensor(4)),
                case(tensor(0, 3), 1),
            ],
            dtypes=REAL_AND_BOOL,
            errors=[case(MATRIX, 2), case(EMPTY), *NOTHING, case("text"), UNORDERED],
        )
        for name in ("max", "min")
    ],
    *[
        Operator(
            name,
            cases=[*OVER_DIMS, case(TIED, 1), case(TIED), case(tensor(0, 3), 1)],
            dtypes=REAL_AND_BOOL,
            errors=[*BAD_DIMS, case(EMPTY), *NOTHING, UNORDERED],
        )
        for name in ("amax", "amin")
    ],
    Operator("aminmax", cases=[case(MATRIX), case(MATRIX, dim=1), case(CUBE, dim=0, keepdim=True)]),
    *[
        Operator(
            name,
            cases=[
                case(MATRIX),
                case(CUBE, 1),
                case(CUBE, -1, True),
                case(MATRIX, None, True),
                case(TIED, 1),
                case(tensor()),
                case(LOST, 1),
            ],
            dtypes=REAL,
            errors=[case(MATRIX, 2), case(EMPTY), *NOTHING],
        )
        for name in ("argmax", "argmin")
    ],
]

SPREADS = [
    Operator(
        name,
        cases=[
            case(MATRIX),
            case(CUBE, 1),
            case(CUBE, (0, 2), keepdim=True),
            case(MATRIX, False),
            case(MATRIX, 1, False, True),
            case(MATRIX, 1, correction=2),
            case(MATRIX, correction=0),
            case(tensor(3, 4, values=[5.0] * 12), 1),
            case(tensor(3, 4, low=1e4, high=1e4 + 1), 1),
            case(tensor(3, 1), 1),
            case(TURNED, 0),
            case(LOST, 1),
            case(EMPTY, 0),
        ],
        dtypes=(*FLOATS, *COMPLEX),
        errors=[case(tensor(3, dtype="int64")), case(MATRIX, 2)],
        tolerance=5,
        variants="_mean" not in name,
    )
    for name in ("var", "std", "var_mean", "std_mean")
]

SORTED = [
    *[
        Operator(
            name,
            cases=[
                case(MATRIX),
                case(MATRIX, 1),
                case(CUBE, 1, keepdim=True),
                case(LOST),
                case(LOST, 1),
                case(TIED),
                case(tensor(), 0),
                case(tensor(0)),
            ],
            dtypes=("float32", "float64", "int64", "int32"),
            errors=[case(MATRIX, 2), *NOTHING],
        )
        for name in ("median", "nanmedian")
    ],
    Operator(
        "mode",
        cases=[
            case(tensor(2, 6, values=[1, 2, 2, 3, 1, 0, 5, 4, 4, 4, 5, 5])),
            case(tensor(6, 2, values=[1, 2, 2, 3, 1, 0, 5, 4, 4, 4, 5, 5]), 0, True),
            case(tensor(), 0),
        ],
        # PyTorch, which sorts by an unstable sort, gives the place of any of many equal numbers:
        # 103 where they lie from 7 to 201.
        large=case(tensor(5, 207, distinct=True)),
        dtypes=("float32", "int64"),
        errors=[case(MATRIX, 2), *NOTHING],
    ),
    Operator(
        "quantile",
        cases=[
            case(MATRIX, 0.3),
            case(MATRIX, 0.3, 1),
            case(tensor(), 0.3, 0),
            case(CUBE, tensor(3, values=[0.0, 0.45, 1.0], grad=False), 1, keepdim=True),
            *[
                case(MATRIX, 0.4, 1, interpolation=kind)
                for kind in ("lower", "higher", "midpoint", "nearest")
            ],
            case(LOST, 0.5, 1),
            case(PARTLY_LOST, 0.5, 1),
        ],
        dtypes=("float32", "float64"),
        errors=[
            case(MATRIX, 1.5),
            case(MATRIX, tensor(2, values=[0.5, 2.0])),
            case(MATRIX, tensor(2, dtype="float16", low=0, high=1)),
            case(tensor(3, dtype="int64"), 0.5),
            case(MATRIX, 0.5, interpolation="no"),
        ],
    ),
    Operator(
        "nanquantile",
        cases=[
            case(MATRIX, 0.3),
            case(LOST, 0.5, 1),
            case(LOST, 0.25),
            case(PARTLY_LOST, 0.5, 1),
            case(PARTLY_LOST, tensor(2, values=[0.5, 0.75], grad=False), 1, keepdim=True),
        ],
    ),
]

SCANS = [
    *[
        Operator(
            name,
            cases=[
                case(MATRIX, 1),
                case(CUBE, -2),
                case(TURNED, 0),
                case(tensor(2, 4, values=[1.0, 0.0, 2.0, 0.0, 3.0, 1.0, 0.0, 2.0]), 1),
                case(tensor(), 0),
                case(EMPTY, 0),
                case(LOST, 1),
                case(MATRIX, 1, dtype=dtype("float64")),
            ],
            dtypes=ALL,
            errors=[case(MATRIX, 2)],
        )
        for name in ("cumsum", "cumprod")
    ],
    Operator(
        "logcumsumexp",
        cases=[
            case(MATRIX, 1),
            case(CUBE, 0),
            case(EMPTY, 0),
            case(tensor(), 0),
            case(tensor(4, values=[-math.inf, 1.0, 2.0, -1.0]), 0),
        ],
        dtypes=(*FLOATS, *COMPLEX),
        errors=[case(tensor(2, dtype="int64"), 0)],
    ),
    *[
        Operator(
            name,
            cases=[
                case(MATRIX, 1),
                case(CUBE, -2),
                case(TIED, 1),
                case(LOST, 1),
                case(tensor(), 0),
                case(EMPTY, 0),
            ],
            dtypes=REAL_AND_BOOL,
            errors=[case(MATRIX, 2)],
        )
        for name in ("cummax", "cummin")
    ],
    Operator(
        "diff",
        cases=[
            case(MATRIX),
            case(MATRIX, 2, 0),
            case(MATRIX, dim=1, prepend=tensor(3, 1), append=tensor(3, 2)),
            case(tensor(1)),
        ],
        dtypes=REAL_AND_BOOL,
        errors=[case(tensor()), case(tensor(2), -1)],
    ),
    Operator(
        "gradient",
        cases=[
            case(tensor(3, 4)),
            case(tensor(3, 4), spacing=[0.5, 3.0], edge_order=2),
            case(tensor(4, 2), dim=0, spacing=(tensor(4, values=[0, 0.5, 2, 3], grad=False),)),
            case(tensor(4), spacing=(tensor(4, values=[0, 1, 3, 4], grad=False),), edge_order=2),
            case(tensor(2, 5), dim=-1, spacing=2.0),
            case(tensor(5, values=[1, float("inf"), -3, 2, float("-inf")], grad=False)),
            case(tensor(2)),
        ],
        dtypes=("float32", "float64", "int64", "complex64"),
        vary_numbers=False,
        tolerance=5,
        errors=[
            case(tensor(1)),
            case(tensor(2), edge_order=2),
            case(tensor(3), edge_order=3),
            case(tensor(2, 2), spacing=[1.0]),
        ],
    ),
]

SERIES = tensor(4, values=[0.0, 0.5, 2.0, 3.0])
INTEGRALS = [
    *[
        Operator(
            name,
            cases=[
                case(MATRIX),
                case(MATRIX, dx=0.5, dim=0),
                case(MATRIX, SERIES),
                case(MATRIX, tensor(3, 4), dim=0),
                case(tensor(1)),
                case(tensor(0, 4), dim=0),
            ],
        )
        for name in ("trapezoid", "cumulative_trapezoid")
    ],
    Operator(
        "cov",
        cases=[
            case(tensor(3, 4)),
            case(tensor(4)),
            case(tensor(1, 4)),
            case(tensor(3, 4), correction=0),
            case(
                tensor(3, 4),
                fweights=tensor(4, dtype="int64", values=[1, 2, 1, 3]),
                aweights=tensor(4, values=[0.5, 1.0, 2.0, 1.5], grad=False),
            ),
            case(tensor(3, 4, dtype="int64")),
        ],
        dtypes=("float32", "complex64"),
        errors=[case(tensor(2, 3, 4))],
        tolerance=10,
    ),
    Operator("corrcoef", cases=[case(tensor(3, 4)), case(tensor(4))], tolerance=10),
]

OPERATORS = [*INTEGRALS, *SUMS, *EXTREMES, *SPREADS, *SORTED, *SCANS]
