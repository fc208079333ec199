"""Methods of sparse tensors: of one element, like another tensor, and in place of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from oneflow.base.composed_operand import SparseOperandError
from oneflow.base.device import Device
from oneflow.base.layout import Layout
from oneflow.base.shape import Size
from oneflow.functional.creation.factory_functions import empty
from oneflow.sparse.creation import sparse_coo_tensor, to_dense, without_values
from oneflow.sparse.operators import check_coordinates, new_zeros
from oneflow.sparse.products import smm, sspaddmm
from oneflow.sparse.tensor import SparseTensor
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor

#: Methods that read one element, and refuse more.
_OF_ONE_ELEMENT = "item __bool__ __index__ _number"
#: Methods that give parts of sparse tensors, with an example for ``[[0.0, 5.0]]``.
_PART_METHODS = {
    "coalesce": ("to_sparse().coalesce().to_dense().tolist()", [[0.0, 5.0]]),
    "is_coalesced": ("to_sparse().is_coalesced()", True),
    "indices": ("to_sparse().indices().tolist()", [[0], [1]]),
    "values": ("to_sparse().values().tolist()", [5.0]),
    "crow_indices": ("to_sparse_csr().crow_indices().tolist()", [0, 1]),
    "col_indices": ("to_sparse_csr().col_indices().tolist()", [1]),
    "ccol_indices": ("to_sparse_csc().ccol_indices().tolist()", [0, 0, 1]),
    "row_indices": ("to_sparse_csc().row_indices().tolist()", [0]),
}


def _of_one_element(name: str) -> Callable[..., Any]:
    def method(self: SparseTensor, *args: Any) -> Any:
        # Several elements are refused by their number.
        dense = to_dense(self) if self.numel() == 1 else empty(self.shape, device="meta")
        return getattr(dense, name)(*args)

    method.__name__ = name
    return method


def _new(self: SparseTensor, *args: Any, device: Device | str | None = None) -> Tensor:
    """Return a tensor of sizes that stores nothing, or one of positions, values and a shape."""
    check_coordinates("new", self)
    device = self.device if device is None else device
    if args and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, dtype=self.dtype, device=device)
    return new_zeros(self, *(args or (0,)), device=device)


def _new_tensor(self: SparseTensor, data: Any, **options: Any) -> Tensor:
    """Return a dense tensor of data, by default of the tensor's dtype and device."""
    return empty(0, dtype=self.dtype, device=self.device).new_tensor(data, **options)


def _require_coordinates(name: str, x: Tensor) -> SparseTensor:
    if not isinstance(x, SparseTensor) or not x.is_sparse:
        raise SparseOperandError(
            f"`{name}` is for tensors of layout {Layout.sparse_coo}, got {x.layout}"
        )
    return x


def sparse_resize_(
    self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int
) -> SparseTensor:
    """Give a sparse tensor another shape, in place.

    Args:
        self: a tensor of layout `oneflow.sparse_coo`.
        size: the shape. A tensor that stores values keeps its numbers of dimensions, and none
            becomes shorter.
        sparse_dim: the number of sparse dimensions.
        dense_dim: the number of dense dimensions.

    Returns:
        The tensor. Values along longer dense dimensions are arbitrary.

    Raises:
        RuntimeError: the numbers do not fit; or values are stored, and a number of dimensions
            would change, or a dimension become shorter.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 5.0]]).to_sparse()
        >>> x.sparse_resize_((2, 3), 2, 0).to_dense().tolist()
        [[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
    """
    x = _require_coordinates("sparse_resize_", self)
    _check_dimensions(size, sparse_dim, dense_dim)
    if not x._nnz():
        return _without_values(x, size, dense_dim)
    for kind, old, new in (
        ("sparse", x.sparse_dim(), sparse_dim),
        ("dense", x.dense_dim(), dense_dim),
    ):
        if old != new:
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {old} to {new}) on a non-empty"
                " sparse tensor is not supported; `sparse_resize_and_clear_` does so and stores"
                " nothing"
            )
    if any(new < old for old, new in zip(x.shape, size, strict=True)):
        raise RuntimeError(
            f"shrinking the size (from {list(x.shape)} to {list(size)}) of a non-empty sparse"
            " tensor is not supported; `sparse_resize_and_clear_` does so and stores nothing"
        )
    values, size_of_value = x._values(), tuple(size[sparse_dim:])
    if size_of_value != tuple(values.shape[1:]):
        values = values.detach().clone().resize_(x._nnz(), *size_of_value)
    return x._replace_parts(replace(x._parts, values=values, size=Size(size)))


