"""Putting tensors together and taking them apart."""

from __future__ import annotations

from tests.samples.shaping import MOVED
from tests.samples.table import Operator, case, tensor

_PAIR = [tensor(2, 3), tensor(2, 3)]
_SPLIT_ERRORS = [case(tensor(), 1), case(tensor(4), 0), case(tensor(4), 2, 1)]

OPERATORS = [
    Operator(
        "cat",
        cases=[
            case(_PAIR),
            case([tensor(2, 1), tensor(2, 3)], 1),
            case([tensor(0), tensor(2, 3)]),
            case([tensor(2), tensor(3, dtype="int64")]),
            case([tensor(0, 3), tensor(2, 3)], dim=-2),
            case(tensors=(tensor(2), tensor(1))),
        ],
        dtypes=MOVED,
        errors=[
            case([]),
            case([tensor(2, 3), tensor(2, 2)]),
            case([tensor(), tensor()]),
            case(tensor(2)),
            case([tensor(2), 1]),
            case([tensor(2), tensor(2)], 1),
        ],
    ),
    Operator("concat", cases=[case(_PAIR, -1)]),
    Operator(
        "stack",
        cases=[
            case(_PAIR),
            case(_PAIR, 1),
            case(_PAIR, -1),
            case([tensor(), tensor()]),
            case([tensor(2), tensor(2, dtype="int64")]),
        ],
        dtypes=MOVED,
        errors=[case([]), case([tensor(2), tensor(3)]), case(_PAIR, 3)],
    ),
    Operator(
        "hstack", cases=[case([tensor(2), tensor(1)]), case(_PAIR), case([tensor(), tensor()])]
    ),
    Operator("vstack", cases=[case([tensor(2), tensor(2)]), case(_PAIR)]),
    Operator("row_stack", cases=[case([tensor(2), tensor(2)])]),
    Operator("dstack", cases=[case([tensor(2), tensor(2)]), case(_PAIR)]),
    Operator("column_stack", cases=[case([tensor(2), tensor(2)]), case([tensor(), tensor()])]),
    Operator(
        "block_diag",
        cases=[
            case(tensor(2, 2), tensor(1, 3), tensor()),
            case(tensor(2, 2), tensor(dtype="float64")),
            case(tensor(2, 2), tensor(1, 1, dtype="float64"), tensor(1, dtype="int64")),
        ],
    ),
    Operator(
        "split",
        cases=[
            case(tensor(5, 2), 2),
            case(tensor(2, 5), [1, 4], 1),
            case(tensor(4), 4),
            case(tensor(0, 2), 3),
            case(tensor(3), [0, 3]),
        ],
        dtypes=MOVED,
        errors=[*_SPLIT_ERRORS, case(tensor(4), [1, 2]), case(tensor(4), [-1, 5])],
    ),
    Operator(
        "chunk",
        cases=[
            case(tensor(5, 2), 2),
            case(tensor(2, 6), 3, -1),
            case(tensor(2), 4),
            case(tensor(0, 2), 2),
        ],
        errors=[*_SPLIT_ERRORS],
    ),
    Operator(
        "tensor_split",
        cases=[
            case(tensor(5, 2), 3),
            case(tensor(5), [1, 3]),
            case(tensor(2, 4), (3, 1), 1),
            case(tensor(2), 4),
            case(tensor(5), [-2]),
        ],
        errors=[case(tensor(4), 0), case(tensor(), 1)],
    ),
    Operator(
        "hsplit",
        cases=[case(tensor(2, 4), 2), case(tensor(4), [1])],
        errors=[case(tensor(2, 3), 2), case(tensor(), 1)],
    ),
    Operator(
        "vsplit", cases=[case(tensor(4, 2), 2)], errors=[case(tensor(3), 1), case(tensor(3, 2), 2)]
    ),
    Operator("dsplit", cases=[case(tensor(1, 2, 4), 2)], errors=[case(tensor(3, 2), 1)]),
    Operator(
        "unbind",
        cases=[case(tensor(2, 3)), case(tensor(2, 3), 1), case(tensor(0, 3))],
        dtypes=MOVED,
        errors=[case(tensor()), case(tensor(2), 1)],
    ),
    Operator(
        "meshgrid",
        cases=[
            case(tensor(2), tensor(3)),
            case(tensor(2), tensor(3), indexing="xy"),
            case(tensor(2), tensor(), indexing="ij"),
            case([tensor(2), tensor(1)]),
        ],
        errors=[case(tensor(2, 2)), case(tensor(2), indexing="yx")],
    ),
    Operator(
        "broadcast_tensors",
        cases=[case(tensor(2, 1), tensor(3)), case(tensor())],
        errors=[case(tensor(2), tensor(3))],
    ),
    Operator(
        "broadcast_shapes",
        cases=[case((2, 1), (3,)), case((1,), ()), case()],
        errors=[case((2,), (3,))],
        values=False,
        call=lambda lib, *shapes: tuple(lib.broadcast_shapes(*shapes)),
    ),
    Operator(
        "cartesian_prod",
        cases=[case(tensor(2), tensor(3)), case(tensor(2))],
        errors=[case(tensor(2, 2))],
    ),
    Operator(
        "combinations",
        cases=[case(tensor(4)), case(tensor(3), 2, True), case(tensor(3), 3)],
        errors=[case(tensor(2, 2))],
    ),
    *(
        Operator(
            f"atleast_{n}d",
            cases=[
                case(tensor()),
                case(tensor(2)),
                case(tensor(2, 2)),
                case([tensor(), tensor(3)]),
            ],
        )
        for n in (1, 2, 3)
    ),
]
