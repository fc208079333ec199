"""Writing at positions that are data."""

from __future__ import annotations

from tests.samples.selecting import MASK, index
from tests.samples.table import Operator, case, tensor

_X = tensor(3, 4)
_BOOLS, _BOOLS_OF_TWO = tensor(3, dtype="bool"), tensor(2, dtype="bool", values=[True, False])
_UNIQUE = index([[0, 2], [1, 1]])
_SCATTER_ERRORS = [
    case(_X, 0, index([[3]]), tensor(1, 1)),
    case(_X, 0, index([[-1]]), tensor(1, 1)),
    case(_X, 0, index([0]), tensor(1, 1)),
    case(_X, 0, index([[0, 1]]), tensor(1, 1)),
    case(_X, 0, index([[0]]), tensor(1, 1, dtype="float64")),
]
_SLICE_ERRORS = [
    case(_X, 0, index([3]), tensor(1, 4)),
    case(_X, 0, index([0]), tensor(2, 4)),
    case(_X, 0, index([[0]]), tensor(1, 4)),
    case(_X, 0, index([0]), tensor(1, 4, dtype="float64")),
]

OPERATORS = [
    Operator(
        "scatter",
        cases=[
            case(_X, 0, _UNIQUE, tensor(2, 2)),
            case(_X, 1, index([[3], [0]]), tensor(2, 1)),
            case(_X, 0, _UNIQUE, 2.5),
            case(tensor(3), 0, index([2, 0], "int32"), tensor(2)),
            case(tensor(), 0, index(0), tensor()),
            case(_X, 0, tensor(0, 4, dtype="int64", grad=False), tensor(2, 4)),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=_SCATTER_ERRORS,
    ),
    Operator(
        "scatter of value",
        call=lambda lib, x, i: lib.scatter(x, 0, i, value=3.0),
        cases=[case(_X, _UNIQUE)],
    ),
    Operator(
        "scatter with reduce",
        call=lambda lib, x, i, s, how: x.scatter(0, i, s, reduce=how),
        cases=[
            case(_X, index([[0, 2], [0, 1]]), tensor(2, 2), "add"),
            case(_X, index([[0, 2], [0, 1]]), tensor(2, 2), "multiply"),
        ],
        errors=[case(_X, _UNIQUE, tensor(2, 2), "mean")],
        grad=False,
    ),
    Operator(
        "scatter_add",
        cases=[
            case(_X, 0, index([[0, 2], [0, 1]]), tensor(2, 2)),
            case(_X, 1, index([[3, 3], [0, 0]]), tensor(2, 2)),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=_SCATTER_ERRORS,
    ),
    *(
        Operator(
            f"scatter_reduce {how}",
            call=lambda lib, x, i, s, include, how=how: lib.scatter_reduce(
                x, 0, i, s, how, include_self=include
            ),
            cases=[
                case(_X, index([[0, 2, 1, 0], [0, 1, 1, 0]]), tensor(2, 4), True),
                case(_X, index([[0, 2, 1, 0], [0, 1, 1, 0]]), tensor(2, 4), False),
                *([] if how == "mean" else [case(_BOOLS, index([1, 1]), _BOOLS_OF_TWO, False)]),
            ],
            dtypes=("float32", "int64"),
            second_grad=how != "prod",
            errors=[case(_X, index([[5]]), tensor(1, 1), True)],
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
    ),
    Operator(
        "scatter_reduce of zeros",
        call=lambda lib, x, i, s: lib.scatter_reduce(x, 0, i, s, "prod"),
        cases=[
            case(
                tensor(3, values=[0.0, 2.0, 3.0]),
                index([0, 1, 1, 2, 2]),
                tensor(5, values=[2.0, 0.0, 3.0, 0.0, 0.0]),
            )
        ],
        second_grad=False,
    ),
    *(
        Operator(
            f"index_reduce {how}",
            call=lambda lib, x, d, i, s, include, how=how: lib.index_reduce(
                x, d, i, s, how, include_self=include
            ),
            cases=[
                case(_X, 0, index([2, 2]), tensor(2, 4), True),
                case(_X, 1, index([0, 3, 0]), tensor(3, 3), False),
            ],
            dtypes=("float32", "float64", "int64"),
            second_grad=False,
            errors=[
                case(_X, 0, index([0]), tensor(2, 4), True),
                case(_X, 0, index([0, 1]), tensor(2, 3), True),
            ],
        )
        for how in ("prod", "mean", "amax", "amin")
    ),
    Operator(
        "index_add",
        cases=[
            case(_X, 0, index([2, 2]), tensor(2, 4)),
            case(_X, 1, index([0], "int32"), tensor(3, 1)),
            case(_X, 0, index([0, 1]), tensor(2, 4), alpha=2.5),
            case(_BOOLS, 0, index([2, 2]), _BOOLS_OF_TWO),
        ],
        dtypes=("float32", "int64", "float64", "float16"),
        errors=_SLICE_ERRORS[1:],
    ),
    Operator(
        "index_copy",
        cases=[case(_X, 0, index([2, 0]), tensor(2, 4)), case(_X, 1, index([0]), tensor(3, 1))],
        dtypes=("float32", "int64", "bool"),
        errors=_SLICE_ERRORS,
    ),
    Operator(
        "index_fill",
        cases=[
            case(_X, 0, index([2, 0]), 1.5),
            case(_X, 1, index([-1]), 2.0),
            case(_X, 0, index([1]), tensor()),
            case(_X, 0, index([1, 1]), tensor()),
        ],
        dtypes=("float32", "int64"),
        errors=[case(_X, 0, index([3]), 1.0), case(_X, 0, index([0]), tensor(2))],
    ),
    Operator(
        "index_put",
        cases=[
            case(_X, (index([0, 2]),), tensor(2, 4)),
            case(_X, (index([0, 2]), index([1, -1])), tensor(2)),
            case(_X, (index([0, 0]), index([1, 1])), tensor(2), True),
            case(_X, (MASK,), tensor(2, 4)),
            case(_X, (index([0, 2]),), tensor()),
            case(_BOOLS, (index([1, 1]),), _BOOLS_OF_TWO, True),
        ],
        errors=[
            case(_X, (index([3]),), tensor(4)),
            case(_X, (index([0, 1]),), tensor(3, 4)),
            case(_X, (index([0]),), tensor(4, dtype="float64")),
        ],
    ),
    Operator(
        "masked_fill",
        cases=[
            case(tensor(2, 3), MASK, 1.5),
            case(tensor(3), MASK, tensor()),
            case(tensor(3), index([[True], [False]], "bool"), 0.0),
            case(tensor(0, 3), MASK, 1.0),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=[case(tensor(3), tensor(3), 0.0), case(tensor(3), MASK, tensor(2))],
    ),
    Operator(
        "masked_scatter",
        cases=[case(tensor(2, 3), MASK, tensor(4)), case(tensor(3), MASK, tensor(2, 3))],
        dtypes=("float32", "int64", "bool"),
        errors=[
            case(tensor(2, 3), MASK, tensor(3)),
            case(tensor(3), MASK, tensor(2, dtype="float64")),
        ],
    ),
    Operator(
        "put",
        cases=[
            case(_X, index([11, 0]), tensor(2)),
            case(_X, index([1, 1]), tensor(2), True),
            case(_X, index([[-1]]), tensor(1)),
        ],
        errors=[case(_X, index([12]), tensor(1)), case(_X, index([1]), tensor(2))],
    ),
    Operator(
        "diagonal_scatter",
        cases=[case(_X, tensor(3)), case(_X, tensor(2), -1)],
        errors=[case(_X, tensor(4))],
    ),
    Operator("select_scatter", cases=[case(_X, tensor(4), 0, 1), case(_X, tensor(3), 1, -1)]),
    Operator(
        "slice_scatter", cases=[case(_X, tensor(2, 4), 0, 1, 3), case(_X, tensor(3, 2), 1, 0, 4, 2)]
    ),
]
