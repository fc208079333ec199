"""Modules, one file per family; PyTorch's package of this name has all layers, and so has it."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.nn.modules import module as module, pixelshuffle as pixelshuffle, utils as utils

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__, classes_of="oneflow.nn")
