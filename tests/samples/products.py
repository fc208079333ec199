"""Products of vectors and matrices."""

from tests.samples.table import Operator, case, tensor

_EVERY = ("float32", "int64", "float64", "bfloat16", "int32", "complex64")
_PRODUCT = ("float32", "int64", "complex64")
_V, _M, _N, _B, _C = tensor(3), tensor(2, 3), tensor(3, 2), tensor(2, 2, 3), tensor(2, 3, 2)
_BOOL = tensor(2, 2, dtype="bool")
_COMPLEX = [tensor(2, 2, dtype="complex64")] * 3

# The ends of three groups, of which the second is empty.
_ENDS = tensor(3, values=[1, 1, 6], dtype="int32")


PRODUCTS = [
    Operator(
        "matmul",
        cases=[
            case(_M, _N),
            case(_V, _N),
            case(_B, _V),
            case(_V, _V),
            case(tensor(2, 1, 2, 3), _C),
            case(tensor(0, 3), _N),
            case(tensor(2, 0), tensor(0, 2)),
            case(tensor(2, 3, layout="transposed"), _N),
        ],
        dtypes=_EVERY,
        errors=[
            case(_M, _M),
            case(tensor(), _M),
            case(_M, 2.0),
            case(_M, tensor(3, 2, dtype="float64")),
            case(tensor(3, 2, 3), tensor(2, 3, 2)),
            case(_BOOL, _BOOL),
        ],
    ),
    Operator(
        "matmul_transposed",
        cases=[case(_N, _M, alpha=2.5)],
        call=lambda lib, x, y, alpha: lib.matmul(x, y, True, True, alpha),
        torch=lambda x, y, alpha: alpha * (x.mT @ y.mT),
    ),
    Operator(
        "mm",
        cases=[case(_M, _N), case(tensor(0, 3), _N), case(_M, mat2=_N)],
        dtypes=_PRODUCT,
        errors=[case(_V, _N), case(_M, _M), case(_M, 1.0), case(_BOOL, _BOOL)],
    ),
    Operator(
        "bmm",
        cases=[case(_B, _C), case(tensor(0, 2, 3), tensor(0, 3, 2))],
        dtypes=_PRODUCT,
        errors=[case(_M, _N), case(_B, tensor(1, 3, 2)), case(_B, _B)],
    ),
    Operator(
        "nn.functional.grouped_mm",
        cases=[
            case(tensor(6, 4), tensor(3, 4, 8), offs=_ENDS),
            case(tensor(3, 4, 4), tensor(4, 8), offs=tensor(3, values=[1, 4, 8], dtype="int32")),
            case(tensor(4, 8), tensor(8, 4), offs=_ENDS),
            case(tensor(3, 2, 4), tensor(3, 4, 8)),
        ],
        dtypes=("float32",),
        errors=[case(tensor(6, 4), tensor(3, 5, 8), offs=_ENDS)],
    ),
    Operator(
        "mv",
        cases=[case(_M, _V), case(tensor(2, 0), tensor(0))],
        dtypes=_PRODUCT,
        errors=[case(_V, _V), case(_M, tensor(2)), case(_M, _M)],
    ),
    Operator(
        "dot",
        cases=[case(_V, _V), case(tensor(0), tensor(0))],
        dtypes=_PRODUCT,
        errors=[case(_V, tensor(2)), case(_M, _M), case(_V, tensor(3, dtype="float64"))],
    ),
    Operator("vdot", cases=[case(_V, _V)], dtypes=_PRODUCT, errors=[case(_V, tensor(2))]),
    Operator(
        "inner",
        cases=[case(_M, _V), case(_M, _B), case(_M, tensor()), case(tensor(2, 0), tensor(0))],
        dtypes=("float32", "int64", "complex64"),
        errors=[case(_M, tensor(2)), case(_M, tensor(3, dtype="float64"))],
    ),
    Operator(
        "outer",
        cases=[case(_V, tensor(2)), case(_V, tensor(2, dtype="int32")), case(tensor(0), _V)],
        dtypes=("float32", "int64", "bool"),
        errors=[case(_V, _M)],
    ),
    Operator("ger", cases=[case(_V, tensor(2))]),
    Operator(
        "kron",
        cases=[case(_M, tensor(2)), case(tensor(2, 1, 2), _M), case(tensor(), _M)],
        dtypes=("float32", "int64", "bool", "complex64"),
    ),
    Operator(
        "cross",
        cases=[
            case(_M, _M, dim=1),
            case(_N, tensor(3, 1)),
            case(tensor(3, 3), tensor(3, 3)),
            case(tensor(3, 2, 3), tensor(1, 2, 3), dim=-1),
        ],
        dtypes=("float32", "int64", "complex64"),
        errors=[
            case(tensor(2, 2), tensor(2, 2)),
            case(_M, _M, dim=0),
            case(_M, _V),
            case(_M, tensor(2, 3, dtype="float64")),
        ],
    ),
    Operator(
        "trace",
        cases=[case(_M), case(tensor(0, 3))],
        dtypes=("float32", "int32", "complex64"),
        errors=[case(_V), case(_BOOL)],
    ),
    Operator(
        "vander",
        cases=[case(_V), case(_V, 2), case(_V, 4, increasing=True), case(_V, 0), case(tensor(0))],
        dtypes=("float32", "int64", "int32"),
        errors=[case(_M), case(_V, -1)],
        grad=False,  # PyTorch cannot: it writes over what its own backward pass needs
    ),
    Operator(
        "chain_matmul",
        cases=[case(_M, _N, _M, tensor(3, 4)), case(_M)],
        errors=[case(_M, _M)],
    ),
    Operator(
        "linalg.multi_dot",
        cases=[
            case([_M, _N]),
            case([tensor(2), _M, _N, tensor(2)]),
            case([tensor(4, 1), tensor(1, 4), tensor(4, 1), tensor(1, 2)]),
        ],
        dtypes=("float32", "complex64"),
        errors=[case([_M]), case([_M, _M]), case([_M, _V, _N])],
    ),
]

