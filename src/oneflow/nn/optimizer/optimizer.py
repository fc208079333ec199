"""The base class of optimizers, and their parameter groups."""

from oneflow.optim.groups import ParamGroup as ParamGroup, required as required
from oneflow.optim.optimizer import Optimizer as Optimizer

__all__ = ["Optimizer", "ParamGroup", "required"]
