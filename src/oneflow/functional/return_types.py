"""Results with named parts: `oneflow.return_types`, with PyTorch's names of classes and fields.

>>> import oneflow as flow
>>> flow.return_types.max(*flow.max(flow.tensor([[1.0, 5.0]]), 1)).indices
tensor([1], dtype=oneflow.int64)
"""

from __future__ import annotations

from typing import NamedTuple

from oneflow.tensor.tensor import Tensor


class aminmax(NamedTuple):
    """Result of `aminmax`."""

    min: Tensor
    max: Tensor


class cummax(NamedTuple):
    """Result of `cummax`."""

    values: Tensor
    indices: Tensor


class cummin(NamedTuple):
    """Result of `cummin`."""

    values: Tensor
    indices: Tensor


class frexp(NamedTuple):
    """Result of `frexp`."""

    mantissa: Tensor
    exponent: Tensor


class kthvalue(NamedTuple):
    """Result of `kthvalue`."""

    values: Tensor
    indices: Tensor


class linalg_eig(NamedTuple):
    """Result of `linalg.eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_eigh(NamedTuple):
    """Result of `linalg.eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_lstsq(NamedTuple):
    """Result of `linalg.lstsq`."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class linalg_qr(NamedTuple):
    """Result of `linalg.qr`."""

    Q: Tensor
    R: Tensor


class linalg_slogdet(NamedTuple):
    """Result of `linalg.slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class linalg_svd(NamedTuple):
    """Result of `linalg.svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class max(NamedTuple):
    """Result of `max`."""

    values: Tensor
    indices: Tensor


class median(NamedTuple):
    """Result of `median`."""

    values: Tensor
    indices: Tensor


class min(NamedTuple):
    """Result of `min`."""

    values: Tensor
    indices: Tensor


class mode(NamedTuple):
    """Result of `mode`."""

    values: Tensor
    indices: Tensor


class nanmedian(NamedTuple):
    """Result of `nanmedian`."""

    values: Tensor
    indices: Tensor


class sort(NamedTuple):
    """Result of `sort`."""

    values: Tensor
    indices: Tensor


class svd(NamedTuple):
    """Result of `svd`."""

    U: Tensor
    S: Tensor
    V: Tensor


class topk(NamedTuple):
    """Result of `topk`."""

    values: Tensor
    indices: Tensor