ADDED = [
    Operator(
        "addmm",
        cases=[
            case(tensor(2, 2), _M, _N),
            case(tensor(2), _M, _N, beta=0.5, alpha=2.0),
            case(tensor(values=float("nan")), _M, _N, beta=0),
            case(*_COMPLEX, beta=2j, alpha=1 - 1j),
        ],
        dtypes=_PRODUCT,
        errors=[
            case(tensor(5), _M, _N),
            case(tensor(3, 2, 2), _M, _N),
            case(tensor(2, dtype="float64"), _M, _N),
            case(tensor(2), _M, _M),
        ],
    ),
    Operator(
        "addmv",
        cases=[case(tensor(2), _M, _V), case(tensor(), _M, _V, beta=0.5, alpha=2.0)],
        dtypes=_PRODUCT,
        errors=[case(tensor(5), _M, _V), case(tensor(2), _M, _N)],
    ),
    Operator(
        "baddbmm",
        cases=[case(tensor(2, 2, 2), _B, _C), case(tensor(2), _B, _C, beta=0.5, alpha=2.0)],
        dtypes=_PRODUCT,
        errors=[case(tensor(5), _B, _C), case(tensor(2), _M, _C)],
    ),
    Operator(
        "addbmm",
        cases=[case(tensor(2, 2), _B, _C), case(tensor(2), _B, _C, beta=0.5, alpha=2.0)],
        dtypes=_PRODUCT,
        errors=[case(tensor(5), _B, _C), case(tensor(2), _B, _B)],
    ),
    Operator(
        "addr",
        cases=[
            case(_M, tensor(2), _V),
            case(tensor(3), tensor(2), _V, beta=0.5, alpha=2.0),
            case(tensor(2, 3, dtype="int32"), tensor(2), _V),
            case(_COMPLEX[0], *[tensor(2, dtype="complex64")] * 2, beta=2j, alpha=1 - 1j),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=[
            case(_M, tensor(2), tensor(4)),
            case(_M, _M, _V),
            case(*[tensor(3, dtype="int64")] * 3, alpha=0.5),
        ],
    ),
]


def _on_lists(lib, x, y):
    return lib.einsum(x, [..., 0, 1], y, [1, 2], [..., 2, 0])


EINSUM = [
    Operator(
        "einsum",
        cases=[
            case("ij,jk->ik", _M, _N),
            case("ij, jk", _M, _N),
            case("bij,bjk,k->bi", _B, _C, tensor(2)),
            case("...ij,...jk->...k", tensor(2, 1, 2, 3), _C),
            case("bA,Ba", _M, tensor(4, 1)),
            case("ij,jk->ik", _M, tensor(1, 2)),
            case("i...->...", _B),
            case("a...->a", _M),
            case("ij->", _M),
            case("->", tensor()),
            case("ij,kj->ik", tensor(0, 3), _M),
            case("ij,ij->j", [_M, _M]),
        ],
        dtypes=_PRODUCT,
        errors=[
            case("ij,jk", _M, _M),
            case("ij,jk->ii", _M, _N),
            case("ij", _M, _N),
            case("ij,jk", _M),
            case("ijk", _M),
            case("i...jk", _M),
            case("i1", _M),
            case("ij->k", _M),
            case("ii", tensor(1, 3)),
            case("ij,jk", _M, tensor(3, 2, dtype="float64")),
            case("ij"),
        ],
    ),
    Operator(
        "einsum_diagonal",
        cases=[case("bii->bi", tensor(2, 3, 3)), case("ii", tensor(2, 2))],
        dtypes=("float32", "complex64"),
        call=lambda lib, equation, x: lib.einsum(equation, x),
    ),
    Operator("einsum_lists", cases=[case(_B, _N)], call=_on_lists),
    Operator(
        "tensordot",
        cases=[
            case(_M, _N, 1),
            case(_M, _N, 0),
            case(_M, tensor(2, 3, 2)),
            case(_B, _C, ([-1, 0], [1, 0])),
            case(_M, tensor(1, 4), 1),
        ],
        dtypes=("float32", "int64", "complex64"),
        errors=[
            case(_M, _N, 3),
            case(_M, _N, -1),
            case(_M, _M, 1),
            case(_M, _N, ([1], [0, 1])),
            case(_M, _N, (1, 0)),
            case(_M, tensor(3, 2, dtype="float64"), 1),
            case(_BOOL, _BOOL, 1),
        ],
    ),
]

OPERATORS = [*PRODUCTS, *ADDED, *EINSUM]
