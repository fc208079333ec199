"""Properties of tensors: sizes, strides, categories of dtypes; transposes as attributes."""

from __future__ import annotations

from typing import Any, overload

from oneflow.base.device import META_TYPE
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.layout import (
    CHANNELS_LAST_ORDERS,
    Layout,
    require_memory_format,
    strided,
)
from oneflow.base.shape import Size, wrap_dim
from oneflow.functional.registry import function
from oneflow.functional.shape.reshape import permuted, reversed_order, transpose
from oneflow.primitives.strides import is_row_major
from oneflow.tensor.batch_elements import offset_in_storage
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.strides import is_view as is_view_of_storage, storage_offset_of, strided_layout
from oneflow.tensor.tensor import Tensor


@overload
def size(self: Tensor, idx: None = None) -> Size: ...
@overload
def size(self: Tensor, idx: int) -> int: ...
@keyword_aliases(dim="idx")
def size(self: Tensor, idx: int | None = None) -> Any:
    """The shape, or the size of one dimension.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).size(1)
        3
    """
    shape = self.shape
    if idx is None:
        return shape
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return shape[wrap_dim(idx, len(shape))]


def dim(self: Tensor) -> int:
    """Number of dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).dim()
        2
    """
    return self.ndim


@overload
def stride(self: Tensor, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(self: Tensor, dim: int) -> int: ...
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Distance between neighbours along each dimension (or one), in elements.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).stride()
        (3, 1)
    """
    strides = strided_layout(self).strides
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, the outermost first.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3, 4).permute(0, 2, 1).dim_order()
        (0, 2, 1)
    """
    strides = self.stride()
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


