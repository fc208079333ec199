"""Flattening as a module."""

from __future__ import annotations

from typing import SupportsIndex

from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class Flatten(Module):
    """Merges a range of dimensions into one.

    Args:
        start_dim: first dimension to merge.
        end_dim: last dimension to merge.

    Shape:
        input: ``(*)``, any shape with these dimensions, usually ``(N, *)``.
        output: the input's shape with their product in their place.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Flatten()(flow.ones(32, 1, 5, 5)).shape
        oneflow.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: sizes it is split into.

    Raises:
        TypeError: `unflattened_size` is no sequence of whole numbers.

    Shape:
        input: ``(*)``, any shape with dimension `dim`.
        output: the input's shape with `unflattened_size` in place of that dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Unflatten(1, (2, 3))(flow.ones(4, 6)).shape
        oneflow.Size([4, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                f"`unflattened_size` must be a tuple of ints, got {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, SupportsIndex):
                raise TypeError(
                    "`unflattened_size` must be a tuple of ints, got "
                    f"{type(size).__name__} at {position}"
                )
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
