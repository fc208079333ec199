"""Inverses, equations, decompositions and norms."""

import math

from tests.samples.table import Operator, case, tensor

_V, _M, _N, _B = tensor(3), tensor(2, 3), tensor(3, 2), tensor(2, 2, 3)
_S = tensor(3, 3)
_BATCH = tensor(2, 3, 3)
_INT = tensor(3, 3, dtype="int64")
_HALF = tensor(3, 3, dtype="float16")
_SINGULAR = tensor(2, 2, values=[[1.0, 2.0], [2.0, 4.0]])
_NOT_SQUARE = [case(_M), case(_V), case(_INT), case(_HALF), case(1.0)]
_DTYPES = ("float64", "float32", "complex128")


def _positive(lib, x):
    """A positive definite matrix made of any."""
    return x @ x.mH + 2 * lib.diag_embed(lib.ones_like(x[..., 0]))


def _of_positive(name, *args, **kwargs):
    """Call the function `name` of `linalg` on a positive definite matrix."""
    return lambda lib, x: getattr(lib.linalg, name)(_positive(lib, x), *args, **kwargs)


def _sizes(result):
    """The absolute values, which are the same for every choice of the vectors' signs."""
    return tuple(abs(part) for part in result)


EQUATIONS = [
    Operator(
        "linalg.inv",
        cases=[case(_S), case(_BATCH), case(tensor(0, 0))],
        dtypes=_DTYPES,
        errors=[*_NOT_SQUARE, case(_SINGULAR)],
        tolerance=20,
    ),
    Operator("inverse", cases=[case(_S)], dtypes=("float64",), tolerance=20),
    Operator(
        "linalg.det",
        cases=[case(_S), case(_BATCH), case(tensor(0, 0)), case(tensor(4, 4))],
        dtypes=_DTYPES,
        errors=_NOT_SQUARE,
        tolerance=20,
    ),
    Operator(
        "linalg.slogdet",
        cases=[case(_S), case(_BATCH), case(tensor(0, 0))],
        dtypes=_DTYPES,
        errors=_NOT_SQUARE,
        tolerance=20,
    ),
    Operator("logdet", cases=[case(tensor(2, 2, values=[[2.0, 1.0], [1.0, 3.0]])), case(_BATCH)]),
    Operator(
        "linalg.solve",
        cases=[
            case(_S, _V),
            case(_S, tensor(3, 2)),
            case(_BATCH, tensor(2, 3)),
            case(_S, tensor(2, 3, 1)),
            case(_S, tensor(2, 3), left=False),
        ],
        dtypes=_DTYPES,
        errors=[
            case(_S, tensor(2)),
            case(_S, tensor()),
            case(_M, tensor(2)),
            case(_S, tensor(3, dtype="float16")),
            case(_SINGULAR, tensor(2)),
        ],
        tolerance=50,
    ),
    Operator(
        "linalg.solve_triangular",
        cases=[
            case(_S, tensor(3, 2), upper=True),
            case(_BATCH, tensor(2, 3), upper=False, left=False),
            case(_S, tensor(3, 2), upper=False, unitriangular=True),
        ],
        dtypes=_DTYPES,
        errors=[case(_S, _V, upper=True), case(_S, _M, upper=True)],
        tolerance=50,
    ),
    Operator(
        "linalg.matrix_power",
        cases=[case(_S, 3), case(_BATCH, -2), case(_S, 1)],
        dtypes=("float64", "complex128"),
        errors=[case(_M, 2), case(_INT, -1), case(_S, 0.5)],
        tolerance=50,
    ),
    Operator("matrix_power", cases=[case(_S, 0), case(_BATCH, 0), case(_INT, 3)]),
    Operator(
        "linalg.vecdot",
        cases=[case(_M, _V), case(_M, _M, dim=0)],
        dtypes=_DTYPES,
        errors=[case(_M, tensor(2)), case(_INT, _INT), case(_M, tensor(3, dtype="float16"))],
    ),
    Operator(
        "linalg.cross",
        cases=[case(_M, _M), case(_N, _N, dim=0)],
        errors=[case(_M, _V), case(_N, _N)],
    ),
    Operator("linalg.diagonal", cases=[case(_BATCH), case(_BATCH, offset=1, dim1=0, dim2=2)]),
]