def sparse_resize_and_clear_(
    self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int
) -> SparseTensor:
    """Give a sparse tensor another shape, in place, in which it stores nothing.

    Args:
        self: a tensor of layout `oneflow.sparse_coo`.
        size: the shape.
        sparse_dim: the number of sparse dimensions.
        dense_dim: the number of dense dimensions.

    Raises:
        RuntimeError: the numbers do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 5.0]]).to_sparse()
        >>> x.sparse_resize_and_clear_((1,), 1, 0).to_dense().tolist()
        [0.0]
    """
    x = _require_coordinates("sparse_resize_and_clear_", self)
    _check_dimensions(size, sparse_dim, dense_dim)
    return _without_values(x, size, dense_dim)


def _resize_as(self: SparseTensor, the_template: Tensor, memory_format: Any = None) -> SparseTensor:
    """Give the tensor the shape of another one, and its numbers of dimensions of either kind.

    Raises:
        SparseOperandError: one of them is not of layout `oneflow.sparse_coo`.
        RuntimeError: `memory_format` is given, or values are stored that do not fit.
    """
    x = _require_coordinates("resize_as_", self)
    template = _require_coordinates("resize_as_", the_template)
    if memory_format is not None:
        raise RuntimeError("`resize_as_` of sparse tensors takes no `memory_format`")
    return sparse_resize_(x, template.shape, template.sparse_dim(), template.dense_dim())


def _check_dimensions(size: Sequence[int], sparse_dim: int, dense_dim: int) -> None:
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) ="
            f" {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if min(sparse_dim, dense_dim, *size) < 0:
        raise RuntimeError(
            "a sparse tensor has no negative size or number of dimensions, got size ="
            f" {list(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )


def _without_values(x: SparseTensor, size: Sequence[int], dense_dim: int) -> SparseTensor:
    return x._replace_parts(without_values(x.layout, size, dense_dim, x.dtype, x.device)._parts)


def _method_of_parts(name: str) -> Callable[..., Any]:
    """The method of all tensors that gives a part of a sparse one."""

    def method(self: Tensor) -> Any:
        own = getattr(type(self), name)
        if own is not method:
            return own(self)
        raise RuntimeError(f"{name} expected a sparse tensor but got layout {self.layout}")

    summary = str(getattr(SparseTensor, name).__doc__).partition("\n")[0]
    call, result = _PART_METHODS[name]
    method.__doc__ = (
        f"{summary}\n\n"
        "Raises:\n"
        "    RuntimeError: the tensor has none.\n\n"
        "Example:\n"
        "    >>> import oneflow as flow\n"
        f"    >>> flow.tensor([[0.0, 5.0]]).{call}\n"
        f"    {result!r}\n"
    )
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__module__ = Tensor.__module__
    return method


for _name in _PART_METHODS:
    attach(_name, _method_of_parts(_name))
for _name in _OF_ONE_ELEMENT.split():
    setattr(SparseTensor, _name, _of_one_element(_name))
setattr(SparseTensor, "new", _new)  # noqa: B010
setattr(SparseTensor, "new_tensor", _new_tensor)  # noqa: B010
setattr(SparseTensor, "resize_as_", _resize_as)  # noqa: B010
setattr(SparseTensor, "resize_as_sparse_", _resize_as)  # noqa: B010
setattr(SparseTensor, "_dimI", SparseTensor.sparse_dim)  # noqa: B010
setattr(SparseTensor, "_dimV", SparseTensor.dense_dim)  # noqa: B010
for _method in (smm, sspaddmm, sparse_resize_, sparse_resize_and_clear_):
    attach(_method.__name__, _method)
