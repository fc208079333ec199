"""Modules, one file per family."""

from oneflow.nn.modules import module as module, pixelshuffle as pixelshuffle, utils as utils
