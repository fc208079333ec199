"""Views of parts: narrow, select, diagonals, windows, other element types.

Also views made in place.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base import dtype as dt
from oneflow.base.dtype import Category
from oneflow.base.keyword_aliases import self_by_name
from oneflow.base.shape import as_integer, wrap_dim
from oneflow.differentiation.grad_mode import MODE, enable_grad
from oneflow.functional.creation.options import sizes_of
from oneflow.functional.registry import function
from oneflow.functional.shape.byte_views import invalid_part, may_copy
from oneflow.functional.shape.concat import slice_dim
from oneflow.functional.shape.reshape import squeeze, t, transpose, unsqueeze
from oneflow.primitives.operators import shape as p, strided
from oneflow.primitives.operators.elementwise import conj
from oneflow.tensor.batch_elements import note_same_start, offset_in_storage
from oneflow.tensor.call import call, call_view
from oneflow.tensor.memory_views import join_storage
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.strides import storage_offset_of
from oneflow.tensor.tensor import Tensor


def _dim_and_size(input: Tensor, dim: int, name: str) -> tuple[int, int]:
    if not input.ndim:
        raise RuntimeError(f"{name}() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(operator.index(dim), input.ndim)
    return at, input._value.spec.shape[at]


@function()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """View of `length` elements from `start` along `dim`.

    Raises:
        RuntimeError: that is not within the dimension.
        IndexError: `start` is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(5).narrow(0, 1, 3)
        tensor([1, 2, 3], dtype=oneflow.int64)
    """
    at, size = _dim_and_size(input, dim, "narrow")
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category is not Category.INTEGER):
        raise RuntimeError(
            f"narrow(): start must be an 0-dim integral Tensor, got {start.dtype} of shape "
            f"{tuple(start.shape)}"
        )
    first, length = operator.index(start), as_integer(length, "length")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= first <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    first += size if first < 0 else 0
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_dim(input, at, first, length)


@function()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """View of the slice at `index` along `dim`, which it does not have.

    Raises:
        IndexError: `index` is out of range, or `input` has no dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).reshape(2, 3).select(1, -1)
        tensor([2, 5], dtype=oneflow.int64)
    """
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at, size = _dim_and_size(input, dim, "select")
    where = operator.index(index)
    if not -size <= where < size:
        raise IndexError(
            f"select(): index {where} out of range for tensor of size {list(input.shape)} at "
            f"dimension {at}"
        )
    return call_view(p.select, input, where + size if where < 0 else where, dims=(at,))


@function()
def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """View of the diagonal of two dimensions, which becomes the last dimension.

    Args:
        x: tensor of at least 2 dimensions.
        offset: above (positive) or below the main diagonal.
        dim1: dimension of the rows.
        dim2: dimension of the columns.

    Raises:
        RuntimeError: the two dimensions are one.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(4).reshape(2, 2).diagonal()
        tensor([0, 3], dtype=oneflow.int64)
    """
    first, second = wrap_dim(dim1, x.ndim), wrap_dim(dim2, x.ndim)
    if first == second:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {operator.index(dim1)}, "
            f"{operator.index(dim2)}"
        )
    shape = x._value.spec.shape
    offset = max(-shape[first], min(operator.index(offset), shape[second]))
    return call_view(strided.diagonal, x, offset=offset, dim1=first, dim2=second)


@self_by_name
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """View of all windows of `size` elements, `step` apart, along `dimension`.

    A window runs along the last dimension.

    Raises:
        RuntimeError: the window does not fit, or `step` is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(4).unfold(0, 2, 1).tolist()
        [[0, 1], [1, 2], [2, 3]]
    """
    require_tensor(self, "unfold")
    at = wrap_dim(dimension, self.ndim)
    size, step = as_integer(size, "size"), as_integer(step, "step")
    length = self._value.spec.shape[at] if self.ndim else 1
    if not 0 <= size <= length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {at} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return slice_dim(unsqueeze(self, 0), 0, 0, size)
    return call_view(strided.unfold, self, dim=at, size=size, step=step)


attach("unfold", unfold)


@function()
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """View of the tensor's memory with any sizes and strides.

    Args:
        input: tensor whose memory is meant.
        size: shape of the view.
        stride: distance between neighbours along each dimension, in elements of the memory.
        storage_offset: first element; default that of `input`.

    Raises:
        RuntimeError: the view would leave the memory, or `size` and `stride` differ in length.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(4).as_strided((3, 2), (1, 1)).tolist()
        [[0, 1], [1, 2], [2, 3]]
    """
    shape, strides = sizes_of((size,), "size"), sizes_of((stride,), "stride")
    if len(shape) != len(strides):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {len(strides)} and {len(shape)}"
        )
    if any(step < 0 for step in strides) or (storage_offset or 0) < 0:
        raise RuntimeError(
            f"as_strided: strides {list(strides)} and offset {storage_offset} must be >= 0"
        )
    if storage_offset is None:
        offset = storage_offset_of(input)
    else:
        offset = operator.index(storage_offset) + offset_in_storage(input)
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    storage = (input._value if input._family is None else input._family.storage.value).spec
    available = storage.numel * storage.dtype.itemsize // input.dtype.itemsize
    if 0 not in shape and last >= available:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)} and storage offset {offset} "
            f"are out of bounds for storage of {available} elements"
        )
    view = join_storage(
        input,
        (strided.as_strided, (), {"shape": shape, "strides": strides, "offset": offset}),
    )
    note_same_start(view, input)
    return view


@function()
def view_as_real(input: Tensor) -> Tensor:
    """View of complex numbers as pairs of real ones, along a new last dimension.

    Raises:
        RuntimeError: `input` is not complex.

    Example:
        >>> import oneflow as flow
        >>> flow.view_as_real(flow.tensor([1 + 2j]))
        tensor([[1., 2.]], dtype=oneflow.float32)
    """
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return call_view(strided.view_as_real, input)


@function()
def view_as_complex(input: Tensor) -> Tensor:
    """View of pairs of real numbers along the last dimension as complex ones.

    Raises:
        RuntimeError: `input` is not a real float tensor whose last dimension has size 2, or its
            pairs do not start at whole pairs of the memory.

    Example:
        >>> import oneflow as flow
        >>> flow.view_as_complex(flow.tensor([[1.0, 2.0]]))
        tensor([1.+2.j], dtype=oneflow.complex64)
    """
    if input.dtype not in (dt.float32, dt.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {input.dtype!r}"
        )
    if not input.ndim or input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    large_dims = [dim for dim, size in enumerate(input.shape[:-1]) if size != 1]
    if reason := invalid_part(input, 2, large_dims):
        if not may_copy(input):
            raise RuntimeError(f"view_as_complex: {reason}")
        input = call(p.reshape, input, shape=input.shape)
    return call_view(strided.view_as_complex, input)


@function()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and complex numbers conjugated.

    Raises:
        RuntimeError: fewer than 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1 + 1j, 2.0]]).adjoint()
        tensor([[1.-1.j],
                [2.-0.j]], dtype=oneflow.complex64)
    """
    transposed = input.mT
    return call_view(conj, transposed) if input.dtype.is_complex else transposed


