"""Rules of decompositions and triangular systems: SciPy's LAPACK and BLAS, which XLA calls, too.

XLA's CPU client takes the addresses of the functions from SciPy, so that both compute the same
numbers: signs of vectors, the order of what is degenerate, NaN for what has no decomposition.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.interpreter.rules import UnsupportedEquation, dtype_of, rule, shape_of

# LAPACK's prefixes of the dtypes that it computes in.
_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def _routine(name: str, dtype: np.dtype, module: str = "scipy.linalg.lapack") -> Callable:
    """A routine of LAPACK or BLAS for a dtype ; some have other names for complex matrices."""
    prefix = _PREFIXES[dtype.name]
    if dtype.kind == "c":
        name = {"orgqr": "ungqr", "syevd": "heevd"}.get(name, name)
    return getattr(importlib.import_module(module), prefix + name)


def _of_matrices(
    equation: Any, function: Callable[..., Sequence[np.ndarray]], operand_ndim: int = 2
) -> Callable:
    """A rule's function that goes through the matrices of a batch.

    Args:
        equation: an equation of the primitive.
        function: takes one matrix of each operand and returns the results.
        operand_ndim: the number of dimensions of the first operand, without the dimensions of the
            batch.

    Raises:
        UnsupportedEquation: the matrices have no elements.
    """
    shape = shape_of(equation.invars[0])
    batch = shape[: len(shape) - operand_ndim]
    if any(0 in shape_of(invar)[len(batch) :] for invar in equation.invars):
        raise UnsupportedEquation("LAPACK takes no matrices without elements")
    types = [(shape_of(outvar), dtype_of(outvar)) for outvar in equation.outvars]
    multiple_results = equation.primitive.multiple_results

    def compute(*operands: np.ndarray) -> Any:
        results = [np.empty(shape, dtype) for shape, dtype in types]
        for index in itertools.product(*map(range, batch)):
            parts = function(*[operand[index] for operand in operands])
            for result, part in zip(results, parts, strict=True):
                result[index] = part
        return results if multiple_results else results[0]

    return compute


def _lapack_dtype(equation: Any) -> np.dtype:
    """The dtype of the first operand.

    Raises:
        UnsupportedEquation: LAPACK does not compute in it.
    """
    dtype = dtype_of(equation.invars[0])
    if dtype.name not in _PREFIXES:
        raise UnsupportedEquation(f"LAPACK does not compute in {dtype.name}")
    return dtype


def _or_nan(results: Sequence[np.ndarray], info: int) -> Sequence[np.ndarray]:
    """Results, or NaN if LAPACK says that there are none."""
    return results if info == 0 else [np.full_like(result, np.nan) for result in results]


def _with_workspace(routine: Callable) -> Callable[..., list[np.ndarray]]:
    """A routine with the workspace of the size that it asks for, which selects its algorithm."""

    def compute(*operands: np.ndarray) -> list[np.ndarray]:
        *_, work, _ = routine(*operands, lwork=-1)
        *results, _, _ = routine(*operands, lwork=int(work[0].real))
        return results

    return compute


@rule("lu")
def _lu(equation: Any) -> Callable:
    decompose = _routine("getrf", _lapack_dtype(equation))

    def compute(a: np.ndarray) -> Sequence[np.ndarray]:
        packed, pivots, _ = decompose(a)
        return packed, pivots, _permutation(pivots, len(a))

    return _of_matrices(equation, compute)


@rule("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(equation: Any) -> Callable:
    size = shape_of(equation.outvars[0])[-1]
    return _of_matrices(equation, lambda pivots: [_permutation(pivots, size)], operand_ndim=1)


def _permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    """The order of `size` rows after the row exchanges of an LU decomposition."""
    order = list(range(size))
    for row, pivot in enumerate(pivots.tolist()):
        order[row], order[pivot] = order[pivot], order[row]
    return np.array(order, np.int32)


@rule("cholesky")
def _cholesky(equation: Any) -> Callable:
    decompose = _routine("potrf", _lapack_dtype(equation))

    def compute(a: np.ndarray) -> Sequence[np.ndarray]:
        factor, info = decompose(a, lower=1, clean=0)
        return _or_nan([factor], info)

    return _of_matrices(equation, compute)


@rule("triangular_solve")
def _triangular_solve(equation: Any) -> Callable:
    params = equation.params
    solve = _routine("trsm", _lapack_dtype(equation), "scipy.linalg.blas")
    transpose, conjugate = params["transpose_a"], params["conjugate_a"]
    options = {
        "side": int(not params["left_side"]),
        "lower": int(params["lower"]),
        "trans_a": 2 if transpose and conjugate else int(transpose),
        "diag": int(params["unit_diagonal"]),
    }

    def compute(a: np.ndarray, b: np.ndarray) -> Sequence[np.ndarray]:
        return [solve(1.0, a.conj() if conjugate and not transpose else a, b, **options)]

    return _of_matrices(equation, compute)


@rule("eigh")
def _eigh(equation: Any) -> Callable:
    dtype = _lapack_dtype(equation)
    decompose = _routine("syevd", dtype)
    if equation.params.get("subset_by_index") is not None:
        raise UnsupportedEquation("some of the eigenvalues")
    lower = int(equation.params["lower"])

    def compute(a: np.ndarray) -> Sequence[np.ndarray]:
        values, vectors, info = decompose(a, compute_v=1, lower=lower)
        return _or_nan([vectors, values], info)

    return _of_matrices(equation, compute)


@rule("geqrf")
def _geqrf(equation: Any) -> Callable:
    return _of_matrices(equation, _with_workspace(_routine("geqrf", _lapack_dtype(equation))))


@rule("householder_product")
def _householder_product(equation: Any) -> Callable:
    return _of_matrices(equation, _with_workspace(_routine("orgqr", _lapack_dtype(equation))))


@rule("qr")
def _qr(equation: Any) -> Callable:
    dtype = _lapack_dtype(equation)
    geqrf = _with_workspace(_routine("geqrf", dtype))
    multiply = _with_workspace(_routine("orgqr", dtype))
    if equation.params["pivoting"]:
        raise UnsupportedEquation("a QR decomposition with pivoting")
    (rows, columns), full = shape_of(equation.invars[0])[-2:], equation.params["full_matrices"]
    q_columns = rows if full or rows < columns else columns

    def compute(a: np.ndarray) -> Sequence[np.ndarray]:
        packed, factors = geqrf(a)
        columns_of_q = np.zeros((rows, q_columns), dtype)
        columns_of_q[:, : min(columns, q_columns)] = packed[:, :q_columns]
        (q,) = multiply(columns_of_q, factors)
        return q, np.triu(packed[:q_columns])

    return _of_matrices(equation, compute)


@rule("svd")
def _svd(equation: Any) -> Callable:
    dtype, params = _lapack_dtype(equation), equation.params
    decompose, workspace = _routine("gesdd", dtype), _routine("gesdd_lwork", dtype)
    if params.get("subset_by_index") is not None or params.get("algorithm") is not None:
        raise UnsupportedEquation("some of the singular values, or another algorithm")
    options = {
        "compute_uv": int(params["compute_uv"]),
        "full_matrices": int(params["full_matrices"]),
    }
    count = len(equation.outvars)

    def compute(a: np.ndarray) -> Sequence[np.ndarray]:
        work, _ = workspace(*a.shape, **options)
        u, values, vt, info = decompose(a, lwork=int(work.real), **options)
        return _or_nan([values, u, vt][:count], info)

    return _of_matrices(equation, compute)
