"""Random matrices with properties that tests of linear algebra ask for."""

from __future__ import annotations

from typing import Any

import torch


def make_fullrank_matrices_with_distinct_singular_values(
    *shape: int, device: Any, dtype: Any, requires_grad: bool = False
) -> Any:
    """Random matrices whose singular values lie between 1 and 2, no two of them equal."""
    random_matrices = torch.testing.make_tensor(shape, device=device, dtype=dtype)
    left, values, right = torch.linalg.svd(random_matrices, full_matrices=False)
    distinct = torch.linspace(1, 2, values.shape[-1], dtype=values.dtype)
    return ((left * distinct) @ right).detach().requires_grad_(requires_grad)


def random_well_conditioned_matrix(*shape: int, dtype: Any, device: Any, **_: Any) -> Any:
    """Random matrices of singular values between 1 and 2."""
    return make_fullrank_matrices_with_distinct_singular_values(*shape, dtype=dtype, device=device)


def random_hermitian_matrix(size: int, *batches: int, dtype: Any, device: Any) -> Any:
    """Random matrices that are their own conjugate transpose."""
    matrix = torch.randn(*batches, size, size, dtype=dtype, device=device)
    return (matrix + matrix.mH) / 2


def random_hermitian_pd_matrix(size: int, *batches: int, dtype: Any, device: Any) -> Any:
    """The same, with positive eigenvalues."""
    matrix = torch.randn(*batches, size, size, dtype=dtype, device=device)
    return matrix @ matrix.mH + torch.eye(size, dtype=dtype, device=device)


def random_symmetric_matrix(size: int, *batches: int, **options: Any) -> Any:
    """Random matrices that are their own transpose."""
    matrix = torch.randn(*batches, size, size, **options)
    return (matrix + matrix.mT) / 2


random_symmetric_pd_matrix = random_hermitian_pd_matrix
