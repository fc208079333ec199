"""Names of ``torch._linalg_utils``: products of matrices, of which one may be None."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.base.dtype import DType
from oneflow.tensor.tensor import Tensor


def is_sparse(A: Any) -> bool:
    """Return whether a tensor is of layout `sparse_coo`.

    Raises:
        TypeError: it is no tensor.
    """
    if not isinstance(A, Tensor):
        raise TypeError(f"expected Tensor but got {type(A).__name__}")
    return A.layout is flow.sparse_coo


def get_floating_dtype(A: Tensor) -> DType:
    """Return the dtype of a tensor if it is one of floats, else float32."""
    return A.dtype if A.dtype in (flow.float16, flow.float32, flow.float64) else flow.float32


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """Multiply matrices; None is the identity."""
    return B if A is None else A @ B


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """Return ``X.mT @ A @ Y``."""
    return X.transpose(-2, -1) @ matmul(A, Y)


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """Return ``S.mT @ A @ S``."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """Return orthonormal columns that span those of a matrix."""
    return flow.linalg.qr(A).Q


def symeig(A: Tensor, largest: bool | None = False) -> tuple[Tensor, Tensor]:
    """Return eigenvalues and eigenvectors of a symmetric matrix, rising unless `largest`."""
    values, vectors = flow.linalg.eigh(A)
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)


__all__ = ["basis", "bform", "get_floating_dtype", "is_sparse", "matmul", "qform", "symeig"]
