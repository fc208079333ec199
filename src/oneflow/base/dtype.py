"""Data types: one `DType` object per element type, named as PyTorch and OneFlow name them."""

from __future__ import annotations

import enum
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np

from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.process_settings import inherit
from oneflow.base.program_name import program_name
from oneflow.base.suggestions import did_you_mean


class Category(enum.IntEnum):
    """Promotion category; a higher category wins whatever the operands' ranks are."""

    BOOL = 0
    INTEGER = 1
    FLOAT = 2
    COMPLEX = 3


class DType:
    """An element type. Compare by identity: there is exactly one object per type.

    Example:
        >>> import oneflow as flow
        >>> flow.float32.itemsize, flow.int64.is_floating_point
        (4, False)
    """

    __slots__ = (
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
    )

    def __init__(self, name: str, numpy_type: Any, category: Category) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.category = category
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = category is Category.FLOAT
        self.is_complex = category is Category.COMPLEX
        self.is_signed = category is not Category.BOOL and not name.startswith("u")

    @property
    def bytes(self) -> int:
        """The size of an element, OneFlow's name for `itemsize`."""
        return self.itemsize

    def to_real(self) -> DType:
        """The real type with this one's precision."""
        return real_dtype(self)

    def to_complex(self) -> DType:
        """The complex type with this one's precision.

        Raises:
            RuntimeError: it is one of integers.
        """
        if self.category < Category.FLOAT:
            raise RuntimeError(f"there is no complex type for {self!r}")
        return complex_dtype(self)

    def __repr__(self) -> str:
        return f"{program_name()}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_named, (self.name,))


class NameOnly(DType):
    """An element type that no tensor has; programs compare other types with it.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).dtype is flow.tensor_buffer
        False
    """

    __slots__ = ()


class NarrowInteger(NameOnly):
    """Integers of fewer than 8 bits.

    Example:
        >>> from oneflow.base.dtype import uint4
        >>> uint4.itemsize, uint4.is_signed
        (1, False)
    """

    __slots__ = ()


bool_ = DType("bool", np.bool_, Category.BOOL)
uint8 = DType("uint8", np.uint8, Category.INTEGER)
uint16 = DType("uint16", np.uint16, Category.INTEGER)
uint32 = DType("uint32", np.uint32, Category.INTEGER)
uint64 = DType("uint64", np.uint64, Category.INTEGER)
int8 = DType("int8", np.int8, Category.INTEGER)
int16 = DType("int16", np.int16, Category.INTEGER)
int32 = DType("int32", np.int32, Category.INTEGER)
int64 = DType("int64", np.int64, Category.INTEGER)
float16 = DType("float16", np.float16, Category.FLOAT)
bfloat16 = DType("bfloat16", jnp.bfloat16, Category.FLOAT)
float32 = DType("float32", np.float32, Category.FLOAT)
float64 = DType("float64", np.float64, Category.FLOAT)
complex64 = DType("complex64", np.complex64, Category.COMPLEX)
complex128 = DType("complex128", np.complex128, Category.COMPLEX)

