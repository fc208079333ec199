"""Layers that several architectures are built of."""

from flowvision.layers.activation import (
    hard_sigmoid as hard_sigmoid,
    hard_swish as hard_swish,
)
from flowvision.layers.attention import SEModule as SEModule, SR_Attention as SR_Attention
from flowvision.layers.blocks import (
    ConvAct as ConvAct,
    ConvBn as ConvBn,
    ConvBnAct as ConvBnAct,
    ConvMlp as ConvMlp,
    GluMlp as GluMlp,
    Mlp as Mlp,
    PatchEmbed as PatchEmbed,
)
from flowvision.layers.helpers import make_divisible as make_divisible
from flowvision.layers.regularization import (
    DropBlock as DropBlock,
    DropPath as DropPath,
    LayerNorm2d as LayerNorm2d,
    StochasticDepth as StochasticDepth,
    drop_path as drop_path,
    stochastic_depth as stochastic_depth,
)
from flowvision.layers.weight_init import (
    lecun_normal_ as lecun_normal_,
    trunc_normal_ as trunc_normal_,
)
