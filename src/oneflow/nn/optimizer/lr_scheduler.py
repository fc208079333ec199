"""The base class of learning-rate schedulers."""

from oneflow.optim.lr_scheduler import LRScheduler as LRScheduler

__all__ = ["LRScheduler"]
