"""`einsum` as products of batches of matrices, of one pair of operands after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from oneflow.functional.linalg.einsum import operands_and_labels
from oneflow.mock_torch.python_dispatch.decompositions import composition
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.tensor.tensor import Tensor

Labels = Sequence[int]


@composition("einsum")
def _einsum(*args: Any) -> Tensor:
    operands, inputs, output = operands_and_labels(args)
    dtype = operands[0].dtype
    is_diagonal = any(len(set(labels)) < len(labels) for labels in inputs)
    if len(operands) == 1 or is_diagonal or not (dtype.is_floating_point or dtype.is_complex):
        return NotImplemented
    sizes: dict[int, int] = {}
    for operand, labels in zip(operands, inputs, strict=True):
        for label, size in zip(labels, operand.shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    result, labels = _expanded(operands[0], inputs[0], sizes), inputs[0]
    for place in range(1, len(operands)):
        operand = _expanded(operands[place], inputs[place], sizes)
        needed = {*output, *(label for later in inputs[place + 1 :] for label in later)}
        result, labels = _product(result, labels, operand, inputs[place], needed, sizes)
    return _in_order(result, labels, output)


def _expanded(operand: Tensor, labels: Labels, sizes: Mapping[int, int]) -> Tensor:
    shape = [sizes[label] for label in labels]
    return operand if list(operand.shape) == shape else operand.expand(shape)


def _in_order(operand: Tensor, labels: Labels, order: Labels) -> Tensor:
    return operand.permute([labels.index(label) for label in order])


def _product(
    left: Tensor,
    left_labels: Labels,
    right: Tensor,
    right_labels: Labels,
    needed: set[int],
    sizes: Mapping[int, int],
) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over the labels that nobody needs, and its labels."""
    left, left_labels = _summed(left, left_labels, {*needed, *right_labels})
    right, right_labels = _summed(right, right_labels, {*needed, *left_labels})
    both = [label for label in left_labels if label in right_labels]
    batch = [label for label in both if label in needed]
    inner = [label for label in both if label not in needed]
    rows = [label for label in left_labels if label not in both]
    columns = [label for label in right_labels if label not in both]
    labels = [*batch, *rows, *columns]
    left = _in_order(left, left_labels, [*batch, *rows, *inner])
    right = _in_order(right, right_labels, [*batch, *inner, *columns])
    if not inner:
        shape = [sizes[label] for label in (*batch, *rows)] + [1] * len(columns)
        right_shape = [sizes[label] for label in batch] + [1] * len(rows)
        right_shape += [sizes[label] for label in columns]
        return left.reshape(shape) * right.reshape(right_shape), labels
    counts = [math.prod(sizes[label] for label in part) for part in (batch, rows, inner, columns)]
    product = operator(
        "bmm",
        left.reshape([counts[0], counts[1], counts[2]]),
        right.reshape([counts[0], counts[2], counts[3]]),
    )
    return product.view([sizes[label] for label in labels]), labels


def _summed(operand: Tensor, labels: Labels, needed: set[int]) -> tuple[Tensor, Labels]:
    dims = [dim for dim, label in enumerate(labels) if label not in needed]
    if not dims:
        return operand, labels
    return operand.sum(dims), [label for label in labels if label in needed]
