"""Packing and padding of sequences of different lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from oneflow.nn.packed import (
    PackedSequence as PackedSequence,
    batch_sizes_of,
    gathered,
    integers,
    invert_permutation as invert_permutation,
    lengths_of,
    rows_at,
    to_padded,
)
from oneflow.primitives.operators.elementwise import where
from oneflow.primitives.operators.shape import concat
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import filled_value, import_array
from oneflow.tuning.host_memory import require_host_memory


def _host_lengths(lengths: Any) -> np.ndarray:
    """Lengths as a NumPy array.

    Raises:
        RuntimeError: one of them is not positive.
    """
    array = lengths.numpy() if isinstance(lengths, Tensor) else np.asarray(lengths, np.int64)
    if array.ndim != 1:
        raise RuntimeError("expected `lengths` to be one-dimensional")
    if len(array) and array.min() <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0")
    return array


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: shape ``(steps, batch, *)``, or ``(batch, steps, *)`` with `batch_first`.
        lengths: length of each sequence, a list or a tensor.
        batch_first: see `input`.
        enforce_sorted: require the longest first; else they are sorted here.

    Raises:
        RuntimeError: `input` is empty, or `lengths` is not sorted, not positive, or of the wrong
            size.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
        >>> packed = flow.nn.utils.rnn.pack_padded_sequence(x, [2, 1, 3], True, False)
        >>> packed.data.tolist(), packed.batch_sizes.tolist()
        ([4, 1, 3, 5, 2, 6], [3, 2, 1])
    """
    if not input.numel():
        raise RuntimeError(f"Cannot pack empty tensors, got one of shape {list(input.shape)}")
    host = _host_lengths(lengths)
    padded = input.transpose(0, 1) if batch_first else input
    if len(host) != padded.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(host)} "
            f"(batch_size={padded.shape[1]})"
        )
    sorted_indices = None
    if enforce_sorted:
        if np.any(host[1:] > host[:-1]):
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
                "You can pass `enforce_sorted=False` to sort them here"
            )
    else:
        order = np.argsort(-host, kind="stable")
        host, sorted_indices = host[order], integers(order, input)
        padded = padded.index_select(1, sorted_indices)
    if host.max(initial=0) > padded.shape[0]:
        raise RuntimeError(
            f"Expected lengths up to {padded.shape[0]}, the size of `input`, got {host.max()}"
        )
    sizes = batch_sizes_of(host)
    return PackedSequence(
        gathered(padded, sizes), import_array(sizes.astype(np.int64)), sorted_indices
    )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Pad a packed batch again, in its original order.

    Args:
        sequence: the packed batch.
        batch_first: give ``(batch, steps, *)`` instead of ``(steps, batch, *)``.
        padding_value: what goes into the gaps.
        total_length: number of steps of the result; default: of the longest sequence.

    Returns:
        The padded tensor and the lengths.

    Example:
        >>> import oneflow as flow
        >>> rnn = flow.nn.utils.rnn
        >>> packed = rnn.pack_sequence([flow.tensor([4, 5, 6]), flow.tensor([1, 2])])
        >>> rnn.pad_packed_sequence(packed, batch_first=True)[0].tolist()
        [[4, 5, 6], [1, 2, 0]]
    """
    sizes = sequence.batch_sizes.numpy()
    lengths = lengths_of(sizes)
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {steps}"
            )
        require_host_memory("pad_packed_sequence", total_length + total_length * len(lengths) // 8)
        sizes = np.concatenate([sizes, np.zeros(total_length - steps, sizes.dtype)])
        steps = total_length
    padded, _ = to_padded(sequence._replace(batch_sizes=import_array(sizes)))
    padded = _filled(padded, np.arange(steps)[:, None] < lengths[None, :], padding_value)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.numpy()]
    return padded.transpose(0, 1) if batch_first else padded, import_array(lengths)


def _filled(rows: Tensor, exists: np.ndarray, value: float) -> Tensor:
    """`rows` where its first two dimensions exist, else `value`."""
    mask = import_array(exists.reshape(*exists.shape, *(1,) * (rows.ndim - 2)))
    padding_element = wrap(filled_value(value, (), rows.dtype, rows.device))
    return call(where, mask.to(rows.device), rows, padding_element)


def pad_sequence(
    sequences: Sequence[Tensor] | Tensor,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack tensors of different lengths, with padding.

    Args:
        sequences: tensors of shape ``(length, *)``.
        batch_first: give ``(batch, steps, *)`` instead of ``(steps, batch, *)``.
        padding_value: what goes into the gaps.
        padding_side: ``"right"`` or ``"left"``.

    Raises:
        RuntimeError: `sequences` is empty or no sequence, or there is no such `padding_side`.

    Example:
        >>> import oneflow as flow
        >>> parts = [flow.tensor([1, 2]), flow.tensor([3])]
        >>> flow.nn.utils.rnn.pad_sequence(parts, batch_first=True).tolist()
        [[1, 2], [3, 0]]
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be either 'right' or 'left', got {padding_side}")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences).__name__}"
        )
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    steps = max(part.shape[0] for part in parts)
    lengths = [part.shape[0] for part in parts]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    offsets = [steps - n if padding_side == "left" else 0 for n in lengths]
    step = np.arange(steps)[None, :] - np.array(offsets)[:, None]
    exists = (step >= 0) & (step < np.array(lengths)[:, None])
    joined = call(concat, *parts, dim=0)
    positions = np.where(exists, starts[:, None] + step, joined.shape[0] - 1)
    rows = rows_at(joined, integers(positions, joined))
    padded = _filled(rows, exists, padding_value)
    return padded if batch_first else padded.transpose(0, 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Cut padded sequences to their lengths.

    Args:
        padded_sequences: shape ``(steps, batch, *)``, or with `batch_first` ``(batch, steps, *)``.
        lengths: length of each sequence.
        batch_first: see `padded_sequences`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1, 2], [3, 0]])
        >>> parts = flow.nn.utils.rnn.unpad_sequence(x, flow.tensor([2, 1]), batch_first=True)
        >>> [part.tolist() for part in parts]
        [[1, 2], [3]]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    host = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [batch[number][:length] for number, length in enumerate(host)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of tensors of different lengths.

    Args:
        sequences: tensors of shape ``(length, *)``.
        enforce_sorted: require the longest first; else they are sorted here.

    Example:
        >>> import oneflow as flow
        >>> parts = [flow.tensor([1, 2]), flow.tensor([3])]
        >>> flow.nn.utils.rnn.pack_sequence(parts).data.tolist()
        [1, 3, 2]
    """
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that were packed, in their original order.

    Example:
        >>> import oneflow as flow
        >>> rnn = flow.nn.utils.rnn
        >>> packed = rnn.pack_sequence([flow.tensor([1, 2]), flow.tensor([3])])
        >>> [part.tolist() for part in rnn.unpack_sequence(packed)]
        [[1, 2], [3]]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), True)
