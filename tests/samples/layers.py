"""Layers as functions: linear, embedding, attention, rearrangement of pixels."""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

F = "nn.functional."
ROWS = tensor(2, 3, dtype="int64", values=[0, 4, 1, 1, 2, 4])
FLAT = tensor(5, dtype="int64", values=[0, 4, 1, 1, 2])
STARTS = tensor(3, dtype="int64", values=[0, 2, 2])
TABLE = tensor(5, 4)
QUERY = tensor(2, 2, 3, 4)
DOUBLE = ("float32", "float64")

OPERATORS = [
    Operator(
        F + "linear",
        cases=[
            case(tensor(2, 3), tensor(4, 3), tensor(4)),
            case(tensor(2, 3), tensor(4, 3)),
            case(tensor(2, 1, 3), tensor(4, 3), tensor(4)),
            case(tensor(3), tensor(4, 3), tensor(4)),
            case(tensor(0, 3), tensor(4, 3), tensor(4)),
        ],
        dtypes=("float32", "float64", "bfloat16"),
        errors=[
            case(tensor(2, 3), tensor(4, 2), tensor(4)),
            case(tensor(2, 3), tensor(4, 3, dtype="float64")),
        ],
    ),
    Operator(
        F + "embedding",
        cases=[
            case(ROWS, TABLE),
            case(ROWS, TABLE, padding_idx=1),
            case(ROWS, TABLE, -1, scale_grad_by_freq=True),
            case(tensor(dtype="int64", values=3), TABLE),
            case(tensor(0, 2, dtype="int64"), TABLE),
            case(tensor(2, dtype="int32", values=[1, 3]), TABLE),
        ],
        dtypes=DOUBLE,
        errors=[
            case(tensor(2, dtype="int64", values=[0, 5]), TABLE),
            case(tensor(2, dtype="int64", values=[-1, 0]), TABLE),
            case(tensor(2), TABLE),
            case(ROWS, TABLE, 7),
        ],
        second_grad=False,
    ),
    Operator(
        F + "embedding_bag",
        cases=[
            case(ROWS, TABLE),
            case(FLAT, TABLE, STARTS, mode="sum"),
            case(FLAT, TABLE, STARTS, mode="max"),
            case(FLAT, TABLE, STARTS, mode="mean", padding_idx=1),
            case(FLAT, TABLE, STARTS, mode="sum", per_sample_weights=tensor(5)),
            case(ROWS, TABLE, mode="sum", per_sample_weights=tensor(2, 3)),
            case(
                FLAT,
                TABLE,
                tensor(3, dtype="int64", values=[0, 3, 5]),
                include_last_offset=True,
            ),
            case(FLAT, TABLE, tensor(3, dtype="int32", values=[0, 0, 5])),
        ],
        dtypes=DOUBLE,
        errors=[
            case(FLAT, TABLE),
            case(ROWS, TABLE, STARTS),
            case(FLAT, TABLE, STARTS, mode="product"),
            case(FLAT, TABLE, STARTS, mode="mean", per_sample_weights=tensor(5)),
            case(FLAT, TABLE, STARTS, mode="sum", per_sample_weights=tensor(5, dtype="float64")),
            case(FLAT, TABLE, tensor(2, dtype="int64", values=[1, 2])),
            case(FLAT, TABLE, tensor(2, dtype="int64", values=[0, 6])),
            case(FLAT, TABLE, tensor(2, dtype="int64", values=[0, -1]), mode="sum"),
            case(FLAT, TABLE, tensor(2)),
            case(FLAT, TABLE, tensor(2, 1, dtype="int64", values=[0, 2])),
            case(FLAT, TABLE, tensor(0, dtype="int64"), include_last_offset=True),
            case(FLAT, tensor(4, 4), STARTS),
            case(FLAT, tensor(5, 4, 1), STARTS),
            case(FLAT, TABLE, STARTS, padding_idx=5),
            case(FLAT, TABLE, STARTS, padding_idx=-6),
        ],
        second_grad=False,
    ),
    Operator(
        F + "scaled_dot_product_attention",
        cases=[
            case(tensor(2, 3, 4), tensor(2, 5, 4), tensor(2, 5, 6)),
            case(*[tensor(2, 2, 4, 3)] * 3, is_causal=True, scale=0.5),
            case(
                QUERY, QUERY, QUERY, tensor(3, 3, values=[1, 0, 1, 0, 1, 0, 1, 1, 1], dtype="bool")
            ),
            case(QUERY, QUERY, QUERY, tensor(2, 1, 3, 3)),
            case(QUERY, tensor(2, 1, 3, 4), tensor(2, 1, 3, 4), enable_gqa=True),
            case(
                *(tensor(2, 4, 3, 4), tensor(2, 2, 3, 4), tensor(2, 2, 3, 4)),
                tensor(2, 1, 3, 3),
                enable_gqa=True,
            ),
            case(
                *(tensor(4, 3, 4), tensor(1, 2, 5, 4), tensor(1, 2, 5, 4)),
                enable_gqa=True,
            ),
            case(
                *(tensor(1, 4, 3, 4), tensor(3, 2, 5, 4), tensor(3, 2, 5, 4)),
                enable_gqa=True,
            ),
            case(*(tensor(0, 4, 3, 4), *[tensor(0, 2, 5, 4)] * 2), enable_gqa=True),
            case(*(tensor(2, 4, 0, 4), *[tensor(2, 2, 5, 4)] * 2), enable_gqa=True),
        ],
        dtypes=("float32", "float64", "bfloat16"),
        errors=[
            case(QUERY, tensor(2, 2, 3, 5), QUERY),
            case(QUERY, QUERY, tensor(2, 2, 3, 4, dtype="float64")),
        ],
        second_grad=False,
    ),
    Operator(
        F + "bilinear",
        cases=[
            case(tensor(3, 2), tensor(3, 4), tensor(5, 2, 4), tensor(5)),
            case(tensor(2, 3, 2), tensor(2, 3, 4), tensor(5, 2, 4)),
        ],
        dtypes=DOUBLE,
        errors=[
            case(tensor(3, 2), tensor(3, 3), tensor(5, 2, 4)),
            case(tensor(3, 2), tensor(2, 4), tensor(5, 2, 4)),
        ],
    ),
    Operator(
        F + "unfold",
        cases=[
            case(tensor(2, 2, 4, 5), 2),
            case(tensor(2, 2, 4, 5), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1)),
            case(tensor(2, 4, 5), 3),
        ],
        dtypes=DOUBLE,
        errors=[case(tensor(1, 2, 4, 5), 6), case(tensor(1, 2, 4, 5), 0)],
    ),
    Operator(
        F + "fold",
        cases=[
            case(tensor(2, 8, 12), (4, 5), 2),
            case(tensor(2, 12, 3), (4, 4), (2, 3), dilation=(1, 2), padding=1, stride=2),
            case(tensor(8, 12), (4, 5), 2),
        ],
        dtypes=DOUBLE,
        errors=[case(tensor(2, 7, 12), (4, 5), 2), case(tensor(2, 8, 11), (4, 5), 2)],
    ),
    Operator(
        F + "pixel_shuffle",
        cases=[case(tensor(2, 8, 2, 3), 2), case(tensor(4, 1, 2), 2)],
        dtypes=DOUBLE,
        errors=[case(tensor(2, 6, 2, 3), 2), case(tensor(2, 3), 2), case(tensor(4, 2, 2), 0)],
    ),
    Operator(
        F + "pixel_unshuffle",
        cases=[case(tensor(2, 2, 4, 6), 2), case(tensor(1, 2, 4), 2)],
        dtypes=DOUBLE,
        errors=[case(tensor(2, 2, 3, 6), 2), case(tensor(2, 4), 2), case(tensor(1, 2, 2), 0)],
    ),
    Operator(
        F + "channel_shuffle",
        cases=[case(tensor(2, 4, 2), 2), case(tensor(1, 6, 2, 2), 3)],
        errors=[case(tensor(2, 4, 2), 3), case(tensor(2, 4, 2), 0)],
    ),
]
