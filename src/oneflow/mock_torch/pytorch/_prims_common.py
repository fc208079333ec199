"""Rules that PyTorch's operators in Python share: dtypes of results, dimensions, strides."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import oneflow as flow
from oneflow.base.device import Device
from oneflow.base.dtype import Category, DType, complex_dtype, get_default_dtype, real_dtype
from oneflow.base.layout import Layout
from oneflow.primitives.strides import row_major
from oneflow.tensor.promotion import promote_types
from oneflow.tensor.tensor import Tensor

ShapeType = tuple[int, ...] | list[int]
StrideType = list[int] | tuple[int, ...]
DimsType = int | list[int] | tuple[int, ...]
DimsSequenceType = list[int] | tuple[int, ...]
NumberType = bool | int | float | complex
Number = (bool, int, float, complex)
IntLike = int
FloatLike = float
BoolLike = bool
Dim = int
DeviceLikeType = str | Device
TensorLike = Tensor
TensorLikeType = Tensor
TensorSequenceType = list[Tensor] | tuple[Tensor, ...]
TensorOrNumberLikeType = Tensor | NumberType
_ORDERED_TYPES = (bool, int, float, complex)


class ELEMENTWISE_TYPE_PROMOTION_KIND(enum.Enum):
    """Kinds of operators of single elements, by the dtype of the result."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(enum.Enum):
    """The dtype of a reduction's result, compared with that of its argument."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


def is_boolean_dtype(dtype: DType) -> bool:
    """Return whether it is the dtype of truth values."""
    return dtype.category is Category.BOOL


def is_integer_dtype(dtype: DType) -> bool:
    """Return whether it is a dtype of integers."""
    return dtype.category is Category.INTEGER


def is_float_dtype(dtype: DType) -> bool:
    """Return whether it is a dtype of real numbers."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: DType) -> bool:
    """Return whether it is a dtype of complex numbers."""
    return dtype.is_complex


def is_low_precision_dtype(dtype: DType) -> bool:
    """Return whether computations take a wider dtype."""
    return get_computation_dtype(dtype) is not dtype


def is_grad_dtype(dtype: DType) -> bool:
    """Return whether numbers of the dtype have gradients."""
    return dtype.is_floating_point or dtype.is_complex


def corresponding_real_dtype(dtype: DType) -> DType:
    """The dtype of a complex number's parts."""
    return real_dtype(dtype)


def corresponding_complex_dtype(dtype: DType) -> DType:
    """The dtype of the complex numbers with such parts."""
    return complex_dtype(dtype)


def dtype_to_type(dtype: DType) -> type:
    """Python's type of numbers like those of a dtype."""
    kinds = {Category.BOOL: bool, Category.INTEGER: int, Category.COMPLEX: complex}
    return kinds.get(dtype.category, float)


def dtype_to_type_ctor(dtype: DType) -> Callable[[Any], Any]:
    """The function that makes a Python number of one of a dtype."""
    return dtype_to_type(dtype)


def type_to_dtype(kind: type) -> DType:
    """The dtype of a tensor of Python numbers of a type.

    Raises:
        ValueError: it is no type of numbers.
    """
    if kind not in _ORDERED_TYPES:
        raise ValueError(f"Invalid type {kind}!")
    if kind is bool or kind is int:
        return flow.bool if kind is bool else flow.int64
    return get_default_dtype() if kind is float else complex_dtype(get_default_dtype())


def get_dtype(x: Tensor | NumberType) -> DType:
    """The dtype of a tensor, or of one of a number."""
    return x.dtype if isinstance(x, Tensor) else type_to_dtype(type(x))


def get_higher_type(a: type, b: type) -> type:
    """The later of two types in the order of bool, int, float and complex."""
    return max(a, b, key=_ORDERED_TYPES.index)


def get_higher_dtype(a: Any, b: Any) -> DType | None:
    """The dtype that two dtypes, or those of tensors or numbers, promote to; None counts not."""
    dtypes = [x if isinstance(x, DType) else get_dtype(x) for x in (a, b) if x is not None]
    if len(dtypes) < 2:
        return dtypes[0] if dtypes else None
    return promote_types(*dtypes)


def get_computation_dtype(dtype: DType) -> DType:
    """The dtype in which numbers of a dtype are computed."""
    return flow.float32 if dtype in (flow.float16, flow.bfloat16) else dtype


