"""Conversion between nested tensors and padded tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oneflow.functional.creation.factory_functions import full
from oneflow.functional.creation.from_data import from_numpy
from oneflow.functional.index.gather import index_select
from oneflow.nested.parts import NestedParts
from oneflow.nested.tensor import NestedTensor
from oneflow.tensor.tensor import Tensor


def largest(parts: NestedParts) -> tuple[int, ...]:
    """The sizes that hold each component."""
    return tuple(max(lengths) for lengths in zip(*parts.shapes, strict=True))


def places(parts: NestedParts, sizes: Sequence[int], row_dims: int) -> Tensor:
    """The rows of a padded tensor that hold the components' rows.

    Args:
        parts: the components.
        sizes: the sizes of the padded tensor, without that of components.
        row_dims: the number of last dimensions that make a row, in which all sizes are equal.
    """
    leading = len(sizes) - row_dims
    grid = tuple(sizes[:leading])
    count = len(parts.shapes)
    rows = np.arange(count * math.prod(grid)).reshape(count, *grid)
    positions = [
        number_rows[tuple(slice(extent) for extent in shape[:leading])].reshape(-1)
        for number_rows, shape in zip(rows, parts.shapes, strict=True)
    ]
    return from_numpy(np.concatenate(positions)).to(parts.values.device)


def to_padded_tensor(
    input: NestedTensor, padding: float, output_size: Sequence[int] | None = None
) -> Tensor:
    """Return the components in a tensor of one size, beginning at 0 in each dimension.

    Args:
        input: the nested tensor.
        padding: what fills the rest.
        output_size: the shape of the result; by default the smallest that holds all components.

    Raises:
        RuntimeError: `output_size` does not hold them, or `input` is not nested.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nested.nested_tensor([[1.0], [2.0, 3.0]])
        >>> flow.nested.to_padded_tensor(x, 0.0).tolist()
        [[1.0, 0.0], [2.0, 3.0]]
    """
    if not isinstance(input, NestedTensor):
        raise RuntimeError(
            f"`to_padded_tensor` takes a nested tensor, got {type(input).__name__};"
            " a tensor of one size needs no padding"
        )
    parts = input._parts
    if not parts.shapes and output_size is None:
        return parts.values
    needed = largest(parts)
    sizes = needed if output_size is None else tuple(output_size)[1:]
    is_valid = len(sizes) == len(needed) and all(a >= b for a, b in zip(sizes, needed, strict=True))
    if not is_valid or (output_size is not None and output_size[0] != len(parts.shapes)):
        raise RuntimeError(
            f"`output_size` must hold all components, {(len(parts.shapes), *needed)},"
            f" got {tuple(output_size or ())}"
        )
    regular = parts.regular()
    row = regular if sizes[len(sizes) - len(regular) :] == regular else ()
    where = places(parts, sizes, len(row))
    grid = sizes[: len(sizes) - len(row)]
    shape = (len(parts.shapes) * math.prod(grid), *row)
    batch = full(shape, padding, dtype=input.dtype, device=input.device)
    filled = batch.index_copy(0, where, parts.values.view(where.shape[0], *row))
    return filled.reshape(len(parts.shapes), *sizes)


def unpadded(padded: Tensor, parts: NestedParts) -> Tensor:
    """The elements of components in a padded tensor, whose last dimension they fill."""
    where = places(parts, padded.shape[1:], 1)
    rows = padded.reshape(-1, padded.shape[-1])
    return index_select(rows, 0, where).reshape(-1)
