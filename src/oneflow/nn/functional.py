"""Layers and losses as functions: re-exported from `oneflow.functional`."""

from oneflow.functional.activation import (
    celu as celu,
    elu as elu,
    gelu as gelu,
    leaky_relu as leaky_relu,
    logsigmoid as log_sigmoid,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    quick_gelu as quick_gelu,
    relu as relu,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    square_relu as square_relu,
    tanh as tanh,
    tanhshrink as tanhshrink,
)
from oneflow.functional.dense import linear as linear
from oneflow.functional.loss import cross_entropy as cross_entropy
from oneflow.functional.piecewise import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    relu6 as relu6,
    softshrink as softshrink,
    threshold as threshold,
)
from oneflow.functional.softmax import (
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    log_softmax as log_softmax,
    softmax as softmax,
    softmin as softmin,
)
