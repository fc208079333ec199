"""Layers that weigh tokens, channels or positions."""

from flowvision.layers.attention.se import SEModule as SEModule
from flowvision.layers.attention.sr_attention import SR_Attention as SR_Attention
