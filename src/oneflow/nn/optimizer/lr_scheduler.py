"""The base class of learning-rate schedulers."""

from oneflow.optim.lr_scheduler import LRScheduler as LRScheduler, LRScheduler as LrScheduler

__all__ = ["LRScheduler", "LrScheduler"]
