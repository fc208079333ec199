"""Frozen batch normalization under the names of the layers; see `flowvision.ops`."""

from flowvision.ops.misc import FrozenBatchNorm2d as FrozenBatchNorm2d
