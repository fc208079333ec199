"""The dtypes that `out=` may have besides the result's."""

from __future__ import annotations

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType

# Functions whose `out` must have the dtype that the result has without it; those of arithmetic,
# comparisons and functions of real numbers cast where PyTorch's rules of promotion allow it.
_NAMES_WITHOUT_CASTS = """
    addbmm addmm addmv amax amin argmax argmin baddbmm bitwise_not bmm bucketize chain_matmul
    conj_physical cross diag diagonal_copy dot expand_copy float_power floor ceil frac gather
    hardshrink heaviside histc index_add index_copy index_reduce index_select inner isin isneginf
    isposinf logcumsumexp masked_select matmul mm msort multinomial mv nan_to_num nanquantile
    narrow_copy neg nonzero nonzero_static permute_copy quantile renorm round scatter scatter_add
    scatter_reduce searchsorted select_copy sgn sign signbit slice_scatter squeeze_copy t_copy take
    take_along_dim tensordot transpose_copy tril triu trunc unsqueeze_copy vdot where
    cholesky det eigvalsh inv log_softmax matrix_norm matrix_power multi_dot norm softmax solve
    solve_triangular svdvals vecdot vector_norm
"""
_WITHOUT_CASTS = frozenset(_NAMES_WITHOUT_CASTS.split())
# Functions of several results that are cast all the same.
_CASTS_MANY = frozenset(("eig",))
_TRUTH_VALUES = frozenset(("all", "any"))


def casts_results(name: str) -> bool:
    """Return whether a function casts its result to the dtype of `out=`.

    Args:
        name: the function's name.
    """
    return name not in _WITHOUT_CASTS


def check_out_dtype(out: DType, result: DType, name: str, is_one_of_many: bool) -> None:
    """Refuse an `out=` of a dtype to which the function casts no result.

    Args:
        out: the dtype of `out`.
        result: the dtype of the result.
        name: the function's name.
        is_one_of_many: the function has several results; these are cast by few.

    Raises:
        RuntimeError: the dtype is another.
    """
    if out is result:
        return
    if name in _TRUTH_VALUES:
        allowed = out is dt.uint8
    elif name == "abs":  # of complex numbers, which is not told apart here
        allowed = out.is_complex
    else:
        allowed = name in _CASTS_MANY or (not is_one_of_many and casts_results(name))
    if not allowed:
        raise RuntimeError(
            f"`out` of `{name}` must have the dtype of the result, {result!r}, got {out!r}"
        )


def check_dtype_argument(out: DType, dtype: DType, name: str) -> None:
    """Raise unless `out=` has the requested dtype.

    Raises:
        RuntimeError: they differ.
    """
    if out is not dtype:
        raise RuntimeError(
            f"`dtype` of `{name}` must be that of `out`, {out!r}, got {dtype!r}; leave it out"
        )
