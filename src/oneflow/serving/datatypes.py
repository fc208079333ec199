"""The data types of the protocol and of tensors."""

from __future__ import annotations

from oneflow.base import dtype as dtypes
from oneflow.base.dtype import DType
from oneflow.serving.errors import invalid

DATATYPES = {
    "BOOL": dtypes.bool_,
    "UINT8": dtypes.uint8,
    "UINT16": dtypes.uint16,
    "UINT32": dtypes.uint32,
    "UINT64": dtypes.uint64,
    "INT8": dtypes.int8,
    "INT16": dtypes.int16,
    "INT32": dtypes.int32,
    "INT64": dtypes.int64,
    "FP16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "FP32": dtypes.float32,
    "FP64": dtypes.float64,
}
# The type of text, which occurs in answers only.
BYTES = "BYTES"
_NAMES = {dtype: name for name, dtype in DATATYPES.items()}


def datatype_of(dtype: DType) -> str:
    """Return the protocol's name of a data type.

    Raises:
        ValueError: it has none, as complex numbers.

    Example:
        >>> from oneflow.serving.datatypes import datatype_of
        >>> import oneflow as flow
        >>> datatype_of(flow.float32)
        'FP32'
    """
    if dtype not in _NAMES:
        raise ValueError(f"the Open Inference Protocol has no data type for `{dtype!r}`")
    return _NAMES[dtype]


def dtype_of(datatype: object) -> DType:
    """Return the data type that the protocol calls `datatype`.

    Raises:
        RequestError: there is none for tensors of numbers.
    """
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        raise invalid(f"datatype {datatype!r} is none of {', '.join(DATATYPES)}")
    return DATATYPES[datatype]