def conjugate_transpose(self: Tensor) -> Tensor:
    """A matrix transposed, complex numbers conjugated.

    Raises:
        RuntimeError: neither 0 nor 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1 + 1j, 2.0]]).H
        tensor([[1.-1.j],
                [2.-0.j]], dtype=oneflow.complex64)
    """
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
        )
    return adjoint(self) if self.ndim else self


attach("H", property(conjugate_transpose))
attach("mH", property(adjoint))

# --- views made in place: the tensor itself gets another shape


def _in_place(name: str, function: Callable[..., Tensor]) -> None:
    @functools.wraps(function)
    def reshape_in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if MODE.enabled or not self.requires_grad:
            return self._replace_with_view(function(self, *args, **kwargs))
        if self.is_leaf:
            self.data = function(self.data, *args, **kwargs)
            return self
        # The history is the tensor's, which lives on, without the changes made to it.
        with enable_grad():
            return self._replace_with_view(function(self, *args, **kwargs))

    reshape_in_place.__name__ = name
    reshape_in_place.__doc__ = f"`{name.rstrip('_')}`, made of this tensor itself."
    attach(name, reshape_in_place)


for _name, _function in {
    "squeeze_": squeeze,
    "unsqueeze_": unsqueeze,
    "transpose_": transpose,
    "swapaxes_": transpose,
    "swapdims_": transpose,
    "t_": t,
    "as_strided_": as_strided,
}.items():
    _in_place(_name, _function)
