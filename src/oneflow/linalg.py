"""Linear algebra: norms, inverses, equations and decompositions of matrices."""

from oneflow.primitives.operators.linalg import LinAlgError as LinAlgError

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.linalg.decompositions import (
    cholesky as cholesky,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    qr as qr,
    svd as svd,
    svdvals as svdvals,
)
from oneflow.functional.linalg.inverse import (
    cross as cross,
    det as det,
    diagonal as diagonal,
    inv as inv,
    matrix_power as matrix_power,
    slogdet as slogdet,
    solve as solve,
    solve_triangular as solve_triangular,
    vecdot as vecdot,
)
from oneflow.functional.linalg.lapack import (
    cholesky_ex as cholesky_ex,
    householder_product as householder_product,
    inv_ex as inv_ex,
    lu as lu,
    lu_factor as lu_factor,
    lu_factor_ex as lu_factor_ex,
    lu_solve as lu_solve,
    matrix_exp as matrix_exp,
    solve_ex as solve_ex,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
    vander as vander,
)
from oneflow.functional.linalg.ldl import (
    ldl_factor as ldl_factor,
    ldl_factor_ex as ldl_factor_ex,
    ldl_solve as ldl_solve,
)
from oneflow.functional.linalg.matmul import matmul as matmul
from oneflow.functional.linalg.norms import (
    matrix_norm as matrix_norm,
    norm as norm,
    vector_norm as vector_norm,
)
from oneflow.functional.linalg.products import multi_dot as multi_dot
from oneflow.functional.linalg.singular_values import (
    cond as cond,
    lstsq as lstsq,
    matrix_rank as matrix_rank,
    pinv as pinv,
)

# fmt: off
__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
]
# fmt: on
