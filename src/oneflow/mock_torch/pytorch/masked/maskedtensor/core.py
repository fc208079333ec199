"""Comparisons of masked tensors."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.mock_torch.pytorch.masked_tensor import (
    MaskedTensor as MaskedTensor,
    is_masked_tensor as is_masked_tensor,
)


def _tensors_match(
    a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Return whether two tensors hold the same numbers, NaN among them.

    Args:
        a: a tensor that is not masked.
        b: another.
        exact: their dtypes are the same, too, and no number differs.
        rtol: the difference that may be, relative to `b`.
        atol: the difference that may be, whatever `b` is.

    Raises:
        ValueError: one of them is masked, or their layouts or, if `exact`, their dtypes differ.
    """
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("`a` and `b` are compared without masks: give the data of masked tensors")
    if a.layout != b.layout:
        raise ValueError(f"tensors of one layout can be compared, got {a.layout} and {b.layout}")
    if exact and a.dtype != b.dtype:
        raise ValueError(f"tensors of one dtype can be compared, got {a.dtype} and {b.dtype}")
    if a.is_sparse or a.is_sparse_csr:
        a, b = a.to_dense(), b.to_dense()
    if exact:
        return a.dim() == b.dim() and a.shape == b.shape and bool(_equal(a, b).all())
    return flow.allclose(a.to(b.dtype), b, rtol=rtol, atol=atol, equal_nan=True)


def _equal(a: Tensor, b: Tensor) -> Tensor:
    return (a == b) | ((a != a) & (b != b))


def _masks_match(a: Any, b: Any) -> bool:
    """Return whether the masks of two masked tensors are the same; True where one has none.

    Args:
        a: a tensor.
        b: another.
    """
    if not (is_masked_tensor(a) and is_masked_tensor(b)):
        return True
    mask_a, mask_b = a.get_mask(), b.get_mask()
    return _tensors_match(mask_a, mask_b, exact=True)
