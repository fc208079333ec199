"""``torch.sparse.as_sparse_gradcheck``: gradients of sparse tensors, compared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow.base.layout import Layout
from oneflow.tensor.tensor import Tensor


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """Return a function that compares the gradients of sparse tensors, too.

    Args:
        gradcheck: ``torch.autograd.gradcheck`` or ``gradgradcheck``.

    Returns:
        The function. With ``masked=True`` elements that a sparse tensor does not store stay what
        they are; else they are changed like the others.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
        >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
        >>> check(lambda x: torch.sparse.sum(x), (x,), masked=True)
        True
    """

    @functools.wraps(gradcheck)
    def check(
        func: Callable[..., Any], inputs: Any, *, masked: bool = False, **options: Any
    ) -> bool:
        arguments = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
        if masked or not any(map(_is_checked, arguments)):
            return gradcheck(func, arguments, **options)
        filled = tuple(_filled(value) if _is_checked(value) else value for value in arguments)
        return gradcheck(func, filled, **options)

    return check


def _filled(tensor: Tensor) -> Tensor:
    """A sparse tensor that stores all its elements, also those that are 0."""
    size, layout = tensor.shape, tensor.layout
    dense = tensor.detach().to_dense()
    # Numbers from 1 on show the order in which the layout stores elements.
    numbers = flow.arange(1, dense.numel() + 1, device=dense.device).reshape(size)
    order = numbers.to_sparse(layout=layout)
    if layout is Layout.sparse_coo:
        order = order.coalesce()
        values = dense.flatten()[order.values() - 1]
        return flow.sparse_coo_tensor(order.indices(), values, size).requires_grad_()
    by_rows = layout in (Layout.sparse_csr, Layout.sparse_bsr)
    lines = order.crow_indices() if by_rows else order.ccol_indices()
    positions = order.col_indices() if by_rows else order.row_indices()
    values = dense.flatten()[order.values() - 1]
    return flow.sparse_compressed_tensor(
        lines, positions, values, size, layout=layout
    ).requires_grad_()


def _is_checked(value: Any) -> bool:
    is_sparse = isinstance(value, Tensor) and value.layout is not Layout.strided
    return is_sparse and value.requires_grad
