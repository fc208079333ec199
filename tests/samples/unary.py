"""Functions of one number, tests of numbers, comparison, logic and choosing."""

from __future__ import annotations

from tests.samples.arithmetic import NOT_NUMBERS, SPECIAL_ROW
from tests.samples.table import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    REAL,
    REAL_AND_BOOL,
    Operator,
    case,
    tensor,
)


def unary(name, low=-2.0, high=2.0, dtypes=REAL_AND_BOOL, errors=(), extra=(), **options):
    """A row for a function of one tensor: shapes, special values, memory layouts."""
    return Operator(
        name,
        cases=[
            case(tensor(2, 3, low=low, high=high)),
            case(tensor(low=low, high=high)),
            case(tensor(3, 2, low=low, high=high, layout="transposed")),
            case(SPECIAL_ROW),
            case(tensor(0, 3)),
            *extra,
        ],
        dtypes=dtypes,
        errors=[case("text"), case(1.0), *errors],
        **options,
    )


WITH_COMPLEX = (*REAL_AND_BOOL, *COMPLEX)
NO_BOOLS = [case(tensor(2, dtype="bool"))]
NO_COMPLEX = [case(tensor(2, dtype="complex64"))]

FUNCTIONS = [
    *[
        unary(name, dtypes=WITH_COMPLEX)
        for name in ("exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "asinh", "atan")
    ],
    *[
        unary(name, low=0.2, dtypes=WITH_COMPLEX)
        for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")
    ],
    *[unary(name, low=-1.2, high=1.2, dtypes=WITH_COMPLEX) for name in ("tan", "sinc")],
    *[unary(name, low=-0.9, high=0.9, dtypes=WITH_COMPLEX) for name in ("asin", "acos", "atanh")],
    unary("acosh", low=1.1, high=3.0, dtypes=WITH_COMPLEX),
    *[unary(name) for name in ("erf", "erfc", "deg2rad", "rad2deg")],
    unary("erfinv", low=-0.9, high=0.9),
    unary("lgamma", low=0.2, high=4.0, tolerance=10),
    unary("digamma", low=0.2, high=4.0, tolerance=10),
    Operator(
        "digamma_below_0",
        call=lambda lib, x: lib.digamma(x),
        cases=[case(tensor(4, values=[-8.478, -0.5, -100.3, -1.75]))],
        tolerance=10,
    ),
    unary("i0", tolerance=10),
    unary("logit", low=0.1, high=0.9),
    Operator(
        "special.zeta",
        cases=[
            case(tensor(3, low=1.5, high=4), tensor(3, low=0.5, high=4)),
            case(tensor(5, values=[2, 3, 1, 2, 2.5]), tensor(5, values=[-8.478, -0.5, 2, -3, -2])),
        ],
        grad=False,
        tolerance=10,
    ),
    Operator(
        "logit_clamped",
        call=lambda lib, x, eps: lib.logit(x, eps),
        cases=[case(tensor(2, 3, low=-0.5, high=1.5), 0.2)],
    ),
    Operator(
        "polygamma",
        call=lambda lib, n, x: lib.polygamma(n, x),
        cases=[
            *(case(n, tensor(3, low=0.5, high=4)) for n in (1, 0, 2)),
            *(case(n, tensor(4, values=[-8.478, -0.5, -100.3, -1.75])) for n in (1, 2, 3)),
        ],
        errors=[case(-1, tensor(2))],
        tolerance=10,
    ),
    Operator("mvlgamma", cases=[case(tensor(3, low=2, high=5), 2)], tolerance=10),
    unary("square", dtypes=WITH_COMPLEX),
    unary("neg", dtypes=(*REAL, *COMPLEX), errors=NO_BOOLS),
    unary("abs", dtypes=(*REAL, *COMPLEX), errors=NO_BOOLS),
    unary("positive", dtypes=(*REAL, *COMPLEX), errors=NO_BOOLS),
    unary("sign", errors=NO_COMPLEX),
    unary("sgn", dtypes=WITH_COMPLEX),
    *[
        unary(
            name,
            low=-3,
            high=3,
            dtypes=REAL,
            errors=[*NO_BOOLS, *NO_COMPLEX],
            extra=[case(tensor(6, values=[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))],
        )
        for name in ("floor", "ceil", "trunc", "round")
    ],
    Operator(
        "round_decimals",
        call=lambda lib, x, decimals: lib.round(x, decimals=decimals),
        cases=[case(tensor(2, 3, low=-50, high=50), decimals) for decimals in (1, -1)],
        errors=[case(tensor(2, dtype="int64"), 1)],
    ),
    unary("frac", dtypes=FLOATS, errors=[case(tensor(2, dtype="int64"))]),
    unary(
        "nan_to_num",
        extra=[case(SPECIAL_ROW, nan=1.5, posinf=9.0, neginf=-9.0), case(SPECIAL_ROW, 2.5)],
        tolerance=1,
    ),
    unary("angle", dtypes=WITH_COMPLEX),
    *[
        unary(name, dtypes=(*REAL, *COMPLEX))
        for name in ("conj_physical", "resolve_conj", "resolve_neg")
    ],
    *[Operator(name, cases=[case(tensor(2))]) for name in ("is_conj", "is_neg")],
    Operator("Tensor.polygamma", cases=[case(tensor(3, low=0.5, high=4), 1)], tolerance=10),
    Operator("conj", cases=[case(tensor(2, 3))], dtypes=("complex64", "float32")),
    *[
        Operator(
            f"special.{name}",
            cases=[case(tensor(2, 3, low=low, high=high)), case(SPECIAL_ROW)],
            tolerance=10,
        )
        for name, low, high in (
            ("entr", 0.1, 2),
            ("i0e", -2, 2),
            ("i1", -2, 2),
            ("i1e", -2, 2),
            ("ndtr", -2, 2),
            ("ndtri", 0.1, 0.9),
            ("log_ndtr", -4, 2),
        )
    ],
    *[
        Operator(
            f"special.{name}",
            cases=[case(tensor(2, 3, low=1.2, high=3), tensor(3, low=0.5, high=3))],
            grad=name == "xlog1py",
            tolerance=10,
        )
        for name in ("xlog1py", "zeta", "gammainc", "gammaincc")
    ],
]

TESTS = [
    *[unary(name, dtypes=WITH_COMPLEX) for name in ("isnan", "isinf", "isfinite", "isreal")],
    *[unary(name) for name in ("isposinf", "isneginf", "signbit")],
    unary("logical_not", dtypes=WITH_COMPLEX),
    unary("bitwise_not", dtypes=(*INTEGERS, *BOOL), errors=[case(tensor(2, dtype="float32"))]),
]

PAIRS = [
    case(tensor(2, 3, low=-3, high=3), tensor(3, low=-3, high=3)),
    case(tensor(), tensor(2, 1)),
    case(tensor(0, 3), tensor(1, 3)),
    case(tensor(2, 3, dtype="int32"), tensor(3, dtype="float64")),
]
NUMBERS = [case(tensor(2, 3), 1), case(tensor(2, 3), 0.5), case(tensor(2, 3, dtype="int64"), 0.5)]
ERRORS = [case(tensor(2), tensor(3)), case(tensor(2), "text"), case(tensor(2), None)]
UNORDERED = case(tensor(2, dtype="complex64"), tensor(2))

COMPARISONS = [
    *[
        Operator(
            name,
            cases=[*PAIRS, *NUMBERS, NOT_NUMBERS],
            dtypes=REAL_AND_BOOL,
            errors=[*ERRORS, UNORDERED],
        )
        for name in ("lt", "le", "gt", "ge")
    ],
    *[
        Operator(name, cases=[*PAIRS, *NUMBERS, NOT_NUMBERS], dtypes=ALL, errors=ERRORS)
        for name in ("eq", "ne")
    ],
    *[
        Operator(f"logical_{name}", cases=[*PAIRS, NOT_NUMBERS], dtypes=ALL, errors=ERRORS)
        for name in ("and", "or", "xor")
    ],
    *[
        Operator(
            f"bitwise_{name}",
            cases=[*PAIRS[:3], case(tensor(3), 1)],
            dtypes=(*INTEGERS, *BOOL),
            errors=[*ERRORS, case(tensor(2, dtype="float32"), 1)],
        )
        for name in ("and", "or", "xor")
    ],
    *[
        Operator(
            f"bitwise_{name}_shift",
            cases=[case(tensor(2, 3), tensor(3, low=0)), case(tensor(3), 1)],
            dtypes=INTEGERS,
            errors=[case(tensor(2, dtype="float32"), 1)],
        )
        for name in ("left", "right")
    ],
    Operator(
        "isclose",
        cases=[
            case(tensor(2, 3), tensor(3), atol=0.5),
            case(tensor(2, 3), tensor(3), rtol=0.5),
            case(SPECIAL_ROW, SPECIAL_ROW, equal_nan=True),
            case(SPECIAL_ROW, SPECIAL_ROW),
        ],
        dtypes=REAL,
        errors=[case(tensor(2), tensor(2, dtype="float64")), case(tensor(2), tensor(2), atol=-1.0)],
    ),
    Operator(
        "allclose",
        cases=[
            case(tensor(2, 3), tensor(2, 3), atol=0.5),
            case(SPECIAL_ROW, SPECIAL_ROW, equal_nan=True),
        ],
        errors=[case(tensor(2), tensor(2, dtype="float64"))],
    ),
    Operator(
        "equal",
        cases=[
            case(tensor(2, 3), tensor(2, 3)),
            case(tensor(2, values=[1, 2]), tensor(2, values=[1, 2])),
            case(tensor(2), tensor(3)),
        ],
    ),
    Operator("is_same_size", cases=[case(tensor(2, 3), tensor(2, 3)), case(tensor(2), tensor(3))]),
]

TIED = tensor(4, values=[1.0, 2.0, 3.0, 2.0])
LEVEL = tensor(4, values=[2.0, 2.0, 2.0, 2.0])
CHOOSING = [
    *[
        Operator(
            name,
            cases=[*PAIRS, case(TIED, LEVEL), NOT_NUMBERS],
            dtypes=REAL_AND_BOOL,
            errors=[*ERRORS[:2], UNORDERED],
        )
        for name in ("maximum", "minimum", "fmax", "fmin")
    ],
    Operator(
        "clamp",
        cases=[
            case(tensor(2, 3), -1.0, 1.0),
            case(tensor(2, 3), -1, 1),
            case(TIED, 2.0, 2.5),
            case(tensor(2, 3), 1.0, -1.0),
            case(tensor(2, 3), tensor(3, low=-1, high=0), tensor(2, 1, low=0.1)),
            case(tensor(2, 3), None, 1.0),
            case(tensor(2, 3), max=tensor(3)),
            case(tensor(2, 3), min=tensor(3)),
            case(SPECIAL_ROW, -1.0, 1.0),
            case(tensor(0, 3), 0.0),
            case(tensor(2, 3, dtype="int64"), 0.5, 1.5),
            case(tensor(2, 3, dtype="int64"), min=0),
        ],
        dtypes=REAL,
        errors=[
            case(tensor(2)),
            case(tensor(2), "text"),
            case(tensor(2), tensor(3)),
            case(tensor(2, dtype="complex64"), 0, 1),
        ],
    ),
    Operator("clamp_min", cases=[case(tensor(2, 3), 0.5), case(TIED, tensor(4))], dtypes=REAL),
    Operator("clamp_max", cases=[case(tensor(2, 3), 0.5), case(TIED, tensor(4))], dtypes=REAL),
    Operator(
        "where",
        cases=[
            case(tensor(2, 3, dtype="bool"), tensor(3), tensor(2, 1)),
            case(tensor(2, 3, dtype="bool"), tensor(3), 1.5),
            case(tensor(2, 3, dtype="bool"), 2.0, tensor(3, dtype="int64")),
            case(tensor(3, dtype="bool"), 1.0, 0.0),
            case(tensor(dtype="bool"), tensor(3), tensor(0, 3)),
            case(tensor(2, 3, dtype="bool")),
        ],
        dtypes=ALL,
        errors=[case(tensor(2), tensor(2), tensor(2)), case(tensor(2, dtype="bool"), tensor(3), 1)],
        variants=False,
    ),
    Operator("Tensor.where", cases=[case(tensor(3), tensor(2, 3, dtype="bool"), tensor(3))]),
]

OPERATORS = [*FUNCTIONS, *TESTS, *COMPARISONS, *CHOOSING]