# Batches on the host whose values have shapes of their own have this:
tensor_buffer = NameOnly("tensor_buffer", np.object_, Category.BOOL)
# Libraries written for PyTorch compare dtypes with these; `complex32` has two half numbers,
# and those with a `q` are of quantized tensors.
float8_e4m3fn = NameOnly("float8_e4m3fn", ml_dtypes.float8_e4m3fn, Category.FLOAT)
float8_e5m2 = NameOnly("float8_e5m2", ml_dtypes.float8_e5m2, Category.FLOAT)
float8_e4m3fnuz = NameOnly("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, Category.FLOAT)
float8_e5m2fnuz = NameOnly("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, Category.FLOAT)
float8_e8m0fnu = NameOnly("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, Category.FLOAT)
float4_e2m1fn_x2 = NameOnly("float4_e2m1fn_x2", [("pair", "u1")], Category.FLOAT)
complex32 = NameOnly("complex32", [("real", "f2"), ("imag", "f2")], Category.COMPLEX)
qint8 = NameOnly("qint8", [("quantized", "i1")], Category.INTEGER)
qint32 = NameOnly("qint32", [("quantized", "i4")], Category.INTEGER)
quint8 = NameOnly("quint8", [("quantized", "u1")], Category.INTEGER)
quint4x2 = NameOnly("quint4x2", [("quantized", "u1")], Category.INTEGER)
quint2x4 = NameOnly("quint2x4", [("quantized", "u1")], Category.INTEGER)
# Libraries that pack several integers into a byte say by these how wide one is:
_BITS = [("bits", "u1")]
int1 = NarrowInteger("int1", _BITS, Category.INTEGER)
int2 = NarrowInteger("int2", _BITS, Category.INTEGER)
int3 = NarrowInteger("int3", _BITS, Category.INTEGER)
int4 = NarrowInteger("int4", _BITS, Category.INTEGER)
int5 = NarrowInteger("int5", _BITS, Category.INTEGER)
int6 = NarrowInteger("int6", _BITS, Category.INTEGER)
int7 = NarrowInteger("int7", _BITS, Category.INTEGER)
uint1 = NarrowInteger("uint1", _BITS, Category.INTEGER)
uint2 = NarrowInteger("uint2", _BITS, Category.INTEGER)
uint3 = NarrowInteger("uint3", _BITS, Category.INTEGER)
uint4 = NarrowInteger("uint4", _BITS, Category.INTEGER)
uint5 = NarrowInteger("uint5", _BITS, Category.INTEGER)
uint6 = NarrowInteger("uint6", _BITS, Category.INTEGER)
uint7 = NarrowInteger("uint7", _BITS, Category.INTEGER)

ALL_DTYPES = (
    bool_,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
)
_OTHER_DTYPES = (
    tensor_buffer,
    float8_e4m3fn,
    float8_e5m2,
    float8_e4m3fnuz,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float4_e2m1fn_x2,
    complex32,
    qint8,
    qint32,
    quint8,
    quint4x2,
    quint2x4,
    int1,
    int2,
    int3,
    int4,
    int5,
    int6,
    int7,
    uint1,
    uint2,
    uint3,
    uint4,
    uint5,
    uint6,
    uint7,
)
HALF_DTYPES = (float16, bfloat16)
_BY_NAME = {dtype.name: dtype for dtype in (*ALL_DTYPES, *_OTHER_DTYPES)}
_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL_DTYPES}
_REAL_OF = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX_OF = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}


def dtype_named(name: str) -> DType:
    """The data type called `name`, such as ``"float32"``."""
    return _BY_NAME[name]


def from_numpy_dtype(numpy_dtype: np.dtype) -> DType:
    """The data type of a NumPy dtype.

    Raises TypeError for strings, objects and other foreign types.
    """
    dtype = _BY_NUMPY.get(np.dtype(numpy_dtype))
    if dtype is None:
        supported = ", ".join(supported_dtype.name for supported_dtype in ALL_DTYPES)
        raise TypeError(f"no tensor dtype for numpy dtype `{numpy_dtype}`; supported: {supported}")
    return dtype


def require_tensors(dtype: DType) -> DType:
    """Return a dtype that tensors have.

    Raises:
        NotImplementedError: integers are too narrow.
        TypeError: tensors do not have another one.
    """
    if isinstance(dtype, NameOnly):
        supported = ", ".join(supported_dtype.name for supported_dtype in ALL_DTYPES)
        message = (
            f"`dtype` must be one that tensors have, got {dtype!r}, which is only a name to "
            f"compare with; supported: {supported}"
        )
        if isinstance(dtype, NarrowInteger):
            name = dtype.name.replace("ui", "UI").replace("int", "Int")
            raise NotImplementedError(f"not implemented for '{name}': {message}")
        raise TypeError(message)
    return dtype


def real_dtype(dtype: DType) -> DType:
    """The real type with the precision of `dtype` (complex64 gives float32)."""
    return _REAL_OF.get(dtype, dtype)


def complex_dtype(dtype: DType) -> DType:
    """The complex type with the precision of `dtype` (float32 gives complex64)."""
    return _COMPLEX_OF.get(dtype, dtype)


class _Default:
    """The default floating point type, one per process as in PyTorch."""

    dtype = float32


def get_default_dtype() -> DType:
    """The floating point type that Python floats turn into.

    Example:
        >>> import oneflow as flow
        >>> flow.get_default_dtype()
        oneflow.float32
    """
    return _Default.dtype


def dtype_hint(name: Any) -> str:
    """Return the end of an error about an unknown dtype: the names that are similar."""
    return did_you_mean(name.rpartition(".")[2], _BY_NAME) if isinstance(name, str) else ""


@keyword_aliases(dtype="d")
def set_default_dtype(d: DType) -> None:
    """Set the floating point type that Python floats turn into.

    Raises TypeError unless it is one.

    Example:
        >>> import oneflow as flow
        >>> flow.set_default_dtype(flow.float64)
        >>> flow.tensor(0.5).dtype
        oneflow.float64
        >>> flow.set_default_dtype(flow.float32)
    """
    if not isinstance(d, DType) or not d.is_floating_point:
        raise TypeError(
            "only floating-point types are supported as the default type, got `d` = "
            f"{d!r}{dtype_hint(d)}"
        )
    _Default.dtype = require_tensors(d)


inherit(get_default_dtype, set_default_dtype)


def dtypes() -> list[DType]:
    """Return all data types.

    Example:
        >>> import oneflow as flow
        >>> flow.float32 in flow.dtypes()
        True
    """
    return list(ALL_DTYPES)


def convert_oneflow_dtype_to_numpy_dtype(oneflow_dtype: DType) -> np.dtype:
    """Return the NumPy dtype of a data type.

    Example:
        >>> import oneflow as flow
        >>> flow.convert_oneflow_dtype_to_numpy_dtype(flow.float32)
        dtype('float32')
    """
    return oneflow_dtype.numpy