def elementwise_dtypes(
    *arguments: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[DType, DType]:
    """The dtypes in which an operator of single elements computes, and of its result."""
    kind, kinds = type_promotion_kind, ELEMENTWISE_TYPE_PROMOTION_KIND
    dtype = _common_dtype([x for x in arguments if x is not None])
    if kind is kinds.BOOL_TO_LONG and is_boolean_dtype(dtype):
        return flow.int64, flow.int64
    if kind is kinds.INT_TO_FLOAT and not is_grad_dtype(dtype):
        dtype = get_default_dtype()
    computed = dtype if kind is kinds.NO_OPMATH else get_computation_dtype(dtype)
    if kind is kinds.ALWAYS_BOOL:
        return computed, flow.bool
    if kind is kinds.COMPLEX_TO_FLOAT and dtype.is_complex:
        return computed, real_dtype(dtype)
    return computed, dtype


def _common_dtype(arguments: Sequence[Any]) -> DType:
    """The dtype that tensors and numbers promote to."""
    kinds = [dtype_to_type(x.dtype) if isinstance(x, Tensor) else type(x) for x in arguments]
    highest = max(kinds, key=_ORDERED_TYPES.index)
    types = (highest, float) if highest is complex else (highest,)
    dtypes: dict[bool, DType | None] = {True: None, False: None}
    for x in arguments:
        is_tensor = isinstance(x, Tensor)
        if is_tensor and dtype_to_type(x.dtype) in types:
            dtypes[x.ndim > 0] = get_higher_dtype(dtypes[x.ndim > 0], x.dtype)
    dtype = dtypes[True] or dtypes[False] or type_to_dtype(highest)
    return complex_dtype(dtype) if highest is complex and not dtype.is_complex else dtype


def reduction_dtypes(
    arg: Tensor, output_dtype_kind: REDUCTION_OUTPUT_TYPE_KIND, dtype: DType | None = None
) -> tuple[DType, DType | None]:
    """The dtypes in which a reduction computes, and of its result: None for the former."""
    kinds = REDUCTION_OUTPUT_TYPE_KIND
    source = arg.dtype if dtype is None else dtype
    computed = get_computation_dtype(source)
    if output_dtype_kind is kinds.KEEP_PROMOTED_TYPE:
        return computed, None
    if output_dtype_kind is kinds.ALWAYS_BOOL:
        return computed, flow.bool
    is_real = output_dtype_kind is kinds.COMPLEX_TO_FLOAT and source.is_complex
    return computed, real_dtype(source) if is_real else source


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """The number of a dimension, counted from the first one.

    Raises:
        IndexError: there is no such dimension.
    """
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    count = rank
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        count = 1
    if not -count <= idx < count:
        raise IndexError(
            "Dimension out of range (expected to be in range of "
            f"[{-count}, {count - 1}], but got {idx})"
        )
    return idx % count


def canonicalize_dims(rank: int, indices: DimsType, wrap_scalar: bool = True) -> Any:
    """`canonicalize_dim` of one dimension or of several."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple([canonicalize_dim(rank, idx, wrap_scalar) for idx in indices])


def canonicalize_device(device: DeviceLikeType) -> Device:
    """A device of its name."""
    return Device(device) if isinstance(device, str) else device


def reduction_dims(shape: ShapeType, dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions that a reduction goes over: all without any.

    Raises:
        RuntimeError: one is named twice.
    """
    if dims is None:
        return tuple(range(len(shape)))
    result = tuple([canonicalize_dim(len(shape), dim) for dim in dims])
    if len(set(result)) != len(result):
        raise RuntimeError("duplicate value in the list of dims")
    return result


def set_correction(unbiased: bool | None = None, correction: float | None = None) -> float:
    """The number that a variance takes off its count.

    Raises:
        RuntimeError: both were given.
    """
    if correction is not None and unbiased is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    return float(correction)


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether two shapes are equal."""
    return tuple(a) == tuple(b)


same_shape = is_same_shape


def check_same_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Check that tensors have one shape; numbers have none.

    Raises:
        RuntimeError: they have several.
    """
    shapes = [tuple(x.shape) for x in _tensors(args, allow_cpu_scalar_tensors)]
    if len(set(shapes)) > 1:
        raise RuntimeError(f"Shape {shapes[1]} is not the expected shape {shapes[0]}!")


def check_same_device(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Check that tensors are on one device; numbers are on none.

    Raises:
        RuntimeError: they are on several.
    """
    devices = [x.device for x in _tensors(args, allow_cpu_scalar_tensors)]
    if len(set(devices)) > 1:
        raise RuntimeError(
            f"Tensor on device {devices[1]} is not on the expected device {devices[0]}!"
        )


def check_same_dtype(*args: Any) -> None:
    """Check that tensors have one dtype, and that numbers are of its type.

    Raises:
        RuntimeError: they have several.
    """
    dtypes = {x.dtype for x in args if isinstance(x, Tensor)}
    types = {dtype_to_type(x.dtype) if isinstance(x, Tensor) else type(x) for x in args}
    if len(dtypes) > 1 or len(types) > 1:
        raise RuntimeError(f"Tensors and numbers are of several dtypes: {dtypes or types}")


def _tensors(arguments: Iterable[Any], skips_single_elements: bool) -> list[Tensor]:
    tensors = [x for x in arguments if isinstance(x, Tensor)]
    if len(tensors) < 2 or not skips_single_elements:
        return tensors
    return [x for x in tensors if not is_cpu_scalar_tensor(x)]


def is_cpu_scalar_tensor(a: Any) -> bool:
    """Return whether it is a tensor without dimensions on the CPU."""
    return isinstance(a, Tensor) and a.ndim == 0 and a.device.type == "cpu"


def make_contiguous_strides_for(
    shape: ShapeType, row_major_order: bool = True, **options: bool
) -> tuple[int, ...]:
    """The strides of a contiguous tensor; otherwise those with the last two dimensions swapped."""
    strides = row_major(tuple(shape))
    if options.get("row_major", row_major_order) or len(shape) < 2:
        return strides
    return (*strides[:-2], 1, max(shape[-2], 1))


def make_channels_last_strides_for(shape: ShapeType) -> tuple[int, ...]:
    """The strides of a tensor of 3 to 5 dimensions whose channels are next to each other.

    Raises:
        RuntimeError: it has another number of dimensions.
    """
    if len(shape) not in (3, 4, 5):
        raise RuntimeError(f"no tensor of {len(shape)} dimensions has channels in the last one")
    batch, *rest, channels = row_major((shape[0], *shape[2:], shape[1]))
    return (batch, channels, *rest)


def suggest_memory_format(x: Tensor) -> Any:
    """The order of elements of a copy: that of images whose channels are next to each other."""
    shape = x.shape
    if x.layout is not Layout.strided or len(shape) not in (4, 5) or 0 in shape:
        return flow.contiguous_format
    strides = x.stride()
    if strides[1] == 0:
        return flow.contiguous_format
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        is_like_rows = dim == 0 and least == strides[1]  # nothing tells this order from the other
        if strides[dim] < least or is_like_rows:
            return flow.contiguous_format
        least = strides[dim] * max(shape[dim], 1)
    return flow.channels_last if len(shape) == 4 else flow.channels_last_3d


def is_contiguous(a: Tensor) -> bool:
    """Return whether elements are stored row by row."""
    return a.is_contiguous()


def is_non_overlapping_and_dense(a: Tensor) -> bool:
    """Return whether each element of the memory between the first and the last is one of these."""
    sizes = [(stride, size) for size, stride in zip(a.shape, a.stride(), strict=True) if size != 1]
    if 0 in a.shape:
        return True
    expected = 1
    for stride, size in sorted(sizes):
        if stride != expected:
            return False
        expected *= size
    return True


def infer_size(shape: ShapeType, numel: int) -> tuple[int, ...]:
    """A shape for so many elements, in which one size, -1, was left open.

    Raises:
        RuntimeError: there is no such shape.
    """
    product = math.prod([size for size in shape if size != -1])
    if list(shape).count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    fits = numel == product if -1 not in shape else product > 0 and numel % product == 0
    if not fits:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple([numel // product if size == -1 else size for size in shape])


def dtype_or_default(dtype: DType | None) -> DType:
    """A dtype, or the default one."""
    return get_default_dtype() if dtype is None else dtype


def device_or_default(device: DeviceLikeType | None) -> Any:
    """A device, or the default one."""
    return flow.get_default_device() if device is None else device


def validate_dim_length(length: int) -> None:
    """Check that a size is not negative."""
    if operator.index(length) < 0:
        raise ValueError(f"a size is negative: {length}")


def validate_shape(shape: ShapeType) -> None:
    """Check that no size is negative."""
    for length in shape:
        validate_dim_length(length)


def validate_idx(rank: int, idx: int) -> None:
    """Check that there is a dimension of a number."""
    if not (0 <= idx < rank or idx == 0):
        raise ValueError(f"there is no dimension {idx} of {rank}")


def compare_tensor_meta(a: Tensor, b: Tensor, check_strides: bool = False) -> None:
    """Check that two tensors have one shape, dtype and device.

    Raises:
        AssertionError: they do not.
    """
    if a.shape != b.shape:
        raise AssertionError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype != b.dtype:
        raise AssertionError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device:
        raise AssertionError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides and a.stride() != b.stride():
        raise RuntimeError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()}")
