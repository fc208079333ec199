"""Convolutions and transposed convolutions."""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

F = "nn.functional."
DOUBLE = ("float32", "float64")
ROW, IMAGE, VOLUME = tensor(2, 2, 7), tensor(2, 2, 6, 5), tensor(1, 2, 4, 3, 4)
FEW, ONE = tensor(2, 4, 5, 5), tensor(2, 1, 6, 6)

OPERATORS = [
    Operator(
        F + "conv1d",
        cases=[
            case(ROW, tensor(3, 2, 3), tensor(3)),
            case(ROW, tensor(3, 2, 3), None, 2, 1, 2),
            case(ROW, tensor(4, 1, 2), tensor(4), groups=2),
            case(ROW, tensor(3, 2, 4), padding="same"),
            case(tensor(2, 7), tensor(3, 2, 3), tensor(3)),
        ],
        dtypes=DOUBLE,
        errors=[
            case(ROW, tensor(3, 4, 3)),
            case(ROW, tensor(3, 2, 9)),
            case(ROW, tensor(3, 2, 3), tensor(2)),
            case(ROW, tensor(3, 2, 3), stride=2, padding="same"),
            case(IMAGE, tensor(3, 2, 3)),
        ],
    ),
    Operator(
        F + "conv2d",
        cases=[
            case(IMAGE, tensor(3, 2, 3, 2), tensor(3)),
            case(IMAGE, tensor(3, 2, 3, 3), tensor(3), padding=1),
            case(IMAGE, tensor(3, 2, 3, 2), None, (2, 1), (1, 0), (1, 2)),
            case(IMAGE, tensor(4, 2, 1, 1), tensor(4)),
            case(IMAGE, tensor(4, 2, 1, 1), stride=2),
            case(FEW, tensor(4, 1, 3, 3), tensor(4), padding=1, groups=4),
            case(FEW, tensor(4, 1, 3, 3), stride=2, padding=1, groups=4),
            case(FEW, tensor(8, 1, 3, 3), padding=1, groups=4),
            case(FEW, tensor(6, 2, 2, 2), groups=2),
            case(ONE, tensor(3, 1, 5, 5), tensor(3), padding=2),
            case(ONE, tensor(3, 1, 3, 3), stride=2, dilation=2),
            case(FEW, tensor(2, 4, 5, 5)),
            case(FEW, tensor(2, 4, 4, 4), tensor(2)),
            # Large kernels on small images, where the gradient in the image is added up by rows.
            case(IMAGE, tensor(3, 2, 4, 3)),
            case(tensor(2, 1, 7, 8), tensor(2, 1, 4, 5), padding=(1, 0), dilation=(1, 1)),
            case(IMAGE, tensor(3, 2, 2, 3), padding="same"),
            case(IMAGE, tensor(3, 2, 2, 3), padding="valid"),
            case(tensor(2, 6, 5), tensor(3, 2, 3, 2), tensor(3)),
            case(tensor(0, 2, 4, 4), tensor(3, 2, 3, 3)),
        ],
        dtypes=(*DOUBLE, "bfloat16"),
        errors=[
            case(IMAGE, tensor(3, 3, 2, 2)),
            case(FEW, tensor(6, 2, 2, 2), groups=3),
            case(IMAGE, tensor(3, 2, 2, 2), stride=0),
            case(IMAGE, tensor(3, 2, 2, 2, dtype="float64")),
            case(IMAGE, tensor(3, 2, 2, 2), padding=-1),
        ],
    ),
    Operator(
        F + "conv3d",
        cases=[
            case(VOLUME, tensor(3, 2, 2, 2, 2), tensor(3)),
            case(VOLUME, tensor(2, 1, 3, 1, 2), None, (2, 1, 1), (1, 0, 1), groups=2),
        ],
        dtypes=DOUBLE,
        errors=[case(VOLUME, tensor(3, 2, 5, 2, 2))],
    ),
    Operator(
        F + "conv_transpose1d",
        cases=[
            case(ROW, tensor(2, 3, 3), tensor(3)),
            case(ROW, tensor(2, 2, 3), None, 3, 1, 2, groups=2),
        ],
        dtypes=DOUBLE,
        errors=[case(ROW, tensor(3, 2, 3)), case(ROW, tensor(2, 3, 3), output_padding=2)],
    ),
    Operator(
        F + "conv_transpose2d",
        cases=[
            case(IMAGE, tensor(2, 3, 3, 2), tensor(3)),
            case(IMAGE, tensor(2, 3, 3, 3), None, 2, 1, 1),
            case(IMAGE, tensor(2, 3, 2, 2), stride=(2, 1), dilation=(1, 2)),
            case(FEW, tensor(4, 2, 3, 3), tensor(4), padding=1, groups=2),
            case(FEW, tensor(4, 1, 2, 2), stride=2, groups=4),
            case(tensor(2, 6, 5), tensor(2, 3, 3, 2)),
        ],
        dtypes=DOUBLE,
        errors=[case(IMAGE, tensor(3, 2, 3, 3)), case(IMAGE, tensor(2, 3, 3, 3), stride=0)],
    ),
    Operator(
        F + "conv_transpose3d",
        cases=[case(VOLUME, tensor(2, 2, 2, 2, 3), tensor(2), 2, 1, (1, 0, 1))],
        dtypes=DOUBLE,
        errors=[case(VOLUME, tensor(3, 2, 2, 2, 2))],
    ),
]
