"""Distances and similarities as modules."""

from __future__ import annotations

from typing import Any

from oneflow.functional.nn import distance as functional
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class CosineSimilarity(Module):
    """Cosine of the angle between vectors along a dimension.

    Args:
        dim: the vectors' dimension.
        eps: lengths are at least this.

    Shape:
        x1: ``(*)``, any shape with dimension `dim`.
        x2: a shape that broadcasts with that of `x1`.
        output: the common shape without dimension `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CosineSimilarity()(flow.tensor([[3.0, 4.0]]), flow.tensor([[4.0, 3.0]]))
        tensor([0.9600], dtype=oneflow.float32)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Distance between vectors along the last dimension.

    Args:
        p: which norm.
        eps: added to differences, so that distances have gradients.
        keepdim: keep the last dimension with size 1.

    Shape:
        x1: ``(N, D)`` or ``(D)``.
        x2: the shape of `x1`, or a shape that broadcasts with it.
        output: ``(N)`` or ``()``; with `keepdim` ``(N, 1)`` or ``(1)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PairwiseDistance(eps=0.0)(flow.tensor([[0.0, 0.0]]), flow.tensor([[3.0, 4.0]]))
        tensor([5.], dtype=oneflow.float32)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.p = p
        self.eps = eps
        self.keepdim = keepdim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"p": state.get("norm"), **state})

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"norm": self.p}

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)
