"""The Python array API standard: what `Tensor.__array_namespace__` returns.

Code that asks an array for its namespace runs with tensors unchanged. Functions in which the
standard and PyTorch agree are those of `oneflow`; here are also those in which they differ, such as
`sort`, which returns no places, and `std`, whose correction is 0.

Example:
    >>> import oneflow as flow
    >>> x = flow.tensor([3.0, 1.0, 2.0])
    >>> xp = x.__array_namespace__()
    >>> xp.sort(x)
    tensor([1., 2., 3.], dtype=oneflow.float32)
"""

# isort: off
# fmt: off
from math import e, inf, nan, pi
from numpy import newaxis
from oneflow.array_api import fft, linalg
from oneflow.array_api.creation import (
    arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones,
    ones_like, tril, triu, zeros, zeros_like,
)
from oneflow.array_api.data_types import astype, broadcast_arrays, can_cast, finfo, iinfo, isdtype
from oneflow.array_api.elementwise import (
    add, atan2, bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, clip,
    copysign, divide, equal, floor_divide, greater, greater_equal, hypot, less, less_equal,
    logaddexp, logical_and, logical_or, logical_xor, maximum, minimum, multiply, nextafter,
    not_equal, pow, remainder, round, sign, subtract,
)
from oneflow.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from oneflow.array_api.namespace_info import (
    VERSION as __array_api_version__, NamespaceInfo as __array_namespace_info__,
)
from oneflow.array_api.promotion import result_type
from oneflow.array_api.reductions import (
    all, any, argmax, argmin, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min,
    prod, std, sum, var,
)
from oneflow.array_api.search_sort import (
    argsort, isin, nonzero, searchsorted, sort, take, take_along_axis, unique_all, unique_counts,
    unique_inverse, unique_values, where,
)
from oneflow.array_api.shapes import (
    concat, flip, permute_dims, repeat, reshape, roll, squeeze, stack, unstack,
)
from oneflow.base.dtype import (
    bool_ as bool, complex64, complex128, float32, float64, int8, int16, int32, int64, uint8,
    uint16, uint32, uint64,
)
from oneflow.functional.elementwise.activation import tanh
from oneflow.functional.elementwise.complex import conj
from oneflow.functional.elementwise.logic import (
    bitwise_not as bitwise_invert, isfinite, isinf, isnan, logical_not, signbit,
)
from oneflow.functional.elementwise.rounding import ceil, floor, trunc
from oneflow.functional.elementwise.trigonometry import (
    acos, acosh, asin, asinh, atan, atanh, cos, cosh, sin, sinh, tan,
)
from oneflow.functional.elementwise.unary import (
    abs_ as abs, exp, expm1, log, log1p, log2, log10, neg as negative, positive, reciprocal, sqrt,
    square,
)
from oneflow.legacy_functions.arrays import expand_dims
from oneflow.functional.shape.rearrange import tile
from oneflow.functional.shape.reshape import broadcast_to, movedim as moveaxis
from oneflow.functional.shape.stack import broadcast_shapes
from oneflow.functional.shape.complex_parts import imag, real

__all__ = [
    "abs", "acos", "acosh", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "asarray",
    "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "clip", "complex64",
    "complex128", "concat", "conj", "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod",
    "cumulative_sum", "diff", "divide", "e", "empty", "empty_like", "equal", "exp", "expand_dims",
    "expm1", "eye", "fft", "finfo", "flip", "float32", "float64", "floor", "floor_divide",
    "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot", "iinfo", "imag", "inf",
    "int8", "int16", "int32", "int64", "isdtype", "isfinite", "isin", "isinf", "isnan", "less",
    "less_equal", "linalg", "linspace", "log", "log1p", "log2", "log10", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum",
    "mean", "meshgrid", "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis",
    "nextafter", "nonzero", "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive",
    "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape", "result_type", "roll",
    "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square", "squeeze",
    "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot",
    "tile", "tril", "triu", "trunc", "uint8", "uint16", "uint32", "uint64", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where",
    "zeros", "zeros_like",
]
