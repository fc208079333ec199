"""Blocks that several architectures are built of."""

from flowvision.layers.blocks.conv_bn_act import (
    ConvAct as ConvAct,
    ConvBn as ConvBn,
    ConvBnAct as ConvBnAct,
)
from flowvision.layers.blocks.mlp import (
    ConvMlp as ConvMlp,
    GluMlp as GluMlp,
    Mlp as Mlp,
)
from flowvision.layers.blocks.patch_embed import PatchEmbed as PatchEmbed
