"""The parts of a nested tensor: the elements of its components, and their shapes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

from oneflow.base.layout import Layout
from oneflow.tensor.tensor import Tensor

Shape = tuple[int, ...]
_numbers = itertools.count(1)


class RaggedSize:
    """The size of a dimension in which components differ: it is equal to itself only.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nested.nested_tensor([[1.0], [2.0, 3.0]], layout=flow.jagged)
        >>> size = x.size(1)
        >>> size == (x * 2).size(1), size == 2
        (True, False)
    """

    __slots__ = ("_factor", "_number")

    def __init__(self, number: int | None = None, factor: int = 1) -> None:
        self._number, self._factor = number or next(_numbers), factor

    def _key(self) -> tuple[int, int]:
        return self._number, self._factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __mul__(self, factor: int) -> RaggedSize:
        return RaggedSize(self._number, self._factor * factor)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"j{self._number}" if self._factor == 1 else f"{self._factor}*j{self._number}"


def _check_jagged(shapes: tuple[Shape, ...], ragged_dim: int) -> None:
    if not shapes:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    others = {tuple(s for d, s in enumerate(shape, 1) if d != ragged_dim) for shape in shapes}
    if not shapes[0] or len(others) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note"
            " that the jagged layout only allows for a single ragged dimension: shapes are"
            f" {list(shapes)}; the layout strided takes components of any sizes"
        )


@dataclass(frozen=True)
class NestedParts:
    """The parts of a nested tensor.

    Attributes:
        values: the elements of all components, one after another in the order of rows.
        shapes: the shapes of the components, all of as many dimensions.
        layout: `strided`, or `jagged` if the components differ in one dimension only.
        ragged: the size of that dimension of a jagged tensor, which results keep.
        ragged_dim: that dimension of a jagged tensor, counted with the one of components.
    """

    values: Tensor
    shapes: tuple[Shape, ...]
    layout: Layout = Layout.strided
    ragged: RaggedSize | None = None
    ragged_dim: int = 1

    def sizes(self) -> tuple[Any, ...]:
        """Sizes of the dimensions, that of components first; None or a `RaggedSize` if several."""
        sizes: list[Any] = [len(self.shapes)]
        for dim, lengths in enumerate(zip(*self.shapes, strict=True), 1):
            is_ragged = self.layout is Layout.jagged and dim == self.ragged_dim
            same = lengths[0] if len(set(lengths)) == 1 else None
            sizes.append(self.ragged if is_ragged else same)
        return tuple(sizes)

    def lengths(self) -> Shape:
        """The sizes of a jagged tensor's components in the dimension in which they differ."""
        return tuple(shape[self.ragged_dim - 1] for shape in self.shapes)

    def changed(
        self, values: Tensor, shapes: tuple[Shape, ...], ragged_dim: int | None = None
    ) -> NestedParts:
        """The parts of components of other shapes, in the same layout.

        Args:
            values: their elements.
            shapes: their shapes; a ragged size is kept only where lengths are the same.
            ragged_dim: the dimension in which components of a jagged tensor differ, if another.

        Raises:
            RuntimeError: components have other numbers of dimensions, or may not be jagged.
        """
        if len({len(shape) for shape in shapes}) > 1:
            raise RuntimeError(f"components must have as many dimensions, got shapes {shapes}")
        if self.layout is not Layout.jagged:
            return replace(self, values=values, shapes=shapes)
        place = self.ragged_dim if ragged_dim is None else ragged_dim
        _check_jagged(shapes, place)
        parts = replace(self, values=values, shapes=shapes, ragged_dim=place)
        is_same = parts.lengths() == self.lengths()
        return parts if is_same else replace(parts, ragged=RaggedSize())

    def regular(self) -> Shape:
        """The last sizes, those after the last dimension in which components may differ."""
        sizes = self.sizes()[1:]
        last = next((d for d in reversed(range(len(sizes))) if not isinstance(sizes[d], int)), -1)
        return sizes[last + 1 :]

    def components(self) -> list[Tensor]:
        """The components, views of the values."""
        lengths = [math.prod(shape) for shape in self.shapes]
        flat = self.values.split(lengths) if lengths else ()
        return [values.view(shape) for values, shape in zip(flat, self.shapes, strict=True)]