DECOMPOSITIONS = [
    Operator(
        "linalg.cholesky",
        cases=[case(_S), case(_BATCH)],
        dtypes=_DTYPES,
        call=_of_positive("cholesky"),
        tolerance=20,
    ),
    Operator(
        "cholesky_upper",
        cases=[case(_S)],
        dtypes=_DTYPES,
        call=_of_positive("cholesky", upper=True),
    ),
    Operator(
        "cholesky",
        cases=[case(tensor(2, 2, values=[[2.0, 9.0], [1.0, 3.0]])), case(tensor(0, 0))],
        dtypes=("float64",),
        errors=[case(_M), case(_V), case(_HALF), case(1.0), case(_SINGULAR)],
    ),
    Operator(
        "cholesky_solve",
        cases=[case(_N, _S), case(_N, _S, upper=True)],
        dtypes=("float64", "complex128"),
        call=lambda lib, b, x, upper=False: lib.cholesky_solve(
            b, lib.linalg.cholesky(_positive(lib, x), upper=upper), upper
        ),
        tolerance=20,
    ),
    Operator(
        "cholesky_inverse",
        cases=[case(tensor(2, 2, low=1)), case(tensor(2, 2, low=1), True)],
        dtypes=("float64",),
        # PyTorch's gradient has a part in the triangle that it does not look at.
        call=lambda lib, x, upper=False: lib.cholesky_inverse(
            x.triu() if upper else x.tril(), upper
        ),
        tolerance=20,
        variants=False,
    ),
    Operator(
        "linalg.qr",
        cases=[case(_N), case(_M), case(_BATCH), case(_M, "complete"), case(tensor(0, 2))],
        dtypes=_DTYPES,
        errors=[case(_V), case(_INT), case(_S, "half")],
        tolerance=20,
    ),
    Operator("qr", cases=[case(_N), case(_M, False)], dtypes=("float64",), tolerance=20),
    Operator(
        "linalg.svd",
        cases=[case(_N), case(_M), case(_BATCH), case(_M, False), case(tensor(0, 2))],
        dtypes=("float64", "float32"),
        call=lambda lib, x, *args: _sizes(lib.linalg.svd(x, *args)),
        tolerance=50,
    ),
    Operator(
        "svd",
        cases=[case(_N), case(_M, False), case(_M, compute_uv=False)],
        dtypes=("float64",),
        call=lambda lib, x, *args, **kwargs: _sizes(lib.svd(x, *args, **kwargs)),
        grad=False,
        variants=False,
    ),
    Operator(
        "linalg.svdvals",
        cases=[case(_N), case(_BATCH), case(tensor(0, 2))],
        dtypes=_DTYPES,
        errors=[case(_V), case(_INT), case(_HALF)],
        tolerance=50,
    ),
    Operator(
        "linalg.eigh",
        cases=[case(_S), case(_BATCH)],
        dtypes=("float64", "float32"),
        call=lambda lib, x: _sizes(lib.linalg.eigh(_positive(lib, x))),
        tolerance=50,
    ),
    Operator(
        "linalg.eigvalsh",
        cases=[case(_S), case(_S, "U"), case(tensor(0, 0))],
        dtypes=_DTYPES,
        errors=[case(_M), case(_V), case(_HALF), case(_S, "Q")],
        grad=False,
        tolerance=50,
    ),
    Operator(
        "eigvalsh_gradient",
        cases=[case(_S)],
        dtypes=_DTYPES,
        call=_of_positive("eigvalsh"),
        tolerance=50,
    ),
    Operator(
        "linalg.eig",
        cases=[case(_S), case(tensor(0, 0))],
        dtypes=("float64", "complex128"),
        call=lambda lib, x: _sizes(lib.linalg.eig(x)),
        errors=[case(_M), case(_V), case(_HALF)],
        grad_dtypes=("float64",),
        second_grad=False,
        tolerance=50,
    ),
    Operator("linalg.eigvals", cases=[case(_S)], dtypes=("float64",), tolerance=50),
    Operator(
        "linalg.pinv",
        cases=[
            case(_N),
            case(_M),
            case(_BATCH),
            case(_SINGULAR),
            case(_M, 0.5),
            case(tensor(0, 2)),
        ],
        dtypes=_DTYPES,
        errors=[case(_V), case(_INT), case(_HALF)],
        tolerance=100,
    ),
    Operator(
        "pinv_hermitian",
        cases=[case(_S)],
        dtypes=_DTYPES,
        call=_of_positive("pinv", hermitian=True),
        tolerance=100,
    ),
    Operator(
        "linalg.matrix_rank",
        cases=[
            case(_N),
            case(_SINGULAR),
            case(_BATCH, 1.5),
            case(tensor(0, 2)),
            case(_S, rtol=0.5),
        ],
        dtypes=_DTYPES,
        errors=[case(_V), case(_INT), case(_HALF)],
    ),
    Operator(
        "linalg.lstsq",
        cases=[
            case(_N, tensor(3, 1)),
            case(_M, tensor(2, 2)),
            case(tensor(2, 3, 2), tensor(2, 3, 1)),
            case(tensor(2, 3, 2), tensor(2, 3, 1), driver="gels"),
        ],
        dtypes=("float64", "complex128"),
        errors=[case(_N, tensor(2, 1))],
        tolerance=100,
        grad=False,
    ),
    Operator(
        "linalg.cond",
        cases=[case(_S), case(_M, -2)],
        dtypes=("float64", "float32"),
        errors=[case(_M, 1), case(_S, 3), case(_V)],
        tolerance=100,
        second_grad=False,
    ),
    Operator(
        "cond_of_inverse",
        cases=[case(_S, 1), case(_S, "fro"), case(_SINGULAR, float("inf"))],
        dtypes=("float64",),
        call=lambda lib, *args: lib.linalg.cond(*args),
        tolerance=100,
        grad=False,  # PyTorch cannot: it writes over what its own backward pass needs
    ),
]

