"""Copies with elements elsewhere: reversed, shifted, repeated, in triangles, on diagonals."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base.dtype import bool_
from oneflow.base.flags import reject_strings
from oneflow.base.shape import as_integer, wrap_dim, wrap_dims
from oneflow.functional.creation.options import sizes_of
from oneflow.functional.registry import attach_inplace_form, function
from oneflow.functional.shape.reshape import transpose
from oneflow.functional.shape.strided_views import diagonal as diagonal_view
from oneflow.primitives.operators import rearrange, shape as p
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.indexing import index as index_primitive
from oneflow.primitives.operators.strided import diagonal_update
from oneflow.tensor.call import call, wrap
from oneflow.tensor.indexing import is_overlapping, put_item
from oneflow.tensor.methods import attach, before_write, write_result
from oneflow.tensor.strides import is_view
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, wrap_result
from oneflow.tensor.views import unwrap
from oneflow.tuning.host_memory import require_host_memory


@function()
def flip(x: Tensor, dims: Any, *more: int) -> Tensor:
    """The elements in reverse order along `dims`; a copy.

    Raises:
        RuntimeError: a dimension appears twice.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(3).flip(0)
        tensor([2, 1, 0], dtype=oneflow.int64)
    """
    return call(p.flip, x, dims=wrap_dims(sizes_of((dims, *more), "dims"), x.ndim))


@function()
def fliplr(input: Tensor) -> Tensor:
    """The elements in reverse order along dimension 1.

    Raises:
        RuntimeError: fewer than 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.fliplr(flow.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]], dtype=oneflow.int64)
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@function()
def flipud(input: Tensor) -> Tensor:
    """The elements in reverse order along dimension 0.

    Raises:
        RuntimeError: a 0-dim tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.flipud(flow.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]], dtype=oneflow.int64)
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@function()
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """The elements shifted along `dims`; what leaves at the end comes back in front.

    Args:
        input: tensor.
        shifts: numbers of positions to shift by, one per dimension.
        dims: dimensions; left out, the flattened tensor is shifted and gets its shape back.

    Raises:
        RuntimeError: not as many shifts as dimensions.
        IndexError: `input` has no dimensions and `dims` is given.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(4).roll(1)
        tensor([3, 0, 1, 2], dtype=oneflow.int64)
    """
    offsets = sizes_of((shifts,), "shifts")
    if not offsets:
        raise RuntimeError("`shifts` required")
    if dims is None or (isinstance(dims, Sequence) and not dims):
        if len(offsets) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(offsets)}, dims:0")
        return call(rearrange.roll, input.reshape(-1), *offsets, dims=(0,)).reshape(input.shape)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims} but tensor has no dimensions")
    dim_list = sizes_of((dims,), "dims")
    if len(offsets) != len(dim_list):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(offsets)}, dims:{len(dim_list)}"
        )
    axes = tuple(wrap_dim(dim, input.ndim) for dim in dim_list)
    return call(rearrange.roll, input, *offsets, dims=axes)


@function()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """The plane of two dimensions turned `k` times by 90 degrees, from the first to the second.

    Raises:
        RuntimeError: not two different dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(4).reshape(2, 2).rot90().tolist()
        [[1, 3], [0, 2]]
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (wrap_dim(dim, input.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    rotations = as_integer(k, "k") % 4
    if rotations == 0:
        return input.clone()
    if rotations == 2:
        return flip(input, (first, second))
    if rotations == 1:
        return transpose(flip(input, second), first, second).clone()
    return flip(transpose(input, first, second), second)


def _repeated(input: Tensor, times: tuple[int, ...]) -> Tensor:
    """Copies side by side along every dimension.

    `times` may name more dimensions than there are.
    """
    shape = (1,) * (len(times) - input.ndim) + input._value.spec.shape
    target = tuple(size * count for size, count in zip(shape, times, strict=True))
    interleaved = tuple(length for size in shape for length in (1, size))
    repeated_shape = tuple(
        length for size, count in zip(shape, times, strict=True) for length in (count, size)
    )
    value = p.broadcast_to(p.reshape(unwrap(input), shape=interleaved), shape=repeated_shape)
    return wrap(p.reshape(value, shape=target))


@function(keyword_aliases={"repeats": "sizes", "repeat_shape": "sizes"})
def repeat(input: Tensor, sizes: Any, *more: int) -> Tensor:
    """Copies of the tensor side by side: `sizes` of them along each dimension.

    New dimensions come in front.

    Raises:
        RuntimeError: fewer sizes than dimensions, or a negative one.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    times = sizes_of((sizes, *more), "sizes")
    if len(times) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    if any(count < 0 for count in times):
        raise RuntimeError(f"repeat: sizes must not be negative, got {list(times)}")
    return _repeated(input, times)


@function(keyword_aliases={"reps": "dims"})
def tile(input: Tensor, dims: Any, *more: int) -> Tensor:
    """Like `repeat`; missing leading counts are 1.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1], [2]]).tile(2).tolist()
        [[1, 1], [2, 2]]
    """
    times = sizes_of((dims, *more), "dims")
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


@function()
def repeat_interleave(
    input: Tensor,
    repeats: int | Tensor | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element repeated: `repeats` times, or as often as a tensor of counts says.

    Args:
        input: tensor; if it is the only argument, the counts, and the result tells which element
            each copy is of.
        repeats: number, or one count per element of `dim`.
        dim: dimension; left out, the flattened tensor.
        output_size: size of the result along `dim`.

    Raises:
        RuntimeError: negative counts, or not one per element.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1, 2]).repeat_interleave(2)
        tensor([1, 1, 2, 2], dtype=oneflow.int64)
    """
    if repeats is None:
        return wrap_result(_repeated_places(input.numpy()), input.device)
    source = input.reshape(-1) if dim is None else input
    at = 0 if dim is None else wrap_dim(dim, input.ndim)
    size = source.shape[at]
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError(f"Repeats must be non-negative, got {repeats}")
        interleaved = source.unsqueeze(at + 1)
        wide = interleaved.expand(*source.shape[: at + 1], repeats, *source.shape[at + 1 :])
        repeated = wide.reshape(*source.shape[:at], size * repeats, *source.shape[at + 1 :])
        return repeated.clone() if is_view(repeated) else repeated
    counts = np.asarray(repeats.numpy() if isinstance(repeats, Tensor) else repeats)
    if counts.ndim > 1 or counts.size not in (1, size):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats of shape "
            f"{list(counts.shape)} and a size of {size}"
        )
    positions = _repeated_places(np.broadcast_to(counts, size))
    if output_size is not None and len(positions) != as_integer(output_size, "output_size"):
        raise RuntimeError(f"output_size is {output_size}, the repeats give {len(positions)}")
    index = wrap_result(positions, input.device)
    return call(index_primitive, source, index, dims=(at,))


