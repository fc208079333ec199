"""Layers that regularise training: drop path, DropBlock, stochastic depth, normalisation."""

from flowvision.layers.regularization.dropblock import DropBlock as DropBlock
from flowvision.layers.regularization.droppath import DropPath as DropPath, drop_path as drop_path
from flowvision.layers.regularization.norm import LayerNorm2d as LayerNorm2d
from flowvision.ops.stochastic_depth import (
    StochasticDepth as StochasticDepth,
    stochastic_depth as stochastic_depth,
)
