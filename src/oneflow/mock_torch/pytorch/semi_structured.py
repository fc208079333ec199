"""Matrices of which two elements of four are zero, of ``torch.sparse``: kernels of some GPUs."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import Missing, raise_missing

_REASON = (
    "XLA has no products of matrices of which two elements of four are zero; `Tensor.to_sparse` and"
    " `to_sparse_csr` store what is not zero"
)


class SparseSemiStructuredTensor(Missing):
    """The base of such tensors."""

    _reason = _REASON
    #: The default of configurations that libraries define: the number of cuSPARSELt's algorithm.
    _DEFAULT_ALG_ID = 0


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The type of those for the kernels of cuSPARSELt."""


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """The type of those for the kernels of CUTLASS."""


def to_sparse_semi_structured(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to compress a matrix.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.sparse.to_sparse_semi_structured", _REASON)
