"""Factorizations by exchanging rows and by reflections, and equations solved with them."""

import math

from tests.samples.table import Operator, case, tensor

_S, _M, _N, _BATCH = tensor(3, 3), tensor(2, 3), tensor(3, 2), tensor(2, 3, 3)
_DTYPES = ("float64", "float32", "complex128")
_NO_MATRIX = [case(tensor(3)), case(1.0)]
_BAD = [*_NO_MATRIX, case(tensor(3, 3, dtype="int64"))]
_WITHOUT_PIVOT = tensor(2, 2, values=[[0.0, 1.0], [0.0, 2.0]], grad=False)
# Only a block of two columns can begin.
_INDEFINITE = tensor(3, 3, values=[[0.0, 2.0, 1.0], [2.0, 0.0, 0.5], [1.0, 0.5, 1.0]], grad=False)
_SINGULAR = tensor(2, 2, values=[[1.0, 2.0], [2.0, 4.0]])


def _positive(lib, x):
    return x @ x.mH + 2 * lib.diag_embed(lib.ones_like(x[..., 0]))


def _product_of_low_rank(name):
    """The product of the factors, which does not depend on the sample of the range."""

    def product(lib, x, *args, **options):
        u, s, v = getattr(lib, name)(x, *args, **options)
        return (u * s[..., None, :]) @ v.mH, s

    return product


def _ldl_solved(lib, a, b, **options):
    return lib.linalg.ldl_solve(*lib.linalg.ldl_factor(a, **options), b, **options)


def _row(name, cases, **options):
    options.setdefault("tolerance", 50)
    options.setdefault("dtypes", _DTYPES)
    return Operator(name, cases=cases, **options)


