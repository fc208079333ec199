"""Elementwise functions and reductions under the names of job functions."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.elementwise.activation import (
    gelu as gelu,
    logsigmoid as log_sigmoid,
    relu as relu,
    sigmoid as sigmoid,
    sigmoid as sigmoid_v2,
    softplus as softplus,
    tanh as tanh,
    tanh as tanh_v2,
)
from oneflow.functional.elementwise.arithmetic import (
    add as add,
    mul as multiply,
    pow_ as pow,
    sub as subtract,
)
from oneflow.functional.elementwise.binary import atan2 as atan2, xlogy as xlogy
from oneflow.functional.elementwise.clamp import maximum as maximum, minimum as minimum
from oneflow.functional.elementwise.comparison import (
    eq as equal,
    ge as greater_equal,
    gt as greater,
    le as less_equal,
    lt as less,
    ne as not_equal,
)
from oneflow.functional.elementwise.division import (
    div as divide,
    floor_divide as floordiv,
    fmod as fmod,
    remainder as mod,
)
from oneflow.functional.elementwise.logic import logical_and as logical_and
from oneflow.functional.elementwise.rounding import (
    ceil as ceil,
    floor as floor,
    round_ as rint,
    round_ as round,
    sign as sign,
)
from oneflow.functional.elementwise.special import erf as erf, erfc as erfc, lgamma as lgamma
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
    neg as negative,
    reciprocal as reciprocal,
    rsqrt as rsqrt,
    sqrt as sqrt,
    square as square,
)
from oneflow.functional.nn.fused import fused_scale_tril as fused_scale_tril
from oneflow.functional.shape.rearrange import tril as tril
from oneflow.legacy_functions.arrays import (
    unsorted_batch_segment_sum as unsorted_batch_segment_sum,
    unsorted_segment_sum as unsorted_segment_sum,
    unsorted_segment_sum_like as unsorted_segment_sum_like,
)
from oneflow.legacy_functions.math import (
    add_n as add_n,
    argmax as argmax,
    broadcast_to_compatible_with as broadcast_to_compatible_with,
    clip_by_value as clip_by_value,
    gelu_grad as gelu_grad,
    in_top_k as in_top_k,
    l2_normalize as l2_normalize,
    polyval as polyval,
    reciprocal_no_nan as reciprocal_no_nan,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_max as two_stage_reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_min as two_stage_reduce_min,
    reduce_prod as reduce_prod,
    reduce_std as reduce_std,
    reduce_sum as reduce_sum,
    reduce_variance as reduce_variance,
    reduced_shape_elem_cnt as reduced_shape_elem_cnt,
    sigmoid_grad as sigmoid_grad,
    squared_difference as squared_difference,
    top_k as top_k,
    xdivy as xdivy,
)
from oneflow.legacy_functions.nn import (
    fused_scale_tril_softmax_dropout as fused_scale_tril_softmax_dropout,
)

# fmt: off
__all__ = [
    "abs", "acos", "acosh", "add", "add_n", "argmax", "asin", "asinh", "atan", "atan2", "atanh",
    "broadcast_to_compatible_with", "ceil", "clip_by_value", "cos", "cosh", "divide", "equal",
    "erf", "erfc", "exp", "expm1", "floor", "floordiv", "fmod", "fused_scale_tril",
    "fused_scale_tril_softmax_dropout", "gelu", "gelu_grad", "greater", "greater_equal", "in_top_k",
    "l2_normalize", "less", "less_equal", "lgamma", "log", "log1p", "log_sigmoid", "logical_and",
    "maximum", "minimum", "mod", "multiply", "negative", "not_equal", "polyval", "pow",
    "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std",
    "reduce_sum", "reduce_variance", "reduced_shape_elem_cnt", "relu", "rint", "round", "rsqrt",
    "sigmoid", "sigmoid_grad", "sigmoid_v2", "sign", "sin", "sinh", "softplus", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "tanh_v2", "top_k", "tril",
    "two_stage_reduce_max", "two_stage_reduce_min", "unsorted_batch_segment_sum",
    "unsorted_segment_sum", "unsorted_segment_sum_like", "xdivy", "xlogy",
]
# fmt: on
