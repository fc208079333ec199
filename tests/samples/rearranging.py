"""Copies with elements in other places."""

from __future__ import annotations

from tests.samples.shaping import MOVED
from tests.samples.table import Operator, case, tensor

OPERATORS = [
    Operator(
        "flip",
        cases=[
            case(tensor(2, 3), (0,)),
            case(tensor(2, 3), (-1, 0)),
            case(tensor(2, 3), ()),
            case(tensor(), ()),
        ],
        dtypes=MOVED,
        errors=[case(tensor(2), (1,)), case(tensor(2), (0, 0))],
    ),
    Operator("fliplr", cases=[case(tensor(2, 3))], errors=[case(tensor(2))]),
    Operator("flipud", cases=[case(tensor(2, 3))], errors=[case(tensor())]),
    Operator(
        "roll",
        cases=[
            case(tensor(2, 3), 1),
            case(tensor(2, 3), (1, -2), (0, 1)),
            case(tensor(4), 6, 0),
            case(tensor(2, 3), (1, 1), (0, 0)),
            case(tensor(0, 2), 1, 0),
        ],
        dtypes=MOVED,
        errors=[case(tensor(2, 3), (1, 2)), case(tensor(2, 3), 1, (0, 1)), case(tensor(2), 1, 1)],
    ),
    Operator(
        "rot90",
        cases=[
            case(tensor(2, 3)),
            case(tensor(2, 3), 2),
            case(tensor(2, 3), -1, (1, 0)),
            case(tensor(2, 3), 4),
        ],
        errors=[case(tensor(2)), case(tensor(2, 2), 1, (0, 0)), case(tensor(2, 2), 1, (0,))],
    ),
    Operator(
        "Tensor.repeat",
        cases=[
            case(tensor(2, 3), 2, 1),
            case(tensor(2), (2, 3)),
            case(tensor(2), 0),
            case(tensor(), 2),
        ],
        dtypes=MOVED,
        errors=[case(tensor(2, 3), 2), case(tensor(2), -1)],
    ),
    Operator(
        "tile", cases=[case(tensor(2, 3), (2,)), case(tensor(2), (2, 2)), case(tensor(2), ())]
    ),
    Operator(
        "repeat_interleave",
        cases=[
            case(tensor(2, 3), 2),
            case(tensor(2, 3), 2, 1),
            case(tensor(2, 3), tensor(2, dtype="int64", values=[0, 2]), 0),
            case(tensor(3), tensor(3, dtype="int64", values=[1, 0, 2])),
            case(tensor(4, 0), tensor(0, dtype="int64", values=[]), 1),
            case(tensor(3, dtype="int64", values=[1, 0, 2])),
            case(tensor(2), 0),
            case(tensor(2), tensor(1, dtype="int64", values=[2]), dim=0, output_size=4),
        ],
        errors=[
            case(tensor(2), -1),
            case(tensor(2), tensor(3, dtype="int64", values=[1, 1, 1]), 0),
        ],
    ),
    *(
        Operator(
            name,
            cases=[
                case(tensor(3, 3)),
                case(tensor(2, 4), 1),
                case(tensor(2, 3, 2), -1),
                case(tensor(0, 2)),
            ],
            dtypes=MOVED,
            errors=[case(tensor(3))],
        )
        for name in ("tril", "triu")
    ),
    Operator(
        "diag",
        cases=[case(tensor(3)), case(tensor(3, 3)), case(tensor(2, 3), 1), case(tensor(2), -1)],
        errors=[case(tensor()), case(tensor(1, 2, 3))],
    ),
    Operator(
        "diag_embed",
        cases=[
            case(tensor(2)),
            case(tensor(2, 3), 1),
            case(tensor(2, 3), -1, 0, 2),
            case(tensor(2), tensor(dtype="int64", values=1)),
        ],
        errors=[case(tensor(2), 0, 1, 1)],
    ),
    Operator("diagflat", cases=[case(tensor(2, 2)), case(tensor(2), 1)]),
    Operator(
        "Tensor.fill_diagonal_",
        call=lambda lib, x, *a: x.clone().fill_diagonal_(*a),
        cases=[
            case(tensor(3, 3), 5.0),
            case(tensor(7, 3), 5.0, True),
            case(tensor(7, 3), 5.0),
            case(tensor(2, 2, 2), 1.0),
        ],
        errors=[case(tensor(3), 1.0)],
    ),
]
