"""Pooling in windows, adaptive pooling and its inverse."""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

F = "nn.functional."
DOUBLE = ("float32", "float64")
LARGE = tensor(1, 2, 5, 4, 5)
ROW, IMAGE, VOLUME = tensor(2, 2, 7), tensor(2, 2, 6, 4), tensor(1, 2, 4, 3, 4)
ODD = tensor(1, 2, 5, 7)
INF = float("inf")
TIES = tensor(1, 1, 4, 4, values=[1, 1, 0, 2, 1, 1, 2, 2, 0, -1, -1, 0, -1, -INF, -INF, -INF])
NAN = tensor(1, 1, 2, 4, values=[1, float("nan"), 3, 0, 2, 0, INF, 1], grad=False)

# The random numbers of each plane and dimension, for windows at random places.
SAMPLES_2D = tensor(2, 2, 2, low=0.0, high=1.0, grad=False)
SAMPLES_3D = tensor(1, 2, 3, low=0.0, high=1.0, grad=False)

OPERATORS = [
    Operator(
        F + "max_pool1d",
        cases=[
            case(ROW, 2),
            case(ROW, 3, 2, 1),
            case(ROW, 2, 1, dilation=2, ceil_mode=True),
            case(tensor(2, 6), 2),
            case(ROW, 3, 2, return_indices=True),
        ],
        dtypes=DOUBLE,
        errors=[case(ROW, 3, 2, 2), case(tensor(2, 2, 1), 3), case(ROW, 0)],
    ),
    Operator(
        F + "max_pool2d",
        cases=[
            case(IMAGE, 2),
            case(IMAGE, (3, 2)),
            case(IMAGE, 3, 2, 1),
            case(IMAGE, 3, 1, 1),
            case(IMAGE, 2, (2, 1), (1, 0), (1, 2)),
            case(ODD, 2, ceil_mode=True),
            case(ODD, 3, 2, 1, ceil_mode=True),
            case(ODD, 2),
            case(TIES, 2),
            case(NAN, 2),
            case(IMAGE, 3, 2, 1, return_indices=True),
            case(tensor(2, 6, 4), 2),
            case(tensor(0, 2, 4, 4), 2),
        ],
        dtypes=(*DOUBLE, "bfloat16"),
        errors=[case(IMAGE, 7), case(IMAGE, 2, padding=2), case(IMAGE, 2, 0)],
    ),
    Operator(
        F + "max_pool3d",
        cases=[case(VOLUME, 2), case(VOLUME, (2, 3, 2), (1, 2, 2), (1, 1, 0), ceil_mode=True)],
        dtypes=DOUBLE,
        errors=[case(VOLUME, 5)],
    ),
    Operator(
        F + "max_pool2d_with_indices",
        cases=[case(IMAGE, 3, 2, 1)],
        dtypes=("float64",),
    ),
    Operator(
        F + "adaptive_max_pool2d_with_indices",
        cases=[case(IMAGE, 3)],
        dtypes=("float64",),
    ),
    Operator(
        F + "fractional_max_pool2d",
        cases=[
            case(IMAGE, 2, 3, _random_samples=SAMPLES_2D),
            case(IMAGE, (3, 2), (2, 1), return_indices=True, _random_samples=SAMPLES_2D),
            case(IMAGE, 2, output_ratio=(0.5, 0.75), _random_samples=SAMPLES_2D),
            case(
                tensor(2, 6, 4),
                2,
                2,
                _random_samples=tensor(1, 2, 2, low=0.0, high=1.0, grad=False),
            ),
            case(
                tensor(2, 2, 4, 4, values=[*range(30), float("nan"), 0] * 2, grad=False),
                2,
                3,
                _random_samples=SAMPLES_2D,
            ),
        ],
        dtypes=("float64", "float32"),
        errors=[
            case(IMAGE, 2),
            case(IMAGE, 2, 7),
            case(IMAGE, 2, 2, _random_samples=tensor(1, 2, 2)),
        ],
    ),
    Operator(
        F + "fractional_max_pool3d",
        cases=[
            case(LARGE, 2, 2, _random_samples=SAMPLES_3D),
            case(
                LARGE, (2, 1, 2), output_ratio=0.7, return_indices=True, _random_samples=SAMPLES_3D
            ),
        ],
        dtypes=("float64",),
        errors=[case(VOLUME, 2), case(VOLUME, 3, 3)],
    ),
    Operator(
        F + "avg_pool1d",
        cases=[case(ROW, 2), case(ROW, 3, 2, 1), case(ROW, 3, 2, 1, True, False)],
        dtypes=DOUBLE,
        errors=[case(ROW, 9), case(ROW, 2, 1, 2)],
    ),
    Operator(
        F + "avg_pool2d",
        cases=[
            case(IMAGE, 2),
            case(IMAGE, 3, 2, 1),
            case(IMAGE, 3, 2, 1, count_include_pad=False),
            case(ODD, 2, ceil_mode=True),
            case(ODD, (2, 3), (1, 2), divisor_override=3),
            case(tensor(2, 6, 4), 2),
        ],
        dtypes=DOUBLE,
        errors=[case(IMAGE, 7)],
    ),
    Operator(
        F + "avg_pool3d",
        cases=[case(VOLUME, 2), case(VOLUME, 2, 1, 1, count_include_pad=False)],
        dtypes=DOUBLE,
        errors=[case(VOLUME, 5)],
    ),
    Operator(
        F + "lp_pool1d",
        cases=[case(tensor(2, 2, 6, low=0.5, high=2.0), 2.0, 2)],
        dtypes=DOUBLE,
        vary_numbers=False,  # Common powers are functions of their own.
    ),
    Operator(
        F + "lp_pool2d",
        cases=[case(tensor(1, 2, 4, 4, low=0.5, high=2.0), 3.0, 2, 1)],
        dtypes=DOUBLE,
        vary_numbers=False,  # Common powers are functions of their own.
    ),
    Operator(
        F + "lp_pool3d",
        cases=[case(tensor(1, 2, 4, 4, 3, low=0.5, high=2.0), 3.0, 2, 1)],
        dtypes=DOUBLE,
        vary_numbers=False,  # Common powers are functions of their own.
    ),
    *(
        Operator(
            F + f"adaptive_{kind}_pool{dims}d",
            cases=[case(x, 1), case(x, sizes)],
            dtypes=DOUBLE,
            errors=[case(tensor(3), 1)] if kind == "max" or dims == 1 else [],
        )
        for kind in ("avg", "max")
        for dims, x, sizes in (
            (1, ROW, 3),
            (2, ODD, (3, 7)),
            (3, VOLUME, (2, 2, 3)),
        )
    ),
    Operator(
        F + "max_unpool2d",
        cases=[
            case(
                tensor(1, 1, 2, 2),
                tensor(1, 1, 2, 2, dtype="int64", values=[0, 3, 9, 14]),
                2,
            )
        ],
        dtypes=DOUBLE,
    ),
]
