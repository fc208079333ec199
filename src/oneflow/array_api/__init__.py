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

from math import e as e, inf as inf, nan as nan, pi as pi

from numpy import newaxis as newaxis

from oneflow.array_api import fft as fft, linalg as linalg
from oneflow.array_api.creation import (
    arange as arange,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tril as tril,
    triu as triu,
    zeros as zeros,
    zeros_like as zeros_like,
)
from oneflow.array_api.data_types import (
    astype as astype,
    broadcast_arrays as broadcast_arrays,
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
)
from oneflow.array_api.elementwise import (
    add as add,
    atan2 as atan2,
    bitwise_and as bitwise_and,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    clip as clip,
    copysign as copysign,
    divide as divide,
    equal as equal,
    floor_divide as floor_divide,
    greater as greater,
    greater_equal as greater_equal,
    hypot as hypot,
    less as less,
    less_equal as less_equal,
    logaddexp as logaddexp,
    logical_and as logical_and,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    nextafter as nextafter,
    not_equal as not_equal,
    pow as pow,
    remainder as remainder,
    round as round,
    sign as sign,
    subtract as subtract,
)
from oneflow.array_api.linalg import (
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    tensordot as tensordot,
    vecdot as vecdot,
)
from oneflow.array_api.namespace_info import (
    VERSION as __array_api_version__,
    NamespaceInfo as __array_namespace_info__,
)
from oneflow.array_api.promotion import (
    result_type as result_type,
)
from oneflow.array_api.reductions import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diff as diff,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    std as std,
    sum as sum,
    var as var,
)
from oneflow.array_api.search_sort import (
    argsort as argsort,
    isin as isin,
    nonzero as nonzero,
    searchsorted as searchsorted,
    sort as sort,
    take as take,
    take_along_axis as take_along_axis,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
    where as where,
)
from oneflow.array_api.shapes import (
    concat as concat,
    flip as flip,
    permute_dims as permute_dims,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    squeeze as squeeze,
    stack as stack,
    unstack as unstack,
)
from oneflow.base.dtype import (
    bool_ as bool,
    complex64 as complex64,
    complex128 as complex128,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from oneflow.functional.elementwise.activation import (
    tanh as tanh,
)
from oneflow.functional.elementwise.complex import (
    conj as conj,
)
from oneflow.functional.elementwise.logic import (
    bitwise_not as bitwise_invert,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    logical_not as logical_not,
    signbit as signbit,
)
from oneflow.functional.elementwise.rounding import (
    ceil as ceil,
    floor as floor,
    trunc as trunc,
)
from oneflow.functional.elementwise.trigonometry import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    sin as sin,
    sinh as sinh,
    tan as tan,
)
from oneflow.functional.elementwise.unary import (
    abs_ as abs,
    exp as exp,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    neg as negative,
    positive as positive,
    reciprocal as reciprocal,
    sqrt as sqrt,
    square as square,
)
from oneflow.functional.legacy.arrays import (
    expand_dims as expand_dims,
)
from oneflow.functional.shape.rearrange import tile as tile
from oneflow.functional.shape.reshape import (
    broadcast_to as broadcast_to,
    movedim as moveaxis,
)
from oneflow.functional.shape.stack import (
    broadcast_shapes as broadcast_shapes,
)
from oneflow.functional.shape.strided_views import (
    imag as imag,
    real as real,
)
