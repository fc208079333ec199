"""`MultiTableEmbedding`: embedding tables whose steps read and change few rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import DType
from oneflow.base.sbp import BROADCAST, Split
from oneflow.differentiation.grad_mode import is_grad_enabled
from oneflow.distributed.collectives import barrier
from oneflow.functional.creation import factory_functions, from_data
from oneflow.functional.nn import embedding as functional
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.one_embedding.exchange import exchange_rows, gathered
from oneflow.nn.one_embedding.options import (
    Initializer,
    StoreOptions,
    TableOptions,
    make_table_options,
)
from oneflow.nn.one_embedding.recorded_lookup import LookupRecorder, RecordedLookup
from oneflow.nn.one_embedding.row_update import LookupRecord
from oneflow.nn.one_embedding.table_store import TableStore
from oneflow.tensor.host_inputs import HostInputCapture, current_host_inputs
from oneflow.tensor.tensor import Tensor

_SNAPSHOT = "OneEmbeddingSnapshot"
_KEY_TYPES = ("int32", "int64", "uint32", "uint64")


class MultiTableEmbedding(Module):
    """Embedding tables in one store, which may be larger than memory.

    Ids of all tables share one space of keys: rows of different tables need different ids. A row
    exists from when it is first looked up. Its first values depend on its id and the seed alone.
    `oneflow.one_embedding.Optimizer` updates the rows that were looked up.

    With several processes every id belongs to one of them, which keeps its row.

    Args:
        name: the name of the embedding.
        embedding_dim: length of an embedding; in tables of several columns, of each column.
        dtype: the dtype of the embeddings that a lookup returns; rows are float32.
        key_type: dtype of ids.
        tables: made by `make_table_options`.
        store_options: made by `make_device_mem_store_options` and its like.
        default_initializer: first values of tables where `tables` is None.
        padding_idx: an id whose embedding is zeros, and stays so.
        seed: the seed of first values.

    Raises:
        ValueError: there is no table, a table has another number of columns, or `key_type` is no
            dtype of ids.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> one = flow.one_embedding
        >>> table = one.make_table_options(one.make_constant_initializer(0.5))
        >>> store = one.make_device_mem_store_options(tempfile.mkdtemp(), capacity=100)
        >>> embedding = one.MultiTableEmbedding("e", 4, flow.float, flow.int64, [table], store)
        >>> optimizer = one.Optimizer(flow.optim.SGD(embedding.parameters(), lr=0.5), [embedding])
        >>> embedding(flow.tensor([[3, 10**12]])).sum().backward()
        >>> optimizer.step()
        >>> embedding.eval()(flow.tensor([3, 4]))[:, 0]
        tensor([0.0000, 0.5000], dtype=oneflow.float32)
    """

    def __init__(
        self,
        name: str,
        embedding_dim: int | Sequence[int],
        dtype: DType,
        key_type: DType,
        tables: Sequence[TableOptions] | None,
        store_options: StoreOptions,
        default_initializer: Initializer | None = None,
        padding_idx: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        widths = (embedding_dim,) if isinstance(embedding_dim, int) else tuple(embedding_dim)
        if not tables and default_initializer is not None:
            tables = [make_table_options([default_initializer] * len(widths))]
        if not tables:
            raise ValueError("an embedding needs tables; make them by make_table_options()")
        for number, table in enumerate(tables):
            if len(table.columns) != len(widths):
                raise ValueError(
                    f"`embedding_dim` is of {len(widths)} columns, and table {number} has "
                    f"{len(table.columns)}"
                )
        if key_type.name not in _KEY_TYPES:
            raise ValueError(f"`key_type` must be one of {', '.join(_KEY_TYPES)}, got {key_type}")
        self.name, self.dtype, self.padding_idx = name, dtype, padding_idx
        self.table_count = len(tables)
        self.store = TableStore(store_options, widths, tuple(tables), seed)
        # Optimizers and modules know this embedding by a parameter that has no gradient.
        self.shadow = Parameter(factory_functions.zeros(1))
        self.lookup_records: list[LookupRecord] = []

    def extra_repr(self) -> str:
        return f"{self.name}, embedding_dim={self.store.embedding_dim}, tables={self.table_count}"

    def forward(self, ids: Tensor, table_ids: Tensor | None = None) -> Tensor:
        """Return the embeddings of ids.

        Args:
            ids: integers of any shape.
            table_ids: the table of each id, of the same shape. The last dimension of `ids` counts
                the tables by default.

        Returns:
            A tensor of the shape of `ids` and one dimension more.

        Raises:
            RuntimeError: the store is full, or `build` of a graph draws the ids at random.
            ValueError: the last dimension of `ids` is not that of the tables, or there is no such
                table.
        """
        capture = current_host_inputs()
        if capture is not None:
            return self._record_lookup(capture, ids, table_ids)
        local = ids.to_local() if ids.is_global else ids
        if table_ids is not None and table_ids.is_global:
            table_ids = table_ids.to_local()
        unique, table_numbers, inverse = self._distinct(
            local.numpy(), None if table_ids is None else table_ids.numpy()
        )
        rows = self._rows(unique, table_numbers, ids)
        positions = from_data.from_numpy(inverse).to(rows.device)
        result = functional.embedding(positions, rows).to(self.dtype)
        return _as_global(result, ids) if ids.is_global else result

    def _record_lookup(
        self, capture: HostInputCapture, ids: Tensor, table_ids: Tensor | None
    ) -> Tensor:
        """Look up in `build`: rows and positions are read anew before each call."""
        if capture.deferred is None:
            raise RuntimeError(f"embedding `{self.name}` cannot be looked up in a job")
        lookup = RecordedLookup(
            ids._value.spec,
            self.store.embedding_dim,
            capture.deferred(ids),
            None if table_ids is None else capture.deferred(table_ids),
            self._distinct,
            self._find_rows,
        )
        rows = capture.add(lookup.rows_spec, lookup.read_rows, self)
        positions = capture.add(lookup.positions_spec, lookup.positions, self).placeholder
        if self.training and is_grad_enabled():
            rows.placeholder.requires_grad_(True)
            recorder = capture.after_call.get(self)
            if not isinstance(recorder, LookupRecorder):
                recorder = capture.after_call[self] = LookupRecorder(self)
            recorder.recorded.append((lookup, rows.tensor))
        return functional.embedding(positions, rows.placeholder).to(self.dtype)

    def _distinct(
        self, ids: np.ndarray, table_ids: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the keys among ids, their tables, and of each id the position of its row."""
        keys = ids.astype(np.int64)
        tables = self._tables_of(keys, table_ids)
        flat = keys.reshape(-1)
        unique, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
        table_numbers = tables.reshape(-1)[first]
        if self.padding_idx is not None and (unique == self.padding_idx).any():
            at = int(np.flatnonzero(unique == self.padding_idx)[0])
            # The row behind the last one is zeros.
            inverse = np.where(inverse == at, len(unique) - 1, inverse - (inverse > at))
            unique, table_numbers = np.delete(unique, at), np.delete(table_numbers, at)
        return unique, table_numbers, inverse.reshape(keys.shape)

    def _tables_of(self, keys: np.ndarray, table_ids: np.ndarray | None) -> np.ndarray:
        if table_ids is not None:
            tables = np.broadcast_to(table_ids, keys.shape)
            if tables.size and not 0 <= tables.min() <= tables.max() < self.table_count:
                raise ValueError(f"`table_ids` must be from 0 to {self.table_count - 1}")
            return tables
        if self.table_count == 1:
            return np.zeros(keys.shape, np.int64)
        if not keys.ndim or keys.shape[-1] != self.table_count:
            raise ValueError(
                f"the last dimension of `ids` must be that of the {self.table_count} tables, got "
                f"the shape {keys.shape}; or give `table_ids`"
            )
        return np.broadcast_to(np.arange(self.table_count), keys.shape)

    def _rows(self, keys: np.ndarray, tables: np.ndarray, ids: Tensor) -> Tensor:
        """Return a leaf tensor with the rows of keys, and a length that few others have."""
        values = self._find_rows(keys, tables, 1 << len(keys).bit_length())
        rows = from_data.from_numpy(values).to(self.shadow.device)
        if self.training and is_grad_enabled():
            rows.requires_grad_(True)
            self.lookup_records.append(LookupRecord(keys, rows, ids.is_global))
        return rows

    def _find_rows(self, keys: np.ndarray, tables: np.ndarray, count: int) -> np.ndarray:
        """Return the rows of keys, and zeros behind them, `count` in all."""
        width = self.store.embedding_dim
        padded = np.zeros((count, width), np.float32)
        padded[: len(keys)] = exchange_rows(keys, width, self.store.embeddings, tables)
        return padded

    # --- snapshots

    def save_snapshot(self, snapshot_name: str) -> None:
        """Write all rows, with the states of their optimizer, to the persistent path.

        A snapshot of this name is replaced; one that is interrupted leaves it as it was. All
        processes write their rows, and return when all have.
        """
        self.store.save(snapshot_name)
        if cluster.is_multiprocess():
            barrier()

    def load_snapshot(self, snapshot_name: str) -> None:
        """Replace all rows with the rows of a snapshot.

        Any number of processes may have written it.

        Raises:
            FileNotFoundError: there is none.
            RuntimeError: it is damaged.
            ValueError: its rows do not fit.
        """
        self.store.load(snapshot_name)
        self.lookup_records.clear()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        # The time of rank 0, so that all processes give it the same name.
        time = gathered(np.array([datetime.now().timestamp()]))[0].item()
        name = datetime.fromtimestamp(time).strftime("%Y-%m-%d-%H-%M-%S-%f")
        self.save_snapshot(name)
        destination[f"{prefix}{_SNAPSHOT}"] = name

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        name = state_dict.pop(f"{prefix}{_SNAPSHOT}", None)
        if name is not None:
            self.load_snapshot(name)
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )


class MultiTableMultiColumnEmbedding(MultiTableEmbedding):
    """`MultiTableEmbedding` of tables with several columns, each with first values of its own.

    `embedding_dim` has the length of each column; a lookup gives them one after the other.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> one = flow.one_embedding
        >>> columns = [one.make_column_options(one.make_constant_initializer(x)) for x in (1, 2)]
        >>> store = one.make_device_mem_store_options(tempfile.mkdtemp(), capacity=100)
        >>> embedding = one.MultiTableMultiColumnEmbedding(
        ...     "e", (2, 1), flow.float, flow.int64, [one.make_table_options(columns)], store)
        >>> embedding.eval()(flow.tensor([5])).tolist()
        [[1.0, 1.0, 2.0]]
    """


def _as_global(local: Tensor, ids: Tensor) -> Tensor:
    """Return the global tensor of local parts, distributed like `ids`."""
    if not all(dim_sbp is BROADCAST or isinstance(dim_sbp, Split) for dim_sbp in ids.sbp):
        raise ValueError(f"`ids` must be split or broadcast, got {ids.sbp}")
    return local.to_global(placement=ids.placement, sbp=ids.sbp)
