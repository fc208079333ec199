"""Arithmetic and other functions of two operands."""

from __future__ import annotations

import operator

from tests.samples.table import ALL, INTEGERS, REAL, Operator, case, tensor

# Broadcast, number, 0-size, 0-dim, mixed dtypes, not contiguous.
BINARY = [
    case(tensor(2, 3), tensor(3)),
    case(tensor(2, 3), 1.5),
    case(tensor(), tensor(2, 1)),
    case(tensor(0, 3), tensor(1, 3)),
    case(tensor(2, 3, dtype="int64", low=1), tensor(3)),
    case(tensor(2, 3, layout="transposed"), tensor(2, 3, layout="expanded")),
    case(tensor(2, 3, dtype="int64", low=1), 1.5),
    case(tensor(2, 3, dtype="int64", low=1), 2),
    case(tensor(2, 3, dtype="bool"), tensor(3, dtype="int8")),
]
TENSORS = [sample for sample in BINARY if not isinstance(sample.args[1], int | float)]
ERRORS = [case(tensor(2, 3), tensor(2)), case(tensor(2), "text"), case(tensor(2), None)]
SPECIAL = tensor(4, 1, values=[float("nan"), float("inf"), -1.5, -0.0], grad=False)
SPECIAL_ROW = tensor(5, values=[float("nan"), float("-inf"), 0.0, 2.0, -1.5], grad=False)
NOT_NUMBERS = case(SPECIAL, SPECIAL_ROW)
# The divisor keeps away from 0.
DIVISION = [
    case(tensor(2, 3, low=-9, high=9), tensor(3, low=1, high=5)),
    case(tensor(2, 3, low=-9, high=9), -2.5),
    case(tensor(), tensor(2, 1, low=1)),
    case(tensor(0, 3), tensor(1, 3, low=1)),
    case(tensor(2, 3, low=-9, high=9, dtype="int64"), 2),
    case(tensor(2, 3, low=-9, high=9, dtype="int64"), -2),
    case(tensor(2, 3, low=-9, high=9, dtype="int64"), 0.5),
    case(tensor(2, 3, dtype="int64", low=-9, high=9), tensor(3, dtype="int32", low=1, high=4)),
    NOT_NUMBERS,
    case(
        tensor(4, values=[-3.0, 3.0, 0.0, -2.5], grad=False),
        tensor(4, values=[float("inf"), float("-inf"), float("inf"), float("-inf")], grad=False),
    ),
]
BY_ZERO = [
    case(tensor(2, dtype="int64"), 0),
    case(tensor(2, dtype="int64"), tensor(2, dtype="int64", values=[1, 0])),
]

COMPLEX_PAIR = tensor(2, dtype="complex64")

