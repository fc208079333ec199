"""The path of upstream's package for optimizers."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.nn.optimizer import lr_scheduler as lr_scheduler, optimizer as optimizer

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)

__all__ = ["lr_scheduler", "optimizer"]
