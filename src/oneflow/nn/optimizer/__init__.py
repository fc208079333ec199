"""The path of upstream's package for optimizers."""

from oneflow.nn.optimizer import lr_scheduler as lr_scheduler, optimizer as optimizer

__all__ = ["lr_scheduler", "optimizer"]
