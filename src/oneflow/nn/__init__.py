"""Neural network layers, losses and models: PyTorch's and OneFlow's `nn`."""

from oneflow.nn import functional as functional, init as init
from oneflow.nn.modules.activation import ReLU as ReLU
from oneflow.nn.modules.container import (
    ModuleDict as ModuleDict,
    ModuleList as ModuleList,
    Sequential as Sequential,
)
from oneflow.nn.modules.flatten import Flatten as Flatten, Unflatten as Unflatten
from oneflow.nn.modules.linear import Identity as Identity, Linear as Linear
from oneflow.nn.modules.loss import CrossEntropyLoss as CrossEntropyLoss
from oneflow.nn.modules.module import Module as Module
from oneflow.nn.parameter import Parameter as Parameter
