"""Lookups in `build` of a graph: rows are read before a call, and updated after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import float32, int64
from oneflow.base.sbp import BROADCAST
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.functional.creation import from_data
from oneflow.nn.one_embedding.exchange import owner_ranks
from oneflow.nn.one_embedding.row_update import LookupRecord, UpdatedRows, update_rows
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.host_inputs import Values
from oneflow.tensor.tensor import Tensor

ReadTensor = Callable[[Values], Tensor]
Distinct = Callable[[np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray, np.ndarray]]
FindRows = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


class RecordedLookup:
    """One lookup of a step, which has as many rows as there may be different ids.

    Attributes:
        rows_spec: the spec of the rows, and one of zeros behind them.
        positions_spec: the spec of the position of each id's row.

    Args:
        ids: spec of the ids.
        width: the width of a row.
        read_ids: computes the ids of a call.
        read_table_ids: computes the table of each id; None where the last dimension says it.
        distinct: returns the keys among ids, their tables, and the positions.
        find_rows: returns the rows of keys.
    """

    def __init__(
        self,
        ids: TensorSpec,
        width: int,
        read_ids: ReadTensor,
        read_table_ids: ReadTensor | None,
        distinct: Distinct,
        find_rows: FindRows,
    ) -> None:
        self._read_ids, self._read_table_ids = read_ids, read_table_ids
        self._distinct, self._find_rows = distinct, find_rows
        replicated = None if ids.sbp is None else (BROADCAST,) * len(ids.sbp)
        self.rows_spec = spec_of((ids.numel + 1, width), float32, ids.device, replicated)
        self.positions_spec = spec_of(ids.shape, int64, ids.device, ids.sbp)
        self._keys = np.zeros(0, np.int64)
        self._positions = np.zeros(0, np.int64)

    def read_rows(self, values: Values) -> Tensor:
        """Return the rows for a call."""
        ids = self._read_ids(values).numpy()
        tables = None if self._read_table_ids is None else self._read_table_ids(values).numpy()
        self._keys, tables, self._positions = self._distinct(ids, tables)
        return _distributed(
            self._find_rows(self._keys, tables, self.rows_spec.shape[0]), self.rows_spec
        )

    def positions(self, values: Values) -> Tensor:
        """Return the positions for the same call."""
        return _distributed(self._positions, self.positions_spec)

    def record(self, gradient: Tensor) -> LookupRecord:
        """Return the rows that a call has read, with their gradient."""
        gradients = gradient.numpy()[: len(self._keys)]
        keys, is_global = self._keys, self.rows_spec.sbp is not None
        if is_global:
            # All processes have all rows; each gives those that belong to it.
            is_local = owner_ranks(keys) == cluster.rank()
            keys, gradients = keys[is_local], gradients[is_local]
        read = from_data.from_numpy(np.zeros_like(gradients))
        read.grad = from_data.from_numpy(gradients)
        return LookupRecord(keys, read, is_global)


class LookupRecorder:
    """The lookups of one embedding in a step; called after each call of the step.

    Attributes:
        recorded: with the tensors that get the gradients of their rows.

    Args:
        embedding: the embedding.
    """

    def __init__(self, embedding: UpdatedRows) -> None:
        self._embedding = embedding
        self.recorded: list[tuple[RecordedLookup, Tensor]] = []

    def __call__(self, optimizers: Sequence[Optimizer]) -> list[Optimizer]:
        """Let the optimizer that has the parameter of the embedding update rows.

        Returns:
            That optimizer. Without one the gradients wait for `one_embedding.Optimizer`.
        """
        embedding = self._embedding
        for lookup, rows in self.recorded:
            gradient, rows.grad = rows.grad, None
            if gradient is not None:
                embedding.lookup_records.append(lookup.record(gradient))
        for optimizer in optimizers:
            groups = optimizer.param_groups
            if any(tensor is embedding.shadow for group in groups for tensor in group["params"]):
                update_rows(optimizer, embedding)
                return [optimizer]
        return []


def _distributed(array: np.ndarray, spec: TensorSpec) -> Tensor:
    local = from_data.from_numpy(array)
    if spec.sbp is None:
        return local.to(spec.device)
    replicated = local.to_global(placement=spec.device, sbp=[BROADCAST] * len(spec.sbp))
    return replicated.to_global(sbp=spec.sbp)