def _repeated_places(counts: np.ndarray) -> np.ndarray:
    """The index of each count, repeated that many times.

    Raises:
        RuntimeError: they are no vector of integers, or one is negative.
    """
    if counts.ndim != 1 or (counts.size and counts.dtype.kind not in "iu"):
        raise RuntimeError(
            f"repeats must be a vector of integers, got {counts.dtype} of shape "
            f"{list(counts.shape)}"
        )
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    require_host_memory("repeat_interleave", int(counts.sum(dtype=np.float64)))
    # NumPy takes no uint64.
    times = counts.astype(np.int64) if counts.dtype.kind == "u" else counts
    return np.repeat(np.arange(len(counts)), times)


@function()
def tril(x: Tensor, diagonal: int = 0, inplace: bool = False) -> Tensor:
    """The lower triangle of the last two dimensions, up to `diagonal`; zeros elsewhere.

    Raises:
        RuntimeError: fewer than 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 2).tril().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    if x.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    if inplace:
        return _keep_triangle(tril, x, operator.index(diagonal))
    return call(rearrange.tril, x, operator.index(diagonal))


attach_inplace_form(tril)


@function()
def triu(x: Tensor, diagonal: int = 0, inplace: bool = False) -> Tensor:
    """The upper triangle of the last two dimensions, from `diagonal`; zeros elsewhere.

    Raises:
        RuntimeError: fewer than 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 2).triu(1).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    if x.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    if inplace:
        return _keep_triangle(triu, x, operator.index(diagonal))
    return call(rearrange.triu, x, operator.index(diagonal))


attach_inplace_form(triu)


def _keep_triangle(triangle: Callable[..., Tensor], x: Tensor, diagonal: int) -> Tensor:
    """Write zeros to the other triangle of `x`, also where its elements share memory."""
    if is_overlapping(x):
        mask = triangle(x.new_ones(x.shape, dtype=bool_), diagonal)
        put_item(x, ~mask, 0)
        return x
    return write_result(x, triangle(before_write(x), diagonal), f"{triangle.__name__}_")


@function()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension on the diagonal of two new dimensions; zeros elsewhere.

    Example:
        >>> import oneflow as flow
        >>> flow.diag_embed(flow.tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    spec, offset = input._value.spec, operator.index(offset)
    first, second = wrap_dim(dim1, spec.ndim + 1), wrap_dim(dim2, spec.ndim + 1)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = spec.shape[-1] + abs(offset)
    rest = iter(spec.shape[:-1])
    shape = tuple(size if dim in (first, second) else next(rest) for dim in range(spec.ndim + 1))
    into = zeros(shape=shape, dtype=spec.dtype, device=spec.device)
    return wrap(diagonal_update(into, unwrap(input), offset=offset, dim1=first, dim2=second))


@function()
def diag(x: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as the diagonal of a matrix, or a copy of the diagonal of a matrix.

    Raises:
        RuntimeError: neither 1 nor 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.diag(flow.tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    if x.ndim == 1:
        return diag_embed(x, diagonal)
    if x.ndim == 2:
        return diagonal_view(x, diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")


@function()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The flattened tensor as the diagonal of a matrix.

    Example:
        >>> import oneflow as flow
        >>> flow.diagflat(flow.tensor([1, 2]), offset=1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]], dtype=oneflow.int64)
    """
    return diag_embed(input.reshape(-1), offset)


@reject_strings
def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal.

    Args:
        self: tensor.
        fill_value: number.
        wrap: in a tall matrix go on after the last column, as NumPy does.

    Raises:
        RuntimeError: fewer than 2 dimensions, or sizes that differ in a tensor of more than 2.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, 2).fill_diagonal_(3)
        tensor([[3., 0.],
                [0., 3.]], dtype=oneflow.float32)
    """
    shape = self.shape
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    mask = np.zeros(shape, bool)
    flat = mask.reshape(-1)
    step = sum(int(np.prod(shape[dim + 1 :])) for dim in range(self.ndim))
    flat[: None if wrap and self.ndim == 2 else step * (min(shape) - 1) + 1 : step] = True
    on_diagonal = import_array(mask, bool_, self.device)
    return self.masked_fill_(on_diagonal, fill_value)


attach("fill_diagonal_", fill_diagonal_)
