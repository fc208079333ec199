"""Layers that weigh tokens, channels or positions."""

from flowvision.layers.attention.se import SEModule as SEModule
