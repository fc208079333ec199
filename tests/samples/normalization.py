"""Normalisation: by batch, layer, group, instance, root mean square and neighbours."""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

F = "nn.functional."
DOUBLE = ("float32", "float64")
ROWS, IMAGES, FOUR = tensor(4, 3), tensor(2, 3, 2, 3), tensor(2, 4, 3)
MEAN = tensor(3, grad=False)
VARIANCE = tensor(3, low=0.5, high=2.0, grad=False)
WEIGHT, BIAS = tensor(3, low=0.5, high=2.0), tensor(3)

OPERATORS = [
    Operator(
        F + "batch_norm",
        cases=[
            case(ROWS, MEAN, VARIANCE, WEIGHT, BIAS, True),
            case(ROWS, MEAN, VARIANCE, WEIGHT, BIAS),
            case(ROWS, MEAN, VARIANCE),
            case(IMAGES, MEAN, VARIANCE, WEIGHT, BIAS, True, 0.3, 1e-3),
            case(IMAGES, None, None, WEIGHT, BIAS, training=True),
            case(IMAGES, MEAN, VARIANCE, WEIGHT, BIAS),
            case(IMAGES, None, None, training=True),
        ],
        dtypes=DOUBLE,
        errors=[
            case(tensor(1, 3), MEAN, VARIANCE, training=True),
            case(ROWS, tensor(4, grad=False), VARIANCE),
            case(ROWS, None, None),
        ],
        tolerance=10,
    ),
    Operator(
        F + "layer_norm",
        cases=[
            case(ROWS, (3,), WEIGHT, BIAS),
            case(ROWS, (3,)),
            case(IMAGES, (2, 3), tensor(2, 3), tensor(2, 3), 1e-2),
            case(IMAGES, (3, 2, 3)),
            case(tensor(0, 3), (3,), WEIGHT, BIAS),
        ],
        large=case(tensor(9, 131), (131,), tensor(131, low=0.5), tensor(131)),
        dtypes=(*DOUBLE, "bfloat16", "float16"),
        errors=[case(ROWS, (4,)), case(ROWS, (3,), tensor(4))],
        tolerance=10,
    ),
    Operator(
        F + "group_norm",
        cases=[
            case(FOUR, 2, tensor(4), tensor(4)),
            case(FOUR, 4),
            case(tensor(2, 4, 2, 3), 1, tensor(4), None, 1e-2),
        ],
        large=case(tensor(3, 6, 131), 2, tensor(6), tensor(6)),
        dtypes=DOUBLE,
        errors=[case(FOUR, 3)],
        tolerance=10,
    ),
    Operator(
        F + "instance_norm",
        cases=[
            case(IMAGES),
            case(IMAGES, MEAN, VARIANCE, WEIGHT, BIAS),
            case(IMAGES, MEAN, VARIANCE, WEIGHT, BIAS, False),
            case(tensor(2, 3, 4), None, None, WEIGHT, BIAS),
        ],
        dtypes=DOUBLE,
        errors=[case(tensor(2, 3, 1))],
        tolerance=10,
    ),
    Operator(
        F + "rms_norm",
        cases=[case(ROWS, (3,), WEIGHT), case(IMAGES, (2, 3)), case(ROWS, (3,), WEIGHT, 1e-2)],
        large=case(tensor(9, 131), (131,), tensor(131, low=0.5)),
        dtypes=DOUBLE,
        errors=[case(ROWS, (4,))],
        tolerance=10,
    ),
    Operator(
        F + "local_response_norm",
        cases=[case(tensor(2, 4, 3), 2), case(tensor(1, 4, 2, 2), 3, 1e-3, 0.5, 2.0)],
        dtypes=DOUBLE,
        tolerance=10,
        vary_numbers=False,  # Common powers are functions of their own.
    ),
]
