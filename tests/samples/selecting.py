"""Reading at positions that are data."""

from __future__ import annotations

from typing import Any

from tests.samples.table import Operator, case, tensor


def index(values: Any, dtype: str = "int64") -> Any:
    """An index tensor."""
    shape: list[int] = []
    inner = values
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else 0
    return tensor(*shape, dtype=dtype, values=values, grad=False)


MASK = index([True, False, True], "bool")
_X = tensor(3, 4)

OPERATORS = [
    Operator(
        "gather",
        cases=[
            case(_X, 0, index([[0, 2], [1, 1]])),
            case(_X, 1, index([[3, 0, 0, 1, 2], [1, 1, 1, 1, 1]])),
            case(_X, -1, index([[0], [1], [2]], "int32")),
            case(tensor(3), 0, index([2, 0])),
            case(tensor(), 0, index(0)),
            case(_X, 0, tensor(0, 4, dtype="int64", grad=False)),
            case(tensor(3), 0, tensor(0, dtype="uint8")),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=[
            case(_X, 0, index([[3]])),
            case(_X, 0, index([[-1]])),
            case(_X, 0, index([0])),
            case(_X, 0, index([[0, 0, 0, 0, 0]])),
            case(_X, 0, index([[0.0]], "float32")),
        ],
    ),
    Operator(
        "index_select",
        cases=[
            case(_X, 0, index([2, 0, 2])),
            case(_X, 1, index([3], "int32")),
            case(_X, -1, index(1)),
            case(
                tensor(),
                0,
                index(
                    [
                        0,
                    ]
                ),
            ),
            case(_X, 0, tensor(0, dtype="int64", grad=False)),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=[
            case(_X, 0, index([3])),
            case(_X, 0, index([-1])),
            case(_X, 0, index([[0]])),
            case(_X, 2, index([0])),
        ],
    ),
    Operator(
        "take",
        cases=[case(_X, index([[11, 0], [-1, 3]])), case(_X, index(5))],
        errors=[case(_X, index([12])), case(_X, index([0], "int32"))],
    ),
    Operator(
        "take_along_dim",
        cases=[
            case(_X, index([[0, 1, 2, 0]]), 0),
            case(_X, index([[0], [1], [3]]), 1),
            case(_X, index([[5]])),
        ],
        errors=[case(_X, index([0]), 0)],
    ),
    Operator(
        "masked_select",
        cases=[case(tensor(2, 3), MASK), case(tensor(3), MASK), case(tensor(3, 1), MASK)],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=[case(tensor(3), tensor(3))],
    ),
    Operator(
        "nonzero",
        cases=[
            case(tensor(2, 3, values=[[0, 1, 0], [2, 0, 3]])),
            case(tensor(values=1)),
            case(tensor(0, 2)),
        ],
        dtypes=("float32", "bool", "int64"),
        grad=False,
    ),
    Operator(
        "nonzero as tuple",
        call=lambda lib, x: lib.nonzero(x, as_tuple=True),
        cases=[case(tensor(2, 3, values=[[0, 1, 0], [2, 0, 3]])), case(tensor(values=1))],
        grad=False,
    ),
    Operator("argwhere", cases=[case(tensor(2, 2, values=[[0, 1], [2, 0]]))], grad=False),
    Operator(
        "where of one", call=lambda lib, x: lib.where(x > 0), cases=[case(tensor(2, 3))], grad=False
    ),
    Operator(
        "gather_nd",
        torch=lambda x, i: x[tuple(i.unbind(-1))],
        cases=[
            case(_X, index([[0, 1], [2, 3]])),
            case(_X, index([[0], [2]])),
            case(_X, index([[[0, 1]]])),
        ],
    ),
    Operator(
        "scatter_nd",
        torch=lambda i, u, shape: u.new_zeros(shape).index_put(
            tuple(i.unbind(-1)), u, accumulate=True
        ),
        cases=[
            case(index([[1], [1]]), tensor(2, 3), [3, 3]),
            case(index([[1, 2]]), tensor(1), [3, 3]),
        ],
    ),
    Operator(
        "tensor_scatter_nd_update",
        torch=lambda x, i, u: x.index_put(tuple(i.unbind(-1)), u),
        cases=[case(_X, index([[1, 0], [2, 2]]), tensor(2)), case(_X, index([[2]]), tensor(1, 4))],
    ),
    Operator(
        "batch_gather",
        torch=lambda x, i: x.gather(1, i[..., None].expand(-1, -1, x.shape[2])),
        cases=[case(tensor(2, 3, 2), index([[0, 2], [1, 1]]))],
    ),
]