OPERATORS = [
    _row(
        "svd_lowrank",
        [
            case(_S, 3),
            case(_BATCH, 3, 1),
            case(tensor(4, 2)),
            case(_M, 2, M=_M),
            case(_SINGULAR, 1),
            case(_M, None, 0),
        ],
        call=_product_of_low_rank("svd_lowrank"),
        grad=False,
    ),
    _row(
        "pca_lowrank",
        [case(tensor(5, 3)), case(tensor(2, 5, 3), 3, False, 1), case(_N, 2)],
        call=_product_of_low_rank("pca_lowrank"),
        errors=[case(_S, 4), case(_S, -1), case(_S, 2, True, -1)],
        grad=False,
    ),
    _row("linalg.lu", [case(_S), case(_BATCH), case(_M), case(_N)], errors=_NO_MATRIX),
    _row(
        "linalg.lu_factor",
        [case(_S), case(_BATCH), case(_M)],
        errors=[*_NO_MATRIX, case(tensor(2, 2, values=[[0.0, 0.0], [0.0, 0.0]]))],
    ),
    _row("linalg.lu_factor_ex", [case(_S), case(_WITHOUT_PIVOT)]),
    _row(
        "lu_unpack",
        [
            case(_S),
            case(_N),
            case(tensor(3, 3, grad=False), unpack_data=False),
            case(_S, unpack_pivots=False),
        ],
        call=lambda lib, x, **options: lib.lu_unpack(*lib.linalg.lu_factor(x), **options),
    ),
    _row(
        "linalg.lu_solve",
        [
            case(_S, _N),
            case(_BATCH, tensor(2, 3, 1)),
            case(_S, _M, left=False),
            case(_S, _N, adjoint=True),
            case(_S, _M, left=False, adjoint=True),
        ],
        call=lambda lib, a, b, **options: lib.linalg.lu_solve(
            *lib.linalg.lu_factor(a), b, **options
        ),
    ),
    _row(
        "lu_solve",
        [case(_S, _N)],
        call=lambda lib, a, b: lib.lu_solve(b, *lib.linalg.lu_factor(a)),
    ),
    _row(
        "triangular_solve",
        [
            case(_N, _S),
            case(_N, _S, False),
            case(_N, _S, True, True),
            case(_N, _S, True, False, True),
        ],
        dtypes=("float64", "float32"),
    ),
    _row("linalg.inv_ex", [case(_S), case(_BATCH, check_errors=True)], errors=_BAD),
    _row(
        "linalg.solve_ex",
        [
            case(_S, tensor(3)),
            case(_S, _M, left=False),
            case(_S, tensor(3), check_errors=True),
        ],
        errors=[case(_SINGULAR, tensor(2), check_errors=True)],
    ),
    _row(
        "linalg.cholesky_ex",
        [case(_S), case(_S, upper=True), case(_S, check_errors=True)],
        call=lambda lib, x, **options: lib.linalg.cholesky_ex(_positive(lib, x), **options),
    ),
    _row(
        "cholesky_ex_info",  # the order of the first leading minor that is not positive
        [
            case(tensor(2, 2, 2, values=[2, 1, 1, 2, -1, 0, 0, 1])),
            case(tensor(2, 3, 3, values=[1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 2, 1, 0, 0, 0, 1])),
            case(tensor(2, 2, values=[1.0, 0.0, 0.0, math.nan])),
            case(tensor(0, 0)),
        ],
        call=lambda lib, x: lib.linalg.cholesky_ex(x).info,
        grad=False,
    ),
    _row(
        "linalg.matrix_exp",
        [case(_S), case(_BATCH), case(tensor(0, 0)), case(tensor(2, 2, low=-9, high=9))],
        errors=[case(_M), *_BAD],
    ),
    _row("matrix_exp", [case(_S)], dtypes=("float64",)),
    _row(
        "linalg.householder_product",
        [case(_N, tensor(2)), case(_BATCH, tensor(2, 3)), case(_S, tensor(2))],
        errors=[case(_M, tensor(2)), case(_N, tensor(3)), case(_N, tensor(1, 2))],
    ),
    _row(
        "geqrf",
        [case(tensor(*shape, grad=False)) for shape in ((3, 3), (2, 3, 3), (2, 3), (3, 2))],
        errors=_NO_MATRIX,
    ),
    _row(
        "ormqr",
        [
            case(_S, tensor(3), _N),
            case(_N, tensor(2), _S),
            case(_S, tensor(3), _N, transpose=True),
            case(_S, tensor(3), _M, left=False),
            case(_S, tensor(3), _M, False, True),
        ],
        errors=[case(_S, tensor(3), _M), case(_S, tensor(4), _S)],
    ),
    _row("orgqr", [case(_N, tensor(2))], dtypes=("float64",)),
    _row(
        "linalg.ldl_factor_ex",
        [
            case(tensor(*shape, grad=False), hermitian=hermitian)
            for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 0), (7, 7))
            for hermitian in (False, True)
        ]
        + [case(tensor(3, 3, values=[[0.0] * 3] * 3, grad=False))],
        errors=_NO_MATRIX,
    ),
    _row(
        "linalg.ldl_factor",
        [case(_INDEFINITE)],
        errors=[*_NO_MATRIX, case(_M), case(tensor(2, 2, values=[[0.0, 0.0], [0.0, 0.0]]))],
    ),
    _row(
        "linalg.ldl_solve",
        [
            case(tensor(3, 3, grad=False), _N),
            case(tensor(2, 5, 5, grad=False), tensor(2, 5, 2)),
            case(tensor(4, 4, grad=False), tensor(2, 4, 1)),
            case(_INDEFINITE, _N, hermitian=True),
        ],
        call=_ldl_solved,
        # PyTorch has no gradient of it.
        grad=False,
        errors=[case(tensor(3, 3, grad=False), _M)],
    ),
    _row(
        "linalg.tensorinv",
        [case(tensor(2, 3, 6)), case(tensor(4, 2, 2), ind=1)],
        errors=[case(tensor(2, 3, 5)), case(tensor(2, 3, 6), ind=0)],
    ),
    _row(
        "linalg.tensorsolve",
        [case(tensor(2, 3, 6), _M), case(tensor(2, 6, 3), _M, dims=(1,))],
        errors=[case(tensor(2, 3, 5), _M)],
    ),
    _row(
        "linalg.vander",
        [case(tensor(4)), case(_M, N=5), case(tensor(3, dtype="int64"), N=2), case(tensor(), N=3)],
        errors=[case(tensor()), case(tensor(3), N=1)],
    ),
]
