"""`SparseTensor`: positions and the values there; everything else is 0.

Both are tensors of the ordinary kind, so that gradients of values, compiled programs and devices
are theirs. An operator that reads a sparse tensor as a whole one finds no value there and raises,
and `functional.registry` asks `oneflow.sparse.dispatch` instead.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn, SupportsIndex

from oneflow.base.composed_operand import SparseOperandError
from oneflow.base.layout import Layout
from oneflow.base.shape import Size
from oneflow.differentiation.grad_mode import is_grad_enabled
from oneflow.differentiation.node_names import short_name
from oneflow.functional.creation.factory_functions import arange, zeros
from oneflow.functional.index.coordinates import unravel_index
from oneflow.functional.index.search import searchsorted, unique
from oneflow.functional.shape.concat import stack
from oneflow.sparse.invariants import check
from oneflow.sparse.parts import INDEX_NAMES as INDEX_NAMES, SparseParts as SparseParts
from oneflow.tensor.composed import ComposedTensor
from oneflow.tensor.tensor import Tensor

_MOST_ELEMENTS = 2**63 - 1  # flat positions are int64


class SparseTensor(ComposedTensor):
    """A tensor that stores positions and the values there, see `oneflow.sparse_coo_tensor`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
        >>> x.indices().tolist(), x.values().tolist(), (x @ flow.ones(2, 1)).tolist()
        ([[0, 1], [1, 0]], [2.0, 3.0], [[2.0], [3.0]])
    """

    __slots__ = ("_parts",)
    _parts: SparseParts

    # --- what is known without reading values

    @property
    def _value(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise SparseOperandError(
            f"this operator does not take tensors of layout {self.layout}; `to_dense()` makes a"
            " tensor with all elements"
        )

    @property
    def is_sparse(self) -> bool:
        """True if positions are stored as coordinates."""
        return self._parts.layout is Layout.sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """True if positions are stored by compressed rows."""
        return self._parts.layout is Layout.sparse_csr

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions, sparse ones first."""
        return self._parts.size

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._parts.size)

    def size(self, idx: int | None = None) -> Any:
        """Return the shape, or the size of one dimension."""
        return self.shape if idx is None else self.shape[idx]

    def numel(self) -> int:
        """Return the number of elements, including zeros."""
        return self._parts.size.numel()

    def sparse_dim(self) -> int:
        """Return the number of dimensions whose positions are stored."""
        return self._parts.index[0].shape[0] if self.is_sparse else 2

    def dense_dim(self) -> int:
        """Return the number of dimensions of each value."""
        return self._parts.values.ndim - 1

    def _nnz(self) -> int:
        return self._parts.values.shape[0]

    def is_coalesced(self) -> bool:
        """Return whether it is known that no position occurs twice.

        Raises:
            RuntimeError: the layout is not `oneflow.sparse_coo`.
        """
        self._check(Layout.sparse_coo, "is_coalesced")
        return self._parts.coalesced

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Refuse to make one array of positions and values.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"a tensor of layout {self.layout} is no array; `to_dense().numpy()` has all elements"
        )

    def __iter__(self) -> Iterator[Tensor]:
        return (self[place] for place in range(len(self)))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        parts = self._parts
        named = dict(zip(INDEX_NAMES[parts.layout], parts.index, strict=True))
        lines = []
        for name, part in {**named, "values": parts.values.detach()}.items():
            indent = "\n" + " " * (len("tensor(") + len(name) + 1)
            lines.append(f"{name}={part!r}".replace("\n", indent))
        end = f"size={tuple(parts.size)}, nnz={self._nnz()}, layout={parts.layout}"
        if self.grad_fn is not None:
            end += f", grad_fn=<{short_name(self.grad_fn.name())}>"
        end += ", requires_grad=True" if self.requires_grad and self.is_leaf else ""
        return "tensor(" + ",\n       ".join([*lines, end]) + ")"

    # --- positions and values

    def _check(self, layout: Layout, name: str) -> None:
        if self._parts.layout is not layout:
            raise RuntimeError(f"`{name}` expects layout {layout}, got {self._parts.layout}")

    def _indices(self) -> Tensor:
        self._check(Layout.sparse_coo, "_indices")
        return self._parts.index[0]

    def _values(self) -> Tensor:
        return self._parts.values

    def indices(self) -> Tensor:
        """Return the coordinates: a row for each sparse dimension.

        Raises:
            RuntimeError: the tensor is not coalesced.
        """
        self._check_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        """Return the values at the positions.

        Raises:
            RuntimeError: the tensor is not coalesced.
        """
        self._check_coalesced("values")
        return self._parts.values

    def _check_coalesced(self, name: str) -> None:
        if not self._parts.coalesced:
            raise RuntimeError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
            )

    def crow_indices(self) -> Tensor:
        """Return where each row begins."""
        self._check(Layout.sparse_csr, "crow_indices")
        return self._parts.index[0]

    def col_indices(self) -> Tensor:
        """Return the columns of the values."""
        self._check(Layout.sparse_csr, "col_indices")
        return self._parts.index[1]

    def ccol_indices(self) -> Tensor:
        """Return where each column begins."""
        self._check(Layout.sparse_csc, "ccol_indices")
        return self._parts.index[0]

    def row_indices(self) -> Tensor:
        """Return the rows of the values."""
        self._check(Layout.sparse_csc, "row_indices")
        return self._parts.index[1]

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self._check(Layout.sparse_coo, "_coalesced_")
        self._put_parts(replace(self._parts, coalesced=coalesced), writes=1)
        return self

    def coalesce(self) -> SparseTensor:
        """Return the tensor with each position once, in order, and the sum of its values.

        Example:
            >>> import oneflow as flow
            >>> x = flow.sparse_coo_tensor([[1, 1, 0]], [1.0, 2.0, 3.0], (2,)).coalesce()
            >>> x.indices().tolist(), x.values().tolist()
            ([[0, 1]], [3.0, 3.0])
        """
        self._check(Layout.sparse_coo, "coalesce")
        parts = self._parts
        if parts.coalesced:
            return self
        index, inverse = _distinct_positions(parts)
        values = added_at(inverse, parts.values, index.shape[1])
        return sparse(replace(parts, index=(index,), values=values, coalesced=True))

    def with_gradient(self, values: Tensor) -> SparseTensor:
        """Return the gradient that has these values at the positions of this tensor.

        A position that occurs several times is there once: all its values have one gradient, and
        as values of a sparse tensor they would be added up.
        """
        parts = self._parts
        if parts.layout is not Layout.sparse_coo or parts.coalesced:
            return self.with_values(values)
        index, inverse = _distinct_positions(parts)
        empty = zeros(index.shape[1], *values.shape[1:], dtype=values.dtype, device=values.device)
        gradient = empty.index_copy(0, inverse, values)
        return sparse(replace(parts, index=(index,), values=gradient, coalesced=True))

    def with_values(self, values: Tensor) -> SparseTensor:
        """Return a tensor with other values at the same positions, and on their device."""
        index = tuple(positions.to(values.device) for positions in self._parts.index)
        size = Size((*self.shape[: self.sparse_dim()], *values.shape[1:]))
        return sparse(replace(self._parts, index=index, values=values, size=size))

    def gradient_of_elements(self, gradient: Tensor) -> Tensor:
        """Return the gradient of the values, of one with all elements or at the same positions.

        Positions of another sparse gradient that this tensor has not are left out.
        """
        if isinstance(gradient, SparseTensor):
            index, other_index = self._parts.index, gradient._parts.index
            if tuple(map(id, index)) == tuple(map(id, other_index)):
                return gradient._elements
            gradient = gradient.to_dense()
        return gradient[tuple(coordinates(self))]

    # --- copies

    def __copy__(self) -> SparseTensor:
        return sparse(replace(self._parts, values=copy.copy(self._parts.values)))

    def __deepcopy__(self, memo: dict[Any, Any]) -> SparseTensor:
        if id(self) not in memo:
            parts = self._parts
            index = copy.deepcopy(parts.index, memo)
            values = copy.deepcopy(parts.values, memo)
            memo[id(self)] = sparse(replace(parts, index=index, values=values))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return rebuild, described(self)

    def copy_(self, other: Tensor, non_blocking: bool = False) -> SparseTensor:
        """Take the positions and values of another sparse tensor; device and dtype stay."""
        if not isinstance(other, SparseTensor) or other.shape != self.shape:
            raise RuntimeError(
                "`copy_` of a sparse tensor needs one of the same shape, got"
                f" {other.layout}, {tuple(other.shape)} for {tuple(self.shape)}"
            )
        values = other._parts.values.detach().to(self.device, self.dtype)
        return self._replace_parts(other.with_values(values)._parts)

    def _replace_parts(self, parts: SparseParts) -> SparseTensor:
        """Become a tensor of other parts, as writes in place do.

        Raises:
            RuntimeError: the tensor is a leaf whose gradient is asked for.
        """
        requires_grad = self.is_leaf and self.requires_grad
        if requires_grad and is_grad_enabled():
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        self._put_parts(parts, writes=1)
        return self.requires_grad_() if requires_grad else self


