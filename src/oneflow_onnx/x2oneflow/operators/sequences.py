"""Sequences and optionals: lists of values, and values that may be absent."""

from __future__ import annotations

from typing import Any

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import Value, as_host, as_tensor, integer, integers


def _position(index: Value, length: int, at_end: bool = False) -> int:
    place = integer(index)
    limit = length if at_end else length - 1
    if not -length <= place <= limit:
        raise ValueError(f"position {place} in a sequence of {length}")
    return place + length if place < 0 else place


@operator("SequenceEmpty", since=11, evaluation=Evaluation.ANY)
def sequence_empty(*, dtype: int = 1) -> list[Value]:
    """Return a sequence without elements."""
    return []


@operator("SequenceConstruct", since=11, evaluation=Evaluation.ANY)
def sequence_construct(*elements: Value) -> list[Value]:
    """Return the sequence of the operands."""
    return list(elements)


@operator("SequenceInsert", since=11, evaluation=Evaluation.ANY)
def sequence_insert(sequence: list[Value], element: Value, position: Value = None) -> list[Value]:
    """Return a sequence with one more element, at the end by default."""
    count = len(sequence)
    place = count if position is None else _position(position, count, at_end=True)
    return [*sequence[:place], element, *sequence[place:]]


@operator("SequenceErase", since=11, evaluation=Evaluation.ANY)
def sequence_erase(sequence: list[Value], position: Value = None) -> list[Value]:
    """Return a sequence without one element, the last by default."""
    count = len(sequence)
    place = count - 1 if position is None else _position(position, count)
    return [*sequence[:place], *sequence[place + 1 :]]


@operator("SequenceAt", since=11, evaluation=Evaluation.ANY)
def sequence_at(sequence: list[Value], position: Value) -> Value:
    """Return one element."""
    return sequence[_position(position, len(sequence))]


@operator("SequenceLength", since=11, evaluation=Evaluation.ANY)
def sequence_length(sequence: list[Value]) -> np.ndarray:
    """Return the number of elements."""
    return np.asarray(len(sequence), np.int64)


@operator("ConcatFromSequence", since=11, evaluation=Evaluation.ANY)
def concat_from_sequence(sequence: list[Value], *, axis: int, new_axis: int = 0) -> Value:
    """Join the elements along `axis`, or stack them along a new one."""
    if all(isinstance(element, np.ndarray) for element in sequence):
        return (np.stack if new_axis else np.concatenate)(sequence, axis)
    like = next(element for element in sequence if isinstance(element, Tensor))
    tensors = [as_tensor(element, like) for element in sequence]
    return (flow.stack if new_axis else flow.cat)(tensors, axis)


@operator("SplitToSequence", since=11, evaluation=Evaluation.ANY)
def split_to_sequence(
    x: Value, split: Value = None, *, axis: int = 0, keepdims: int = 1
) -> list[Value]:
    """Cut a value into a sequence of parts: of a size, of sizes, or of size 1."""
    length = x.shape[axis]
    if split is None:
        sizes = [1] * length
    elif np.ndim(as_host(split)) == 0:
        part = integer(split)
        sizes = [min(part, length - start) for start in range(0, length, part)]
    else:
        sizes = integers(split)
    if isinstance(x, np.ndarray):
        parts: list[Any] = np.split(x, np.cumsum(sizes)[:-1], axis)
    else:
        parts = list(flow.split(x, sizes, axis))
    if split is None and not keepdims:
        return [part.squeeze(axis) for part in parts]
    return parts


@operator("Optional", since=15, evaluation=Evaluation.ANY)
def optional(value: Value = None, *, type: Any = None) -> Value:
    """Return a value that may be absent."""
    return value


@operator("OptionalHasElement", since=15, evaluation=Evaluation.ANY)
def optional_has_element(value: Value = None) -> np.ndarray:
    """Tell whether a value is there."""
    return np.asarray(value is not None)


@operator("OptionalGetElement", since=15, evaluation=Evaluation.ANY)
def optional_get_element(value: Value = None) -> Value:
    """Return the value of an optional."""
    if value is None:
        raise ValueError("the optional is empty")
    return value
