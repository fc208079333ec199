"""`DistributedDataParallel` as a type: calling it gives the module, trained by all processes."""

from __future__ import annotations

from typing import Any

from oneflow import nn
from oneflow.nn import parallel


class _DataParallelType(type):
    """The type of a type whose objects are the modules that data parallelism has changed."""

    def __call__(cls, *args: Any, **kwargs: Any) -> nn.Module:
        return parallel.DistributedDataParallel(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        # A module that is trained by several processes knows itself under this name.
        return isinstance(instance, nn.Module) and vars(instance).get("module") is instance


class DistributedDataParallel(metaclass=_DataParallelType):
    """`oneflow.nn.parallel.DistributedDataParallel`, which changes and returns a module."""


__all__ = ["DistributedDataParallel"]
