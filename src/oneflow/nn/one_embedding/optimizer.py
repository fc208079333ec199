"""Optimizers of embedding tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.nn.one_embedding.embedding import MultiTableEmbedding
from oneflow.nn.one_embedding.row_update import update_rows
from oneflow.optim.optimizer import Optimizer


class EmbeddingOptimizer:
    """An optimizer for dense parameters and for the rows of embeddings.

    Rows are updated as the parameters of `optimizer` are, with the options of the group that the
    parameter of their embedding is in; what it keeps of a parameter is kept in the store. A row
    that was not looked up does not change.

    Args:
        optimizer: one of `oneflow.optim` that updates elements apart from each other, as all do
            that adapt no norms of whole parameters.
        embeddings: the embeddings whose rows to update.

    Raises:
        TypeError: an element of `embeddings` is none, or `optimizer` has a step of its own.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> one = flow.one_embedding
        >>> table = one.make_table_options(one.make_constant_initializer(0))
        >>> store = one.make_device_mem_store_options(tempfile.mkdtemp(), 100, size_factor=3)
        >>> embedding = one.MultiTableEmbedding("e", 2, flow.float, flow.int64, [table], store)
        >>> optimizer = one.Optimizer(flow.optim.Adam(embedding.parameters(), 0.1), [embedding])
        >>> embedding(flow.tensor([7])).sum().backward()
        >>> optimizer.step()
        >>> embedding.eval()(flow.tensor([7]))
        tensor([[-0.1000, -0.1000]], dtype=oneflow.float32)
    """

    def __init__(self, optimizer: Optimizer, embeddings: Sequence[MultiTableEmbedding]) -> None:
        for embedding in embeddings:
            if not isinstance(embedding, MultiTableEmbedding):
                raise TypeError(f"`embeddings` must be embeddings, got {type(embedding).__name__}")
        if not optimizer.steps_by_update:
            raise TypeError(f"{type(optimizer).__name__} cannot update single rows of a table")
        self.optimizer, self.embeddings = optimizer, list(embeddings)

    def __getattr__(self, name: str) -> Any:
        if name in ("optimizer", "embeddings"):
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update dense parameters, and the rows that have gradients.

        Returns:
            What `closure` returned, else None.

        Raises:
            RuntimeError: a store has no room for the states of the optimizer.
        """
        loss = self.optimizer.step(closure)
        for embedding in self.embeddings:
            update_rows(self.optimizer, embedding)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        self.optimizer.zero_grad(set_to_none)
        for embedding in self.embeddings:
            embedding.lookup_records.clear()
