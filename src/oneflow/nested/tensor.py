"""`NestedTensor`: tensors of as many dimensions and different sizes, held as one.

Their elements lie one after another in a tensor of the ordinary kind, so that gradients, compiled
programs and devices are its own. An operator that reads a nested tensor as one array finds none and
raises, and `functional.registry` asks `oneflow.nested.dispatch` instead.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn, SupportsIndex

from oneflow.base.composed_operand import NestedOperandError
from oneflow.base.dtype import int64
from oneflow.base.layout import Layout
from oneflow.base.shape import Size, wrap_dim
from oneflow.differentiation.node_names import short_name
from oneflow.functional.creation.from_data import tensor as make_tensor
from oneflow.functional.shape.concat import cat
from oneflow.nested.parts import NestedParts, RaggedSize
from oneflow.primitives.strides import row_major
from oneflow.tensor.composed import ComposedTensor
from oneflow.tensor.tensor import Tensor


class NestedTensor(ComposedTensor):
    """Tensors of different sizes held as one, see `oneflow.nested.nested_tensor`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nested.nested_tensor([flow.ones(2, 3), flow.ones(4, 3)])
        >>> y = flow.nn.Linear(3, 5)(x)
        >>> [part.shape for part in y.unbind()]
        [oneflow.Size([2, 5]), oneflow.Size([4, 5])]
        >>> y.to_padded_tensor(0.0).shape
        oneflow.Size([2, 4, 5])
    """

    __slots__ = ("_parts",)
    _parts: NestedParts
    is_nested = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    @property
    def _value(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise NestedOperandError(
            "this operator does not take nested tensors; `unbind()` gives the components,"
            " `to_padded_tensor(0.0)` a tensor of one size"
        )

    @property
    def ndim(self) -> int:
        """Number of dimensions, including the dimension of components."""
        return 1 + (len(self._parts.shapes[0]) if self._parts.shapes else 0)

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions; that in which components differ is a `RaggedSize`.

        Raises:
            RuntimeError: the layout is not `jagged`.
        """
        if self.layout is not Layout.jagged:
            raise NestedOperandError(
                "nested tensors of layout strided have no shape; ask `size(dim)` for a dimension"
                " in which components do not differ"
            )
        return tuple.__new__(Size, self._parts.sizes())

    def size(self, dim: int | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the shape, or the size of one dimension.

        Raises:
            RuntimeError: components differ there, and the layout is not `jagged`.
        """
        if dim is None:
            return self.shape
        size = self._parts.sizes()[wrap_dim(dim, self.ndim)]
        if size is None:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return size

    def _nested_tensor_size(self) -> Tensor:
        """Return the sizes of the components: a row for each."""
        shapes = self._strided_shapes("_nested_tensor_size")
        return make_tensor(shapes, dtype=int64).reshape(len(shapes), -1)

    def _nested_tensor_strides(self) -> Tensor:
        """Return the strides of the components: a row for each."""
        shapes = self._strided_shapes("_nested_tensor_strides")
        strides = [row_major(shape) for shape in shapes]
        return make_tensor(strides, dtype=int64).reshape(len(shapes), -1)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Return where each component begins in `values`."""
        counts = map(math.prod, self._strided_shapes("_nested_tensor_storage_offsets"))
        return make_tensor([*itertools.accumulate(counts, initial=0)][:-1], dtype=int64)

    def _strided_shapes(self, name: str) -> Sequence[Sequence[int]]:
        if self.layout is Layout.jagged:
            raise NestedOperandError(
                f"`{name}` is of nested tensors of layout strided; jagged ones have `offsets()`"
            )
        return self._parts.shapes

    def numel(self) -> int:
        """Return the number of elements of all components."""
        return self._parts.values.shape[0]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return True: components lie one after another."""
        return True

    def __len__(self) -> int:
        return len(self._parts.shapes)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.layout is Layout.jagged:
            return self._jagged_text()
        if not len(self):
            return "nested_tensor([\n\n])"
        parts = [repr(part.detach()).replace("\n", "\n  ") for part in self.unbind()]
        end = ""
        if self.grad_fn is not None:
            end = f", grad_fn=<{short_name(self.grad_fn.name())}>"
        elif self.requires_grad:
            end = ", requires_grad=True"
        return "nested_tensor([\n  " + ",\n  ".join(parts) + f"\n]{end})"

    def _jagged_text(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        text = f"NestedTensor(size=({sizes}), offsets={self.offsets()!r}"
        if self.grad_fn is not None:
            text += f", grad_fn=<{short_name(self.grad_fn.name())}>"
        elif self.requires_grad:
            text += ", requires_grad=True"
        return text + ", contiguous=True)"

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """Return the components, views on the memory of this tensor.

        Raises:
            RuntimeError: `dim` is not 0.
        """
        if wrap_dim(dim, self.ndim) != 0:
            raise RuntimeError(f"`unbind` of nested tensors goes along dimension 0, got {dim}")
        return tuple(self._parts.components())

    def values(self) -> Tensor:
        """Return the elements: of a jagged tensor the components joined where they differ."""
        parts = self._parts
        if parts.layout is not Layout.jagged:
            return parts.values
        if parts.ragged_dim == 1:
            return parts.values.view(-1, *parts.shapes[0][1:])
        return cat(parts.components(), parts.ragged_dim - 1)

    def offsets(self) -> Tensor:
        """Return where each component of a jagged tensor begins in `values`, and the end."""
        ends = [0]
        for length in self._lengths():
            ends.append(ends[-1] + length)
        return make_tensor(ends, device=self.device).long()

    def lengths(self) -> None:
        """Return None: nothing lies between the components of a jagged tensor."""
        self._lengths()

    def _lengths(self) -> Sequence[int]:
        if self.layout is not Layout.jagged:
            raise AttributeError("nested tensors of layout strided have no offsets")
        return self._parts.lengths()

    # --- autograd: a nested tensor's gradient is its values' gradient

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Compute gradients, given this tensor's gradient."""
        values = gradient._parts.values if isinstance(gradient, NestedTensor) else gradient
        self._parts.values.backward(values, *args, **kwargs)

    def with_values(self, values: Tensor) -> NestedTensor:
        """Return a tensor of components of the same shapes."""
        return nested(replace(self._parts, values=values))

    # --- copies

    def __copy__(self) -> NestedTensor:
        return self.with_values(copy.copy(self._parts.values))

    def __deepcopy__(self, memo: dict[Any, Any]) -> NestedTensor:
        if id(self) not in memo:
            memo[id(self)] = self.with_values(copy.deepcopy(self._parts.values, memo))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return rebuild, described(self)


def nested(parts: NestedParts) -> NestedTensor:
    """The tensor of its parts."""
    result = object.__new__(NestedTensor)
    result._parts = parts
    return result


def described(x: NestedTensor) -> tuple[Any, ...]:
    """The arguments from which `rebuild` makes a tensor, in files and pickles."""
    parts = x._parts
    return (
        parts.values,
        [list(shape) for shape in parts.shapes],
        parts.layout.name,
        parts.ragged_dim,
    )


def rebuild(
    values: Tensor, shapes: Sequence[Sequence[int]], layout: str, ragged_dim: int
) -> NestedTensor:
    """The tensor that a pickle describes.

    Raises:
        RuntimeError: the number of elements is not that of the shapes.
    """
    shape_tuples = tuple(tuple(shape) for shape in shapes)
    if values.shape != (sum(map(math.prod, shape_tuples)),):
        raise RuntimeError(
            f"components of shapes {shape_tuples} do not fit {values.shape} elements"
        )
    ragged = RaggedSize() if Layout[layout] is Layout.jagged else None
    return nested(NestedParts(values, shape_tuples, Layout[layout], ragged, ragged_dim))


def join(
    components: Sequence[Tensor], like: NestedParts, ragged_dim: int | None = None
) -> NestedTensor:
    """A nested tensor of components in the layout of another.

    Args:
        components: the components.
        like: the parts of the other tensor.
        ragged_dim: the dimension in which components of a jagged tensor differ, if another.

    Raises:
        RuntimeError: components have other numbers of dimensions, or may not be jagged.
    """
    shapes = tuple(tuple(part.shape) for part in components)
    flat = [part.reshape(-1) for part in components]
    return nested(like.changed(cat(flat) if flat else like.values[:0], shapes, ragged_dim))
