"""Updates of the rows of an embedding that were looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from oneflow.base import cluster
from oneflow.functional.creation import from_data
from oneflow.nn.one_embedding.exchange import gathered, owner_ranks
from oneflow.nn.one_embedding.table_store import TableStore
from oneflow.optim.adam import Adam
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class LookupRecord:
    """The rows that one forward pass has read.

    Attributes:
        keys: the keys of the rows; padding has none.
        rows: the leaf tensor with a row for each key, and a last one of zeros for padding.
        is_shared: True if the loss is one of all processes, False if each has its own.
    """

    keys: np.ndarray
    rows: Tensor
    is_shared: bool


class UpdatedRows(Protocol):
    """An embedding, as updates see it.

    Attributes:
        name: the name of the embedding.
        store: its rows.
        shadow: the parameter by which optimizers know it.
        lookup_records: what was read since the last update.
    """

    name: str
    store: TableStore
    shadow: Any
    lookup_records: list[LookupRecord]


class SmartDecayAdam(Adam):
    """Adam that makes up for the steps in which a row of an embedding was not looked up.

    When a row comes back after some steps, its running means decay, and the row moves, as if it
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
        parts: an array of shape (rows, 3, width): embeddings and the two running means; changed.
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


def update_rows(optimizer: Optimizer, embedding: UpdatedRows) -> None:
    """Update the rows of an embedding that were looked up, as `optimizer` updates parameters.

    Raises:
        RuntimeError: the store has no room for the states of the optimizer.
    """
    embedding.store.step += 1
    keys, gradients = _local_gradients(embedding)
    embedding.lookup_records.clear()
    if not len(keys):
        return
    rows, steps = embedding.store.rows(keys)
    width = embedding.store.embedding_dim
    parts = rows.reshape(len(rows), -1, width)
    group = _group_of(optimizer, embedding)
    if isinstance(optimizer, SmartDecayAdam):
        skipped = np.where(steps > 0, embedding.store.step - 1 - steps, 0)
        if parts.shape[1] >= 3:
            _catch_up(group, parts, skipped)
    _step_rows(optimizer, group, embedding, parts, gradients, is_new=steps == 0)
    embedding.store.update(keys, parts.reshape(len(keys), -1))


def _group_of(optimizer: Optimizer, embedding: UpdatedRows) -> dict[str, Any]:
    groups = optimizer.param_groups
    for group in groups:
        if any(parameter is embedding.shadow for parameter in group["params"]):
            return group
    return groups[0]


def _step_rows(
    optimizer: Optimizer,
    group: dict[str, Any],
    embedding: UpdatedRows,
    parts: np.ndarray,
    gradients: np.ndarray,
    is_new: np.ndarray,
) -> None:
    """Let an optimizer of the same class and options update rows and their states.

    Args:
        optimizer: whose class it is.
        group: the options.
        embedding: the embedding to which the rows belong.
        parts: an array of shape (rows, states + 1, width); changed.
        gradients: an array of shape (rows, width).
        is_new: which rows have no states yet.
    """
    rows = _padded(parts[:, 0])
    rows.grad = _padded(gradients)
    options = {**group, "params": [rows]}
    kind: Any = type(optimizer)
    row_optimizer = kind([options], lr=group["lr"])
    (state,) = row_optimizer.states_of_group(row_optimizer.param_groups[0])
    state["step"] = embedding.store.step - 1
    names = [name for name, value in state.items() if isinstance(value, Tensor)]
    if len(names) > embedding.store.state_count:
        raise RuntimeError(
            f"{type(optimizer).__name__} keeps {len(names)} states of a parameter; make "
            f"the store of embedding `{embedding.name}` with size_factor={len(names) + 1}"
        )
    for number, name in enumerate(names, 1):
        first = state[name].numpy()[: len(parts)]
        state[name] = _padded(np.where(is_new[:, None], first, parts[:, number]))
    row_optimizer.step()
    parts[:, 0] = rows.detach().numpy()[: len(parts)]
    for number, name in enumerate(names, 1):
        parts[:, number] = state[name].numpy()[: len(parts)]


def _padded(rows: np.ndarray) -> Tensor:
    """Return rows as a tensor of a length that few others have, so that little is compiled."""
    padded = np.zeros((1 << (len(rows) - 1).bit_length(), rows.shape[1]), np.float32)
    padded[: len(rows)] = rows
    return from_data.from_numpy(padded).requires_grad_(True)


def _local_gradients(embedding: UpdatedRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of this process that have gradients, and the sums of these.

    Gradients of losses that each process has of its own are averaged, as data parallelism does.
    """
    keys = [np.zeros(0, np.int64)]
    gradients = [np.zeros((0, embedding.store.embedding_dim), np.float32)]
    for record in embedding.lookup_records:
        if record.rows.grad is None:
            continue
        share = 1.0 if record.is_shared else 1.0 / cluster.world_size()
        keys.append(record.keys)
        gradients.append(record.rows.grad.numpy()[: len(record.keys)] * np.float32(share))
    all_keys = np.concatenate(gathered(np.concatenate(keys)))
    all_gradients = np.concatenate(gathered(np.concatenate(gradients)))
    is_local = owner_ranks(all_keys) == cluster.rank()
    unique, inverse = np.unique(all_keys[is_local], return_inverse=True)
    sums = np.zeros((len(unique), embedding.store.embedding_dim), np.float32)
    np.add.at(sums, inverse, all_gradients[is_local])
    return unique, sums