OPERATORS = [
    Operator(
        "add",
        cases=[
            *BINARY,
            NOT_NUMBERS,
            case(tensor(2, 3), tensor(3), alpha=2.5),
            case(COMPLEX_PAIR, COMPLEX_PAIR, alpha=2 - 1j),
            case(1, tensor(2)),
        ],
        dtypes=ALL,
        errors=[
            *ERRORS,
            case(tensor(2, dtype="int64"), 1, alpha=1.5),
            case(tensor(2), tensor(2), alpha=1j),
        ],
    ),
    Operator(
        "sub",
        cases=[*BINARY[:-1], case(tensor(2, 3), tensor(3), alpha=2), case(1.5, tensor(2))],
        dtypes=ALL,
        errors=[*ERRORS, case(tensor(2, dtype="bool"), tensor(2, dtype="bool"))],
    ),
    Operator("rsub", cases=[case(tensor(2, 3), tensor(3)), case(tensor(2), 2.5, alpha=2)]),
    Operator("mul", cases=[*BINARY, NOT_NUMBERS, case(2, tensor(2))], dtypes=ALL, errors=ERRORS),
    Operator(
        "div",
        cases=[
            *DIVISION,
            *[case(*sample.args, rounding_mode="floor") for sample in DIVISION],
            *[case(*sample.args, rounding_mode="trunc") for sample in DIVISION],
        ],
        dtypes=ALL,
        errors=[*ERRORS, *[case(*sample.args, rounding_mode="trunc") for sample in BY_ZERO]],
    ),
    Operator(
        "div_rounding_gradient",
        call=lambda lib, x, y, mode: lib.div(x, y, rounding_mode=mode),
        cases=[case(tensor(2, 3), tensor(3, low=1), "floor"), case(tensor(2), 0.7, "trunc")],
    ),
    Operator("floor_divide", cases=DIVISION, dtypes=REAL, errors=[*ERRORS, *BY_ZERO], grad=False),
    Operator(
        "remainder", cases=[*DIVISION, case(2, tensor(3, low=1))], dtypes=REAL, errors=BY_ZERO
    ),
    Operator("fmod", cases=DIVISION, dtypes=REAL, errors=[*ERRORS, *BY_ZERO]),
    Operator(
        "pow",
        cases=[
            case(tensor(2, 3, low=0.5), tensor(3)),
            case(tensor(2, 3, low=0.5), 1.7),
            *[case(tensor(3), number) for number in (2, 3.0, -1, -2, 1, 0, 4)],
            *[case(tensor(3, low=0.1), number) for number in (0.5, -0.5)],
            case(2.5, tensor(3)),
            case(tensor(0, 3), tensor(1, 3)),
            case(tensor(4, values=[0.0, 0.0, 0.0, 2.0]), tensor(4, values=[0.0, 2.0, 1.0, 0.0])),
            case(tensor(3, dtype="int64"), 2),
            case(tensor(3, dtype="int64"), 0.5),
            case(tensor(3, dtype="int64"), tensor(3, dtype="int64", low=-3)),
            case(2, tensor(3, dtype="int64", low=0)),
            NOT_NUMBERS,
        ],
        dtypes=("float32", "float64", "float16", "complex64"),
        errors=[
            case(tensor(2, dtype="int64"), -1),
            case(tensor(2, dtype="bool"), tensor(2, dtype="bool")),
            case(tensor(2), tensor(3)),
        ],
    ),
    Operator(
        "pow_modulo_integers",
        call=lambda lib, x, y: lib.pow(x, y),
        cases=[
            case(tensor(3, dtype="int64", values=[3, -5, 2]), 300),
            case(
                tensor(4, dtype="int32", values=[3, -5, 2, 1]),
                tensor(4, dtype="int32", values=[2**30 + 1, 64, 65, 100]),
            ),
            case(tensor(2, dtype="uint8", values=[3, 7]), 200),
        ],
        dtypes=("int64",),
        grad=False,
    ),
    Operator(
        "float_power",
        cases=[case(tensor(2, 3, low=0.5), tensor(3)), case(tensor(2), 2)],
        dtypes=REAL,
    ),
    Operator(
        "addcmul",
        cases=[
            case(tensor(2, 3), tensor(3), tensor(2, 1)),
            case(tensor(2, 3), tensor(3), tensor(2, 1), value=2.5),
            case(COMPLEX_PAIR, COMPLEX_PAIR, COMPLEX_PAIR, value=2 - 1j),
        ],
        dtypes=REAL,
        errors=[case(tensor(2), tensor(3), tensor(2))],
    ),
    Operator(
        "addcdiv",
        cases=[
            case(tensor(2, 3), tensor(3), tensor(2, 1, low=1)),
            case(tensor(2, 3), tensor(3), tensor(2, 1, low=1), value=2.5),
            case(COMPLEX_PAIR, COMPLEX_PAIR, COMPLEX_PAIR, value=2 - 1j),
        ],
        dtypes=("float32", "float64", "float16"),
        errors=[case(tensor(2), tensor(2, dtype="int64"), tensor(2, dtype="int64"))],
    ),
    Operator(
        "lerp",
        cases=[
            case(tensor(2, 3), tensor(3), tensor(2, 1, low=0, high=1)),
            case(tensor(2, 3), tensor(3), 0.25),
            case(tensor(2, 3), tensor(3), 0.75),
            case(COMPLEX_PAIR, COMPLEX_PAIR, 0.5 + 0.5j),
            case(tensor(dtype="int64"), tensor(dtype="int64"), tensor()),
        ],
        dtypes=("float32", "float64", "float16", "bfloat16", "complex64"),
        errors=[case(tensor(2), tensor(2, dtype="float64"), 0.5), case(tensor(2), tensor(3), 0.5)],
    ),
    *[
        Operator(name, cases=[*TENSORS, NOT_NUMBERS], dtypes=REAL, errors=ERRORS[:1])
        for name in ("atan2", "copysign", "xlogy")
    ],
    *[
        Operator(
            name,
            cases=[*TENSORS[:3], case(tensor(2, 3, layout="strided"), tensor(3)), NOT_NUMBERS],
            dtypes=("float32", "float64", "float16", "bfloat16"),
            errors=ERRORS[:1],
        )
        for name in ("hypot", "logaddexp", "logaddexp2")
    ],
    Operator(
        "nextafter",
        cases=[TENSORS[0], NOT_NUMBERS, case(SPECIAL_ROW, SPECIAL_ROW)],
        dtypes=("float32", "float64"),
    ),
    Operator("heaviside", cases=[TENSORS[0], case(SPECIAL_ROW, tensor(1))], grad=False),
    *[
        Operator(
            f"bitwise_{side}_shift",
            cases=[case(tensor(4, values=[100, 3, 0, 77]), number) for number in (1, 7, 8, 31, 100)]
            + [
                case(tensor(3, dtype="uint8", values=[200, 3, 255]), number)
                for number in (7, 8, 99)
            ],
            dtypes=INTEGERS,
        )
        for side in ("left", "right")
    ],
    *[
        Operator(
            f"{name} of nothing by 0",
            call=lambda lib, x, y, name=name: getattr(lib, name)(x, y),
            cases=[case(tensor(0, 2), 0), case(tensor(0, 2), tensor(2, values=[0, 1]))],
            dtypes=("int64",),
        )
        for name in ("floor_divide", "fmod", "remainder")
    ],
    Operator("gcd", cases=[case(tensor(2, 3, low=-9, high=9), tensor(3))], dtypes=INTEGERS),
    # The smallest integer of a type has no positive counterpart.
    Operator(
        "gcd of smallest integers",
        call=lambda lib, x, y: lib.gcd(x, y),
        cases=[
            case(
                tensor(4, dtype=kind, values=[lowest, 3, lowest, 0]),
                tensor(4, dtype=kind, values=[3, lowest, lowest, lowest]),
            )
            for kind, lowest in (("int8", -(2**7)), ("int64", -(2**63)))
        ],
        dtypes=("int64",),
    ),
    Operator("lcm", cases=[case(tensor(2, 3, low=-5, high=5), tensor(3))], dtypes=INTEGERS),
    # Not of negative exponents, of which PyTorch's gradient is 0.
    Operator("ldexp", cases=[case(tensor(2, 3), tensor(3, dtype="int32", low=0))]),
    Operator("frexp", cases=[case(tensor(2, 3, low=-50, high=50))]),
    Operator(
        "ldexp_to_what_half_precision_holds",
        call=lambda lib, x, y: lib.ldexp(x, y),
        cases=[case(tensor(2, values=[1e-4, 0.5]), tensor(2, dtype="int64", values=[20, -3]))],
        dtypes=("float32", "float64", "float16", "bfloat16"),
        grad=False,
    ),
    Operator("complex", cases=[case(tensor(2, 3), tensor(3))], dtypes=("float32", "float64")),
    Operator(
        "polar", cases=[case(tensor(2, 3, low=0.1), tensor(3))], dtypes=("float32", "float64")
    ),
    *[
        Operator(
            f"operator {symbol}",
            call=lambda lib, x, y, compute=compute: compute(x, y),
            cases=[
                case(tensor(2, 3, low=1), tensor(3, low=1)),
                case(tensor(2, 3, low=1), 2),
                case(tensor(2, 3, low=1), 1.5),
                case(2, tensor(2, 3, low=1)),
            ],
            dtypes=REAL,
            # PyTorch has no gradient for these.
            grad=symbol not in ("//", "%"),
            errors=[case(tensor(2), "text"), case(tensor(2), None)],
        )
        for symbol, compute in (
            ("+", operator.add),
            ("-", operator.sub),
            ("*", operator.mul),
            ("/", operator.truediv),
            ("//", operator.floordiv),
            ("%", operator.mod),
            ("**", operator.pow),
            ("<", operator.lt),
            ("<=", operator.le),
            (">", operator.gt),
            (">=", operator.ge),
        )
    ],
    *[
        Operator(
            f"operator {symbol}",
            call=lambda lib, x, y, compute=compute: compute(x, y),
            cases=[
                case(tensor(2, 3, low=0), tensor(3, low=0)),
                case(tensor(2, low=0), 3),
                case(5, tensor(2, low=0)),
            ],
            dtypes=("int64", "int32", "uint8", *(("bool",) if symbol in "&|^" else ())),
            errors=[case(tensor(2, dtype="float32"), 1)],
        )
        for symbol, compute in (
            ("&", operator.and_),
            ("|", operator.or_),
            ("^", operator.xor),
            ("<<", operator.lshift),
            (">>", operator.rshift),
        )
    ],
    *[
        Operator(
            f"operator {symbol}=",
            call=lambda lib, x, y, compute=compute: compute(x, y),
            cases=[
                case(tensor(2, 3, grad=False, low=1), tensor(3, grad=False, low=1)),
                case(tensor(2, low=1, grad=False), 2),
            ],
            dtypes=("float32",) if symbol == "/" else ("float32", "int64"),
            errors=[case(tensor(3), tensor(2, 3))],
        )
        for symbol, compute in (
            ("+", operator.iadd),
            ("-", operator.isub),
            ("*", operator.imul),
            ("/", operator.itruediv),
            ("//", operator.ifloordiv),
            ("%", operator.imod),
            ("**", operator.ipow),
        )
    ],
    Operator(
        "operator ==",
        call=lambda lib, x, y: [x == y, x != y],
        cases=[*BINARY[:4], case(tensor(2), 1)],
        dtypes=ALL,
    ),
]
