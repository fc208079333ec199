"""Rounding to what quantized numbers stand for."""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

# Ties between two numbers, and what is out of range.
TIES = tensor(9, values=[0.5, 1.5, -0.5, -1.5, 2.5, 100.0, -100.0, 0.0, -0.0])
SCALES = tensor(3, low=0.1, high=0.5, grad=False)
ZEROS = tensor(3, dtype="int32", values=[0, 3, -2], grad=False)
X = tensor(2, 3, 4)

OPERATORS = [
    Operator(
        "fake_quantize_per_tensor_affine",
        cases=[
            case(X, 0.1, 0, -8, 7),
            case(X, 0.25, 3, 0, 15),
            case(TIES, 1.0, 0, -2, 2),
            case(TIES, 1.0, 1, -2, 2),
            case(TIES, 0.5, 1, 0, 255),
            case(tensor(0, 3), 0.1, 0, -8, 7),
            case(
                X,
                tensor(1, dtype="float32", values=[0.1], grad=False),
                tensor(1, dtype="int32", values=[2], grad=False),
                -8,
                7,
            ),
        ],
        dtypes=("float32", "float64"),
        grad_dtypes=("float32",),
        errors=[
            case(X, 0.1, 0, 7, -8),
            case(X, 0.1, 9, -8, 7),
            case(tensor(3, dtype="int64"), 0.1, 0, -8, 7),
        ],
        second_grad=False,
    ),
    Operator(
        "fake_quantize_per_channel_affine",
        cases=[
            case(X, SCALES, ZEROS, 1, -8, 7),
            case(tensor(3, 2), SCALES, ZEROS, 0, -4, 4),
            case(X, SCALES, tensor(3, low=-2.0, high=2.0, grad=False), 1, -8, 7),
        ],
        grad_dtypes=("float32",),
        errors=[
            case(X, SCALES, ZEROS, 2, -8, 7),
            case(X, SCALES, ZEROS, 1, 7, -8),
            case(X, SCALES, tensor(2, dtype="int32", grad=False), 1, -8, 7),
        ],
        second_grad=False,
    ),
]
