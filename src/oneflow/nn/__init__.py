"""Neural network layers, losses and models: PyTorch's and OneFlow's `nn`."""

from oneflow.nn import functional as functional, init as init
from oneflow.nn.modules.activation import (
    CELU as CELU,
    ELU as ELU,
    GELU as GELU,
    SELU as SELU,
    LeakyReLU as LeakyReLU,
    LogSigmoid as LogSigmoid,
    Mish as Mish,
    PReLU as PReLU,
    QuickGELU as QuickGELU,
    ReLU as ReLU,
    RReLU as RReLU,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softplus as Softplus,
    Softsign as Softsign,
    SquareReLU as SquareReLU,
    Tanh as Tanh,
    Tanhshrink as Tanhshrink,
)
from oneflow.nn.modules.container import (
    ModuleDict as ModuleDict,
    ModuleList as ModuleList,
    Sequential as Sequential,
)
from oneflow.nn.modules.flatten import Flatten as Flatten, Unflatten as Unflatten
from oneflow.nn.modules.linear import Identity as Identity, Linear as Linear
from oneflow.nn.modules.loss import CrossEntropyLoss as CrossEntropyLoss
from oneflow.nn.modules.module import Module as Module
from oneflow.nn.modules.piecewise import (
    Hardshrink as Hardshrink,
    Hardsigmoid as Hardsigmoid,
    Hardswish as Hardswish,
    Hardtanh as Hardtanh,
    ReLU6 as ReLU6,
    Softshrink as Softshrink,
    Threshold as Threshold,
)
from oneflow.nn.modules.softmax import (
    GLU as GLU,
    LogSoftmax as LogSoftmax,
    Softmax as Softmax,
    Softmax2d as Softmax2d,
    Softmin as Softmin,
)
from oneflow.nn.parameter import Parameter as Parameter
