"""Sequences of different lengths in one tensor, step by step and without padding."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oneflow.base.dtype import int8, int16, int64, uint8
from oneflow.primitives.operators.embedding import embedding
from oneflow.primitives.operators.indexing import index as index_primitive
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """A batch of sequences of different lengths; made by `pack_padded_sequence` and its relatives.

    Args:
        data: the elements: all sequences' first ones, then their second ones, ...
        batch_sizes: how many sequences have a first element, a second one, ...
        sorted_indices: which sequence of the batch comes first, second, ... by length.
        unsorted_indices: the inverse of that permutation.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import PackedSequence, pad_packed_sequence
        >>> packed = PackedSequence(flow.tensor([1, 4, 2, 5, 3]), flow.tensor([2, 2, 1]))
        >>> pad_packed_sequence(packed, batch_first=True)[0].tolist()
        [[1, 2, 3], [4, 5, 0]]
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert or move the data; takes what `Tensor.to` takes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [
            None if indices is None else indices.to(data.device)
            for indices in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self) -> PackedSequence:
        """Move the data to the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move the data to a GPU."""
        return self.to(*(args or ("cuda",)), **kwargs)

    def double(self) -> PackedSequence:
        """The data as float64."""
        return self._with(self.data.double())

    def float(self) -> PackedSequence:
        """The data as float32."""
        return self._with(self.data.float())

    def half(self) -> PackedSequence:
        """The data as float16."""
        return self._with(self.data.half())

    def long(self) -> PackedSequence:
        """The data as int64."""
        return self._with(self.data.long())

    def int(self) -> PackedSequence:
        """The data as int32."""
        return self._with(self.data.int())

    def short(self) -> PackedSequence:
        """The data as int16."""
        return self._with(self.data.to(int16))

    def char(self) -> PackedSequence:
        """The data as int8."""
        return self._with(self.data.to(int8))

    def byte(self) -> PackedSequence:
        """The data as uint8."""
        return self._with(self.data.to(uint8))

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return self.data.device.type == "cuda"

    def is_pinned(self) -> bool:
        """Always False: XLA pins memory itself."""
        return False

    def pin_memory(self) -> PackedSequence:
        """The same: XLA pins memory itself."""
        return self

    def _with(self, data: Tensor) -> PackedSequence:
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)


def integers(numbers: Any, like: Tensor) -> Tensor:
    """Integers as an int64 tensor on the device of `like`."""
    return import_array(np.asarray(numbers), int64, like.device)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation given as indices; None stays None.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import invert_permutation
        >>> invert_permutation(flow.tensor([2, 0, 1])).tolist()
        [1, 2, 0]
    """
    if permutation is None:
        return None
    return integers(np.argsort(permutation.numpy()), permutation)


def lengths_of(batch_sizes: np.ndarray) -> np.ndarray:
    """Lengths of the sequences, longest first, from how many have each step."""
    sequences = batch_sizes[0] if len(batch_sizes) else 0
    return (batch_sizes[None, :] > np.arange(sequences)[:, None]).sum(1)


def batch_sizes_of(lengths: np.ndarray) -> np.ndarray:
    """Number of sequences that reach each step, from their lengths."""
    steps = lengths.max() if len(lengths) else 0
    return (lengths[None, :] > np.arange(steps)[:, None]).sum(1)


def rows_at(rows: Tensor, positions: Tensor) -> Tensor:
    """``rows[positions]`` along the first dimension."""
    if rows.ndim == 2:
        return call(embedding, positions, rows)
    return call(index_primitive, rows, positions, dims=(0,))


def to_padded(packed: PackedSequence) -> tuple[Tensor, Tensor]:
    """The data as ``(steps, batch, ...)``, with anything in the gaps, and the lengths."""
    sizes = packed.batch_sizes.numpy()
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    lane = np.arange(sizes[0])[None, :]
    positions = np.where(lane < sizes[:, None], starts[:, None] + lane, 0)
    lengths = integers(lengths_of(sizes), packed.data)
    return rows_at(packed.data, integers(positions, packed.data)), lengths


def gathered(padded: Tensor, batch_sizes: np.ndarray) -> Tensor:
    """The opposite of `to_padded`: the steps that exist, one after the other."""
    batch = padded.shape[1]
    lane = np.arange(batch)[None, :]
    step = np.arange(len(batch_sizes))[:, None]
    positions = (step * batch + lane)[lane < batch_sizes[:, None]]
    rows = padded.reshape((padded.shape[0] * batch, *padded.shape[2:]))
    return rows_at(rows, integers(positions, padded))
