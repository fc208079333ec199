"""Blocks that several architectures are built of."""

from flowvision.layers.blocks.boxes import (
    batched_nms as batched_nms,
    box_iou as box_iou,
    box_iou_np as box_iou_np,
    nms as nms,
)
from flowvision.layers.blocks.conv2d_same import Conv2dSame as Conv2dSame
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
from flowvision.layers.blocks.roi_align import roi_align as roi_align
from flowvision.ops.feature_pyramid_network import (
    ExtraFPNBlock as ExtraFPNBlock,
    FeaturePyramidNetwork as FeaturePyramidNetwork,
    LastLevelMaxPool as LastLevelMaxPool,
    LastLevelP6P7 as LastLevelP6P7,
)
from flowvision.ops.focal_loss import sigmoid_focal_loss as sigmoid_focal_loss
from flowvision.ops.giou_loss import (
    generalized_box_iou_loss as generalized_box_iou_loss,
)
from flowvision.ops.misc import FrozenBatchNorm2d as FrozenBatchNorm2d
from flowvision.ops.poolers import MultiScaleRoIAlign as MultiScaleRoIAlign
