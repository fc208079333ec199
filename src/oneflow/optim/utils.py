"""Optimizers around optimizers."""

from __future__ import annotations

from oneflow.optim.optimizer import Optimizer


class SparseOptimizer:
    """Tells a graph to update only those rows of embeddings that were looked up.

    The same as ``add_optimizer(optimizer, is_sparse=True)``.

    Args:
        optimizer: the optimizer.

    Example:
        >>> import oneflow as flow
        >>> table = flow.nn.Embedding(10, 2)
        >>> optimizer = flow.optim.utils.SparseOptimizer(flow.optim.SGD(table.parameters(), lr=0.1))
        >>> type(optimizer.optimizer).__name__
        'SGD'
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"`optimizer` must be an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
