"""Micro batches: arguments split along dimension 0, results concatenated along it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from oneflow.functional.shape.concat import cat, stack
from oneflow.graph.pytree import tree_flatten, tree_unflatten
from oneflow.primitives.shard_shapes import split_counts
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class MicroBatches:
    """The tensors of a call, split along dimension 0; 0-dim tensors are in all micro batches.

    Each micro batch takes some rows of every device of a global tensor that is split over devices
    along that dimension, so that no data are transferred.

    Args:
        tensors: the tensors.
        count: number of micro batches.

    Raises:
        ValueError: a tensor cannot be split into equal parts.
    """

    def __init__(self, tensors: Sequence[Tensor], count: int) -> None:
        for index, tensor in enumerate(tensors):
            if tensor.ndim and tensor.shape[0] % count:
                raise ValueError(
                    f"gradient accumulation in {count} steps needs dimension 0 of every argument "
                    f"to be a multiple of {count}; tensor argument {index} has shape "
                    f"{tuple(tensor.shape)}"
                )
        self._tensors = tensors
        self._count = count
        self._devices = _devices_along_rows(tensors, count)

    def __iter__(self) -> Iterator[list[Tensor]]:
        for index in range(self._count):
            yield [self._part(tensor, index) for tensor in self._tensors]

    def _part(self, tensor: Tensor, index: int) -> Tensor:
        if not tensor.ndim:
            return tensor
        size = tensor.shape[0] // self._count
        if self._devices == 1:
            return tensor[index * size : (index + 1) * size]
        rest = tensor.shape[1:]
        grouped = tensor.reshape(self._devices, self._count, size // self._devices, *rest)
        return grouped[:, index].reshape(size, *rest)

    def concat(self, results: Sequence[Any]) -> Any:
        """Return the results of all micro batches as one: concatenated, 0-dim tensors stacked.

        Raises:
            ValueError: they differ in structure.
        """
        parts: list[list[Tensor]] = [[] for _ in results]
        trees = [
            tree_flatten(result, tensors, "a result of `build`")
            for result, tensors in zip(results, parts, strict=True)
        ]
        if any(tree != trees[0] for tree in trees):
            raise ValueError("`build` returned another structure for another micro batch")
        columns = [
            self._concat([tensor.detach() for tensor in column])
            for column in zip(*parts, strict=True)
        ]
        return tree_unflatten(trees[0], iter(columns))

    def _concat(self, parts: list[Tensor]) -> Tensor:
        first = parts[0]
        if not first.ndim:
            return stack(parts)
        if self._devices == 1 or first.shape[0] % self._devices:
            return cat(parts)
        rest = first.shape[1:]
        grouped = [part.reshape(self._devices, 1, -1, *rest) for part in parts]
        return cat(grouped, dim=1).reshape(-1, *rest)


def _devices_along_rows(tensors: Sequence[Tensor], count: int) -> int:
    """The number of devices that split dimension 0, if they can split micro batches; else 1."""
    devices = 1
    for tensor in tensors:
        spec = unwrap(tensor).spec
        if spec.sbp is not None and spec.ndim:
            devices = max(devices, math.prod(split_counts(spec.device.hierarchy, spec.sbp, 0)))
    even = all(not tensor.ndim or tensor.shape[0] % (devices * count) == 0 for tensor in tensors)
    return devices if even else 1
