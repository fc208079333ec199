"""Modules, one file per family; PyTorch's package of this name has all layers, and so has it."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import getattr_of_classes as _getattr_of_classes
from oneflow.nn.modules import module as module, pixelshuffle as pixelshuffle, utils as utils

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _getattr_of_classes(__name__, "oneflow.nn")
