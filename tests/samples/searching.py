"""Order, search and counting."""

from __future__ import annotations

import math

from tests.samples.selecting import index
from tests.samples.table import REAL_AND_BOOL, Operator, case, tensor

_X = tensor(3, 4, distinct=True)
_NAN = tensor(4, values=[2.0, float("nan"), -1.0, float("inf")], grad=False)
_TIES = tensor(6, values=[1, 0, 1, 2, 0, 1], grad=False)

OPERATORS = [
    Operator(
        "sort",
        cases=[
            case(_X),
            case(_X, 0),
            case(_X, descending=True),
            case(_NAN),
            case(_NAN, descending=True),
            case(tensor()),
            case(tensor(0, 3)),
            case(_X, -1, True),
        ],
        dtypes=("float32", "int64", "float64", "float16", "bfloat16", "int32", "uint8"),
        errors=[case(_X, 2), case(tensor(2, dtype="complex64"))],
    ),
    Operator(
        "stable sort",
        call=lambda lib, x, d: lib.sort(x, stable=True, descending=d),
        cases=[case(_TIES, False), case(_TIES, True)],
        dtypes=REAL_AND_BOOL,
    ),
    Operator("argsort", cases=[case(_X), case(_X, 0, True)], grad=False),
    Operator("msort", cases=[case(_X)]),
    Operator(
        "topk",
        cases=[
            case(_X, 2),
            case(_X, 2, 0),
            case(_X, 2, 1, False),
            case(_X, 0),
            case(tensor(), 1),
            case(_X, 4),
        ],
        dtypes=("float32", "int64", "float64", "float16", "int32"),
        errors=[case(_X, 5), case(_X, -1), case(_X, 1, 2)],
    ),
    Operator(
        "kthvalue",
        cases=[case(_X, 2), case(_X, 1, 0, True), case(tensor(), 1)],
        dtypes=("float32", "int64"),
        errors=[case(_X, 5), case(_X, 0)],
    ),
    Operator(
        "searchsorted",
        cases=[
            case(tensor(4, values=[1, 3, 3, 7]), tensor(2, 3, values=[[0, 3, 9], [1, 2, 7]])),
            case(tensor(4, values=[1, 3, 3, 7]), tensor(3, values=[0, 3, 9]), right=True),
            case(tensor(4, values=[1, 3, 3, 7]), 3, out_int32=True),
            case(tensor(2, 2, values=[[1, 3], [0, 9]]), tensor(2, 1, values=[[2], [2]])),
            case(tensor(3, values=[7, 1, 3]), tensor(1, values=[2]), sorter=index([1, 2, 0])),
            case(tensor(2, values=[1, 3]), tensor(1, values=[3]), side="right"),
        ],
        dtypes=("float32", "int64"),
        grad=False,
        errors=[case(tensor(2), 1.0, side="middle"), case(tensor(2, 2), tensor(3, 2))],
    ),
    Operator(
        "bucketize",
        cases=[
            case(tensor(2, 2, values=[[0, 3], [5, 9]]), tensor(3, values=[1, 3, 5])),
            case(tensor(2, values=[1, 3]), tensor(3, values=[1, 3, 5]), right=True),
            case(3, tensor(3, values=[1, 3, 5])),
        ],
        grad=False,
        errors=[case(tensor(2), tensor(2, 2))],
    ),
    Operator(
        "unique",
        cases=[
            case(_TIES),
            case(_TIES, return_inverse=True),
            case(
                tensor(2, 3, values=[[1, 0, 1], [1, 0, 1]]), return_inverse=True, return_counts=True
            ),
            case(tensor(2, 2, values=[[1, 0], [1, 0]]), dim=0, return_counts=True),
            case(tensor(0)),
        ],
        dtypes=REAL_AND_BOOL,
        grad=False,
    ),
    Operator(
        "unique_consecutive",
        cases=[
            case(tensor(5, values=[1, 1, 2, 1, 1])),
            case(tensor(2, 2, values=[[1, 1], [1, 2]]), True, True),
            case(tensor(3, 2, values=[[1, 1], [1, 1], [0, 1]]), True, True, 0),
            case(tensor(0)),
        ],
        dtypes=("int64", "float32"),
        grad=False,
    ),
    Operator(
        "bincount",
        cases=[
            case(index([1, 1, 3])),
            case(index([1, 0]), minlength=4),
            case(index([1, 1, 0]), tensor(3)),
            case(tensor(0, dtype="int64")),
            case(index([1, 2]), tensor(2, dtype="int64")),
        ],
        grad=False,
        errors=[case(index([-1])), case(index([[1]]))],
    ),
    Operator(
        "histc",
        cases=[
            case(tensor(10), 4),
            case(tensor(10), 5, -1.0, 1.0),
            case(tensor(3, values=[1.0, 1.0, 1.0]), 3),
        ],
        dtypes=("float32", "float64"),
        grad=False,
        vary_numbers=False,
        errors=[case(tensor(2), 0), case(tensor(2), 2, 1.0, 0.0)],
    ),
    Operator(
        "histogram",
        cases=[
            case(tensor(3, 4), 5),
            case(tensor(10), 4, range=(-1.0, 1.5), density=True),
            case(tensor(4, values=[0.5, 1, 1, 3]), tensor(3, values=[0.0, 1, 3]), weight=tensor(4)),
            case(tensor(0), 3),
        ],
        dtypes=("float32", "float64"),
        grad=False,
        vary_numbers=False,
        errors=[
            case(tensor(2), 0),
            case(tensor(2), 2, range=(3.0, 1.0)),
            case(tensor(2, values=[1.0, math.nan]), 2),
            case(tensor(2), 2, weight=tensor(3)),
            case(tensor(2, dtype="int64"), 2),
        ],
    ),
    Operator(
        "histogramdd",
        cases=[
            case(tensor(9, 2), [3, 4]),
            case(tensor(2, 4, 2), 2, range=[-1.0, 1.0, 0.0, 2.0], density=True),
            case(tensor(6, 2), (tensor(2, values=[-1.0, 1]), tensor(3, values=[-1.0, 0, 2]))),
            case(tensor(4, 1), [3], weight=tensor(4)),
        ],
        dtypes=("float32", "float64"),
        grad=False,
        vary_numbers=False,
        errors=[case(tensor(3, 2), [2]), case(tensor(3, 1), [0])],
    ),
    Operator(
        "unravel_index",
        cases=[
            case(tensor(2, 2, values=[[0, 5], [3, 2]]), (2, 3)),
            case(tensor(2, values=[7, 1]), 9),
            case(tensor(values=1), ()),
        ],
        dtypes=("int64", "int32"),
        errors=[
            case(tensor(2, dtype="float32"), (2, 3)),
            case(tensor(2), (2, -3)),
            case(tensor(2), 2.5),
            case(tensor(2), (2.0, 3)),
        ],
    ),
    Operator(
        "isin",
        cases=[
            case(_TIES, tensor(2, values=[0, 2])),
            case(_TIES, 1),
            case(_TIES, tensor(1, values=[1]), invert=True),
            case(1, _TIES),
        ],
        dtypes=("int64", "float32"),
        grad=False,
    ),
    Operator(
        "nn.functional.one_hot",
        cases=[case(index([0, 2]), 3), case(index([[1], [0]])), case(index(1), 2)],
        errors=[case(index([3]), 3), case(index([-1]), 3), case(tensor(2), 3), case(index([0]), 0)],
    ),
    Operator(
        "one_hot values",
        call=lambda lib, i: lib.nn.functional.one_hot(i, 3, on_value=2.0, off_value=-1.0),
        torch=lambda i: i.new_tensor(0) + (3.0 * (i[..., None] == i.new_tensor([0, 1, 2])) - 1.0),
        cases=[case(index([0, 2]))],
    ),
]
