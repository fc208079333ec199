"""Gradients of sparse leaves beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

# PyTorch says that its sparse tensors are young.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

GRADIENTS = {
    "to_dense": lambda f, x: (x.to_dense() * f.tensor([[2.0, 3.0], [4.0, 5.0]])).sum(),
    "sum": lambda f, x: x.sum(),
    "products": lambda f, x: f.sparse.mm(x, f.ones(2, 3)).sum(),
    "numbers": lambda f, x: (x * 2).to_dense().sum(),
    "sums": lambda f, x: (x + x).to_dense().sum(),
    "coalesce": lambda f, x: (x.coalesce().values() ** 2).sum(),
}


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_leaves_whose_positions_occur_twice(name: str, dtype: str) -> None:
    def gradients(f: Any) -> tuple[Any, Any]:
        positions = f.tensor([[0, 0, 1], [1, 1, 0]])
        x = f.sparse_coo_tensor(positions, f.tensor([1.0, 2, 3], dtype=getattr(f, dtype)), (2, 2))
        x.requires_grad_()
        loss = GRADIENTS[name](f, x)
        loss = loss.real if loss.is_complex() else loss
        (gradient,) = f.autograd.grad(loss, x, retain_graph=True)
        loss.backward()
        return tuple(g.to_dense() if g.is_sparse else g for g in (gradient, x.grad))

    if dtype == "complex64" and name in ("to_dense", "products"):
        pytest.skip("PyTorch has no product of these types")
    for mine, theirs in zip(gradients(flow), gradients(torch), strict=True):
        for at in ((0, 1), (1, 0)):  # the positions; a gradient of PyTorch's may have others
            np.testing.assert_allclose(mine.numpy()[at], theirs.numpy()[at])
