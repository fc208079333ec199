"""Optimizers of embedding tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.functional.creation import from_data
from oneflow.nn.one_embedding.embedding import MultiTableEmbedding
from oneflow.nn.one_embedding.exchange import gathered, owner_ranks
from oneflow.optim.adam import Adam
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor


class SmartDecayAdam(Adam):
    """Adam that makes up for the steps in which a row of an embedding was not looked up.

    Where a row comes back after some steps, its running means decay, and the row moves, as if it
    had had gradients of zero in them; `eps` is left out of those moves, and so is the correction of
    the bias. Dense parameters are updated as by `oneflow.optim.Adam`.

    Arguments as for `oneflow.optim.Adam`.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.one_embedding.SmartDecayAdam([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """


def _catch_up(group: dict[str, Any], parts: np.ndarray, skipped: np.ndarray) -> None:
    """Let rows take the steps that they missed.

    Args:
        group: options of `SmartDecayAdam`.
        parts: of shape (rows, 3, width): embeddings and the two running means; changed.
        skipped: the number of steps that each row missed.
    """
    beta1, beta2 = group["betas"]
    count = skipped[:, None].astype(np.float64)
    mean, square = parts[:, 1].astype(np.float64), parts[:, 2].astype(np.float64)
    ratio = beta1 / np.sqrt(beta2)
    # The moves m β1^i / sqrt(v β2^i) of i = 1, ... are a geometric series.
    series = count if ratio == 1 else ratio * (1 - ratio**count) / (1 - ratio)
    scale = np.divide(mean, np.sqrt(square), out=np.zeros_like(mean), where=square > 0)
    parts[:, 0] -= group["lr"] * group.get("lr_scale", 1.0) * series * scale
    parts[:, 1] = mean * beta1**count
    parts[:, 2] = square * beta2**count


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
        for each in embeddings:
            if not isinstance(each, MultiTableEmbedding):
                raise TypeError(f"`embeddings` must be embeddings, got {type(each).__name__}")
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
        for each in self.embeddings:
            self._update(each)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        self.optimizer.zero_grad(set_to_none)
        for each in self.embeddings:
            each.lookups.clear()

    def _update(self, embedding: MultiTableEmbedding) -> None:
        embedding.step += 1
        keys, gradients = _local_gradients(embedding)
        embedding.lookups.clear()
        if not len(keys):
            return
        rows, steps = embedding.store.rows(keys)
        width = embedding.store.embedding_dim
        parts = rows.reshape(len(rows), -1, width)
        group = self._group_of(embedding)
        if isinstance(self.optimizer, SmartDecayAdam):
            skipped = np.where(steps > 0, embedding.step - 1 - steps, 0)
            if parts.shape[1] >= 3:
                _catch_up(group, parts, skipped)
        self._step_rows(group, embedding, parts, gradients, is_new=steps == 0)
        embedding.store.update(keys, parts.reshape(len(keys), -1), embedding.step)

    def _group_of(self, embedding: MultiTableEmbedding) -> dict[str, Any]:
        groups = self.optimizer.param_groups
        for group in groups:
            if any(each is embedding.shadow for each in group["params"]):
                return group
        return groups[0]

    def _step_rows(
        self,
        group: dict[str, Any],
        embedding: MultiTableEmbedding,
        parts: np.ndarray,
        gradients: np.ndarray,
        is_new: np.ndarray,
    ) -> None:
        """Let an optimizer of the same class and options update rows and their states.

        Args:
            group: the options.
            embedding: to which the rows belong.
            parts: of shape (rows, states + 1, width); changed.
            gradients: of shape (rows, width).
            is_new: which rows have no states yet.
        """
        rows = _padded(parts[:, 0])
        rows.grad = _padded(gradients)
        options = {**group, "params": [rows]}
        kind: Any = type(self.optimizer)
        optimizer = kind([options], lr=group["lr"])
        (state,) = optimizer.states_of_group(optimizer.param_groups[0])
        state["step"] = embedding.step - 1
        names = [name for name, each in state.items() if isinstance(each, Tensor)]
        if len(names) > embedding.store.state_count:
            raise RuntimeError(
                f"{type(self.optimizer).__name__} keeps {len(names)} states of a parameter; make "
                f"the store of embedding `{embedding.name}` with size_factor={len(names) + 1}"
            )
        for number, name in enumerate(names, 1):
            first = state[name].numpy()[: len(parts)]
            state[name] = _padded(np.where(is_new[:, None], first, parts[:, number]))
        optimizer.step()
        parts[:, 0] = rows.detach().numpy()[: len(parts)]
        for number, name in enumerate(names, 1):
            parts[:, number] = state[name].numpy()[: len(parts)]


def _padded(rows: np.ndarray) -> Tensor:
    """Return rows as a tensor of a length that few others have, so that little is compiled."""
    padded = np.zeros((1 << (len(rows) - 1).bit_length(), rows.shape[1]), np.float32)
    padded[: len(rows)] = rows
    return from_data.from_numpy(padded).requires_grad_(True)


def _local_gradients(embedding: MultiTableEmbedding) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of this process that have gradients, and the sums of these.

    Gradients of losses that each process has of its own are averaged, as data parallelism does.
    """
    keys = [np.zeros(0, np.int64)]
    gradients = [np.zeros((0, embedding.store.embedding_dim), np.float32)]
    for each in embedding.lookups:
        if each.rows.grad is None:
            continue
        share = 1.0 if each.is_shared else 1.0 / cluster.world_size()
        keys.append(each.keys)
        gradients.append(each.rows.grad.numpy()[: len(each.keys)] * np.float32(share))
    all_keys = np.concatenate(gathered(np.concatenate(keys)))
    all_gradients = np.concatenate(gathered(np.concatenate(gradients)))
    is_local = owner_ranks(all_keys) == cluster.rank()
    unique, inverse = np.unique(all_keys[is_local], return_inverse=True)
    sums = np.zeros((len(unique), embedding.store.embedding_dim), np.float32)
    np.add.at(sums, inverse, all_gradients[is_local])
    return unique, sums
