"""The base class of optimizers."""

from oneflow.optim.optimizer import Optimizer as Optimizer

__all__ = ["Optimizer"]