def storage_offset(self: Tensor) -> int:
    """Position of the first element in the memory that the tensor is a view of.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3)[1].storage_offset()
        3
    """
    return storage_offset_of(self) - offset_in_storage(self)


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Return True if the elements are in row-major order, or in the order of `memory_format`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).T.is_contiguous()
        False
        >>> x = flow.ones(2, 4, 4, 3).permute(0, 3, 1, 2)
        >>> x.is_contiguous(memory_format=flow.channels_last)
        True
    """
    order = None
    if memory_format is not None:
        require_memory_format(memory_format, "is_contiguous")
        order = CHANNELS_LAST_ORDERS.get(memory_format)
    shape, strides = strided_layout(self)[:2]
    if order is None:
        return is_row_major(shape, strides)
    if len(shape) != len(order):
        return False
    return is_row_major(
        tuple([shape[dim] for dim in order]), tuple([strides[dim] for dim in order])
    )


def element_size(self: Tensor) -> int:
    """Bytes per element.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, dtype=flow.float64).element_size()
        8
    """
    return self.dtype.itemsize


def is_view(self: Tensor) -> bool:
    """Return True if the tensor shares the memory of another one that it was made from.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(4)
        >>> x[1:].is_view(), (x + 1).is_view()
        (True, False)
    """
    return is_view_of_storage(self)


def get_device(self: Tensor) -> int:
    """Index of the device; -1 on the CPU.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, device="cpu").get_device()
        -1
    """
    return -1 if self.device.type == "cpu" else self.device.number


@function(method=False)
def numel(input: Tensor) -> int:
    """Number of elements.

    Example:
        >>> import oneflow as flow
        >>> flow.numel(flow.ones(2, 3))
        6
    """
    return input._value.spec.numel


@function()
def is_floating_point(input: Tensor) -> bool:
    """Return True if the elements are real floating point numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.is_floating_point(flow.ones(2))
        True
    """
    return input.dtype.is_floating_point


@function()
def is_complex(input: Tensor) -> bool:
    """Return True if the elements are complex numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.is_complex(flow.tensor([1j]))
        True
    """
    return input.dtype.is_complex


@function()
def is_signed(input: Tensor) -> bool:
    """Return True if the dtype has negative numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.is_signed(flow.tensor([1], dtype=flow.uint8))
        False
    """
    return input.dtype.is_signed


@function()
def is_nonzero(input: Tensor) -> bool:
    """Return True if the only element is not zero.

    Raises:
        RuntimeError: there is not exactly one element.

    Example:
        >>> import oneflow as flow
        >>> flow.is_nonzero(flow.tensor([0.0]))
        False
    """
    require_tensor(input, "is_nonzero")
    return bool(input)


@function(method=False)
def is_tensor(obj: Any) -> bool:
    """Return True if `obj` is a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.is_tensor([1, 2])
        False
    """
    return isinstance(obj, Tensor)


def reversed_dims(self: Tensor) -> Tensor:
    """View with all dimensions in reverse order.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, 3).T.shape
        oneflow.Size([3, 2])
    """
    return permuted(self, reversed_order(self._value.spec.ndim))


def matrix_transpose(self: Tensor) -> Tensor:
    """View with the last two dimensions exchanged.

    Raises:
        RuntimeError: fewer than 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(5, 2, 3).mT.shape
        oneflow.Size([5, 3, 2])
    """
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D "
            "tensor."
        )
    return transpose(self, -2, -1)


def nbytes(self: Tensor) -> int:
    """Bytes of all elements.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(3, dtype=flow.float64).nbytes
        24
    """
    return self._value.spec.nbytes


def is_cuda(self: Tensor) -> bool:
    """True for a tensor on a CUDA device.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, device="cpu").is_cuda
        False
    """
    return self.device.type == "cuda"


def is_cpu(self: Tensor) -> bool:
    """True for a tensor on the CPU.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, device="cpu").is_cpu
        True
    """
    return self.device.type == "cpu"


def layout(self: Tensor) -> Layout:
    """`oneflow.strided`: all elements, at regular distances; sparse tensors have others.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).layout is flow.strided
        True
    """
    return strided


def is_sparse(self: Tensor) -> bool:
    """Test if positions are stored as coordinates: True for `sparse_coo_tensor`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_sparse
        False
    """
    return False


def sparse_dim(self: Tensor) -> int:
    """Return the number of dimensions whose positions are stored: 0 of a dense tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).sparse_dim(), flow.ones(2, 3).to_sparse().sparse_dim()
        (0, 2)
    """
    return 0


def dense_dim(self: Tensor) -> int:
    """Return the number of dimensions in which all elements are stored.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).dense_dim(), flow.ones(2, 3).to_sparse().dense_dim()
        (2, 0)
    """
    return self.ndim


def is_quantized(self: Tensor) -> bool:
    """False: there are no quantized tensors; `nn.qat` has layers that round as if there were.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_quantized
        False
    """
    return False


def is_nested(self: Tensor) -> bool:
    """False, as `is_sparse_csr` and `is_mkldnn`; of a nested tensor it is True.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_nested
        False
    """
    return False


def is_meta(self: Tensor) -> bool:
    """True on the device ``meta``, where tensors have no values.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_meta
        False
    """
    return self.device.type == META_TYPE


def is_mps(self: Tensor) -> bool:
    """False: there are no devices of Apple's Metal.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_mps
        False
    """
    return False


def is_xpu(self: Tensor) -> bool:
    """False: there are no devices of Intel's.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_xpu
        False
    """
    return False


def is_lazy(self: Tensor) -> bool:
    """True inside `nn.Graph.build`, where tensors have no values, neither then nor later.

    Example:
        >>> import oneflow as flow
        >>> class Double(flow.nn.Graph):
        ...     def build(self, x):
        ...         print(x.is_lazy, x.is_eager)
        ...         return 2 * x
        >>> result = Double()(flow.ones(2))
        True False
    """
    return self._value.is_symbolic


def is_eager(self: Tensor) -> bool:
    """False inside `nn.Graph.build`, see `is_lazy`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_eager
        True
    """
    return not self._value.is_symbolic


for _method in (
    size,
    dim,
    stride,
    dim_order,
    storage_offset,
    is_contiguous,
    element_size,
    is_view,
    get_device,
):
    attach(_method.__name__, _method)
attach("ndimension", dim)
attach("nelement", Tensor.numel)
attach("T", property(reversed_dims))
attach("mT", property(matrix_transpose))
attach("itemsize", property(element_size))
for _property in (
    nbytes,
    is_cuda,
    is_cpu,
    is_eager,
    is_lazy,
    layout,
    is_sparse,
    is_quantized,
    is_nested,
    is_meta,
    is_mps,
    is_xpu,
):
    attach(_property.__name__, property(_property))
attach("is_sparse_csr", property(is_nested))
attach("is_mkldnn", property(is_nested))
attach("sparse_dim", sparse_dim)
attach("dense_dim", dense_dim)
