"""Layers that several architectures are built of."""

from flowvision.layers.activation import (
    hard_sigmoid as hard_sigmoid,
    hard_swish as hard_swish,
)
from flowvision.layers.attention import (
    BAMModule as BAMModule,
    CbamModule as CbamModule,
    CoordAttModule as CoordAttModule,
    EcaModule as EcaModule,
    GCTModule as GCTModule,
    GlobalContext as GlobalContext,
    NonLocalAttn as NonLocalAttn,
    SEModule as SEModule,
    SR_Attention as SR_Attention,
)
from flowvision.layers.blocks import (
    Conv2dSame as Conv2dSame,
    ConvAct as ConvAct,
    ConvBn as ConvBn,
    ConvBnAct as ConvBnAct,
    ConvMlp as ConvMlp,
    ExtraFPNBlock as ExtraFPNBlock,
    FeaturePyramidNetwork as FeaturePyramidNetwork,
    FrozenBatchNorm2d as FrozenBatchNorm2d,
    GluMlp as GluMlp,
    LastLevelMaxPool as LastLevelMaxPool,
    LastLevelP6P7 as LastLevelP6P7,
    Mlp as Mlp,
    MultiScaleRoIAlign as MultiScaleRoIAlign,
    PatchEmbed as PatchEmbed,
    batched_nms as batched_nms,
    box_iou as box_iou,
    boxes as boxes,
    generalized_box_iou_loss as generalized_box_iou_loss,
    misc as misc,
    nms as nms,
    roi_align as roi_align,
    sigmoid_focal_loss as sigmoid_focal_loss,
)
from flowvision.layers.dynamic_conv import Dynamic_conv2d as Dynamic_conv2d
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
