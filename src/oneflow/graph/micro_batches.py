"""Micro batches: arguments split along dimension 0, results put together along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.functional.joining import cat, stack
from oneflow.graph.structure import put_together, take_apart
from oneflow.tensor.tensor import Tensor


def split(tensors: Sequence[Tensor], count: int) -> list[list[Tensor]]:
    """The tensors of each of `count` micro batches; 0-dim tensors are in all of them.

    Raises:
        ValueError: a tensor cannot be split into equal parts.
    """
    for index, tensor in enumerate(tensors):
        if tensor.ndim and tensor.shape[0] % count:
            raise ValueError(
                f"gradient accumulation in {count} steps needs dimension 0 of every argument to "
                f"be a multiple of {count}; tensor argument {index} has shape {tuple(tensor.shape)}"
            )
    return [[_part(tensor, index, count) for tensor in tensors] for index in range(count)]


def _part(tensor: Tensor, index: int, count: int) -> Tensor:
    if not tensor.ndim:
        return tensor
    size = tensor.shape[0] // count
    return tensor[index * size : (index + 1) * size]


def joined(results: Sequence[Any]) -> Any:
    """The results of all micro batches as one: concatenated, 0-dim tensors stacked.

    Raises:
        ValueError: they differ in structure.
    """
    parts: list[list[Tensor]] = [[] for _ in results]
    structures = [
        take_apart(each, tensors, "a result of `build`")
        for each, tensors in zip(results, parts, strict=True)
    ]
    if any(each != structures[0] for each in structures):
        raise ValueError("`build` returned another structure for another micro batch")
    whole = [
        (cat if column[0].ndim else stack)([each.detach() for each in column])
        for column in zip(*parts, strict=True)
    ]
    return put_together(structures[0], iter(whole))