_INFINITY = float("inf")

NORMS = [
    Operator(
        "dist",
        cases=[case(_M, _M), case(_M, tensor(3), 1), case(_M, _M, _INFINITY), case(_M, _M, 0.5)],
        dtypes=("float64", "float32"),
        tolerance=50,
    ),
    Operator(
        "renorm",
        cases=[
            case(_B, 2, 0, 0.5),
            case(_B, 1, -1, 1.0),
            case(_M, 3.5, 1, 0.7),
            case(_M, _INFINITY, 0, 9.0),
            case(_M, 2, 0, 0.0),
        ],
        dtypes=("float64", "float32"),
        tolerance=50,
        errors=[case(tensor(3), 2, 0, 1.0), case(_M, 0, 0, 1.0), case(_M, 2, 0, -1.0)],
    ),
    Operator(
        "linalg.vector_norm",
        cases=[
            case(_M),
            case(_M, 3.5, 0),
            case(_M, 1, (0, 1), True),
            case(_M, _INFINITY, -1),
            case(_M, -_INFINITY),
            case(_M, 0, 1),
            case(tensor(0), 2),
            case(_M, dtype=None),
        ],
        dtypes=("float64", "float32", "float16", "complex128"),
        errors=[case(_INT), case(tensor(0), _INFINITY), case(_M, "fro"), case(tensor(0), -2)],
    ),
    Operator(
        "linalg.matrix_norm",
        cases=[
            case(_B),
            case(_M, "nuc"),
            case(_B, 2, (0, 2), True),
            case(_M, -2),
            case(_B, 1, (2, 0), True),
            case(_B, -_INFINITY),
            case(tensor(0, 2), 2),
            case(tensor(0, 2, grad=False), _INFINITY),
            case(tensor(2, 0, grad=False), 1),
        ],
        dtypes=("float64", "float32", "complex128"),
        errors=[
            case(tensor(0, 2), -2),
            case(_V),
            case(_INT),
            case(_M, 3),
            case(_M, "x"),
            case(_M, dim=(0, 0)),
            case(_M, dim=(0,)),
            case(_M, dim=(0, 2)),
        ],
        tolerance=20,
    ),
    Operator(
        "linalg.norm",
        cases=[case(_B), case(_M, 1), case(_V, 3), case(_B, dim=(0, 1)), case(_B, "nuc", (0, 1))],
        errors=[case(_B, 2), case(_B, dim=(0, 1, 2)), case(_V, "fro"), case(_INT)],
        tolerance=20,
    ),
    Operator(
        "norm",  # and the method
        cases=[
            case(_M),
            case(_M, 1),
            case(_B, "fro", (0, 1)),
            case(_M, "nuc"),
            case(_M, 3, 1, True),
            case(_V, 0.5),
            case(tensor(0, 3)),
        ],
        errors=[case(_INT), case(_M, dim=4)],
        tolerance=20,
    ),
    Operator(
        "cdist",
        cases=[
            case(_M, tensor(4, 3)),
            case(_B, tensor(2, 1, 3), 1.0),
            case(_M, _M, 3.5),
            case(_M, _M, math.inf),
        ],
        dtypes=("float64", "float32"),
        errors=[case(_M, _N), case(_INT, _INT), case(_V, _M), case(_M, _M, -1.0)],
        tolerance=20,
        second_grad=False,
        vary_numbers=False,  # Orders 1 and 2 are functions of their own.
    ),
    Operator(
        "pdist",
        cases=[
            case(_M),
            case(tensor(4, 3), 1.0),
            case(_M, 3.5),
            case(_M, math.inf),
            case(tensor(1, 2)),
            case(tensor(3, 0)),
        ],
        dtypes=("float64", "float32"),
        errors=[case(_V), case(_INT), case(_M, -1.0)],
        tolerance=20,
        second_grad=False,
        vary_numbers=False,
    ),
]

OPERATORS = [*EQUATIONS, *DECOMPOSITIONS, *NORMS]