def sparse(parts: SparseParts) -> SparseTensor:
    """The tensor of its parts."""
    if math.prod(parts.size) > _MOST_ELEMENTS:
        raise RuntimeError(
            f"`size` of a sparse tensor must have {_MOST_ELEMENTS} elements at most,"
            f" got {tuple(parts.size)}"
        )
    result = object.__new__(SparseTensor)
    result._parts = parts
    return result


def described(x: SparseTensor) -> tuple[Any, ...]:
    """The arguments from which `rebuild` makes a tensor, in files and pickles."""
    parts = x._parts
    return parts.layout.name, list(parts.index), parts.values, tuple(parts.size), parts.coalesced


def rebuild(
    layout: str, index: Sequence[Tensor], values: Tensor, size: Sequence[int], coalesced: bool
) -> SparseTensor:
    """The tensor that was described.

    Raises:
        RuntimeError: positions do not fit, as in a file that is damaged.
    """
    parts = SparseParts(Layout[layout], tuple(index), values, Size(size), coalesced)
    check(parts, in_order=parts.layout is Layout.sparse_coo)
    return sparse(parts)


def of_coordinates(
    index: Tensor, values: Tensor, size: Sequence[int], coalesced: bool = False
) -> SparseTensor:
    """A result of coordinates and values."""
    return sparse(SparseParts(Layout.sparse_coo, (index,), shared(values), Size(size), coalesced))


