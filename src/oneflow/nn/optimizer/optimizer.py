"""The base class of optimizers, and their parameter groups."""

from oneflow.optim.groups import ParamGroup as ParamGroup
from oneflow.optim.optimizer import Optimizer as Optimizer

__all__ = ["Optimizer", "ParamGroup"]
