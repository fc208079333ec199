"""Segmentation: the class of every pixel."""

from flowvision.models.registry import ModelCreator as ModelCreator
from flowvision.models.segmentation.deeplabv3 import (
    ASPP as ASPP,
    ASPPConv as ASPPConv,
    ASPPPooling as ASPPPooling,
    DeepLabHead as DeepLabHead,
    DeepLabV3 as DeepLabV3,
    deeplabv3_mobilenet_v3_large_coco as deeplabv3_mobilenet_v3_large_coco,
    deeplabv3_resnet50_coco as deeplabv3_resnet50_coco,
    deeplabv3_resnet101_coco as deeplabv3_resnet101_coco,
)
from flowvision.models.segmentation.fcn import (
    FCN as FCN,
    FCNHead as FCNHead,
    fcn_resnet50_coco as fcn_resnet50_coco,
    fcn_resnet101_coco as fcn_resnet101_coco,
)
from flowvision.models.segmentation.lraspp import (
    LRASPP as LRASPP,
    LRASPPHead as LRASPPHead,
    lraspp_mobilenet_v3_large_coco as lraspp_mobilenet_v3_large_coco,
)
from flowvision.models.segmentation.seg_utils import (
    IntermediateLayerGetter as IntermediateLayerGetter,
)
from flowvision.models.utils import load_state_dict_from_url as load_state_dict_from_url

# The names without the data set, as torchvision has them.
deeplabv3_mobilenet_v3_large = deeplabv3_mobilenet_v3_large_coco
deeplabv3_resnet50 = deeplabv3_resnet50_coco
deeplabv3_resnet101 = deeplabv3_resnet101_coco
fcn_resnet50 = fcn_resnet50_coco
fcn_resnet101 = fcn_resnet101_coco
lraspp_mobilenet_v3_large = lraspp_mobilenet_v3_large_coco
