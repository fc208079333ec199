"""Orthogonal polynomials, Bessel functions and their relatives.

PyTorch has no gradients of them; `tests/primitives/test_special_functions.py` compares ours.
"""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

DEGREES = tensor(6, 1, values=[[0.0], [1.0], [2.0], [5.0], [9.7], [-1.0]])
POLYNOMIALS = (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
)
# Every way of computing them, and where one takes over from another.
# In float32: in float64 PyTorch's own are good to 8 digits.
NUMBERS = tensor(8, values=[0.0, 0.3, 1.9, 2.0, 7.5, 20.0, 25.0, 250.0])
BELOW = tensor(5, values=[-0.4, -3.0, -9.0, -12.0, -40.0])
FUNCTIONS = (
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "erfcx",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
)

OPERATORS = [
    *[
        Operator(
            f"special.{name}",
            cases=[
                case(tensor(3, low=-1.5, high=2.5), DEGREES),
                case(tensor(2, 3), 3),
                case(1.5, tensor(2, values=[3, 6])),
                case(tensor(2, dtype="int64", values=[2, 3]), tensor(2, dtype="int64")),
            ],
            dtypes=("float32", "float64"),
            grad=False,
            tolerance=10,
        )
        for name in POLYNOMIALS
    ],
    *[
        Operator(
            f"special.{name}",
            cases=[
                case(NUMBERS),
                case(BELOW),
                case(tensor(2, dtype="int64", values=[1, 3])),
                case(tensor(0, 2)),
            ],
            grad=False,
            tolerance=10,
        )
        for name in FUNCTIONS
    ],
    *[
        Operator(f"special.modified_bessel_{name}", cases=[case(tensor(2, 3))], grad=False)
        for name in ("i0", "i1")
    ],
]