def shared(values: Tensor) -> Tensor:
    """Return an argument's values as a result's values, on the same memory.

    A result is no leaf, and has no history if none is recorded.
    """
    if values.requires_grad and (values.is_leaf or not is_grad_enabled()):
        return values.view_as(values)
    return values


def coordinates(x: SparseTensor) -> Tensor:
    """The coordinates of the values, in any layout: a row for each sparse dimension."""
    parts = x._parts
    if parts.layout is Layout.sparse_coo:
        return parts.index[0]
    starts, others = parts.index
    pair = (expanded(starts, others.shape[0]).to(others.dtype), others)
    return stack(pair if parts.layout is Layout.sparse_csr else pair[::-1])


def expanded(starts: Tensor, count: int) -> Tensor:
    """The row of each of some values, by where rows begin."""
    places = arange(count, dtype=starts.dtype, device=starts.device)
    return searchsorted(starts[1:].contiguous(), places, right=True)


def compressed(rows: Tensor, count: int) -> Tensor:
    """Return the position at which each row begins, from the rows of values, which are in order."""
    places = arange(count + 1, dtype=rows.dtype, device=rows.device)
    return searchsorted(rows.contiguous(), places)


def flat_index(index: Tensor, size: Sequence[int]) -> Tensor:
    """Positions in the order of rows, by coordinates."""
    if not index.shape[0]:
        return zeros(index.shape[1], device=index.device).long()
    flat = index[0]
    for row, extent in zip(index[1:], size[1:], strict=False):
        flat = flat * extent + row
    return flat


def _distinct_positions(parts: SparseParts) -> tuple[Tensor, Tensor]:
    """The positions of coordinates, each once and in order, and the place of each among them."""
    keys, inverse = unique(flat_index(parts.index[0], parts.size), return_inverse=True)
    sizes = parts.size[: parts.index[0].shape[0]]
    index = stack(unravel_index(keys, sizes)) if sizes else parts.index[0][:, : keys.shape[0]]
    return index, inverse


def added_at(places: Tensor, values: Tensor, count: int) -> Tensor:
    """The sum of the values at each place; of truth values whether one is true."""
    shape = (count, *values.shape[1:])
    if values.dtype.is_floating_point or values.dtype.is_complex:
        return zeros(shape, dtype=values.dtype, device=values.device).index_add(0, places, values)
    numbers = zeros(shape, device=values.device).long().index_add(0, places, values.long())
    return numbers.to(values.dtype)


def reduced_at(places: Tensor, values: Tensor, count: int, reduce: str) -> Tensor:
    """The values at each place, reduced as by `scatter_reduce`, zeros where there are none."""
    start = zeros(count, *values.shape[1:], dtype=values.dtype, device=values.device)
    index = places.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    return start.scatter_reduce(0, index, values, reduce, include_self=False)
