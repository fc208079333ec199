"""Detectors: which objects an image shows, and where."""

from flowvision.models.detection.anchor_utils import AnchorGenerator as AnchorGenerator
from flowvision.models.detection.backbone_utils import resnet_fpn_backbone as resnet_fpn_backbone
from flowvision.models.detection.faster_rcnn import (
    FasterRCNN as FasterRCNN,
    fasterrcnn_mobilenet_v3_large_320_fpn as fasterrcnn_mobilenet_v3_large_320_fpn,
    fasterrcnn_mobilenet_v3_large_fpn as fasterrcnn_mobilenet_v3_large_fpn,
    fasterrcnn_resnet50_fpn as fasterrcnn_resnet50_fpn,
    fasterrcnn_resnet101_fpn as fasterrcnn_resnet101_fpn,
)
from flowvision.models.detection.fcos import (
    FCOS as FCOS,
    FCOSClassificationHead as FCOSClassificationHead,
    FCOSHead as FCOSHead,
    FCOSRegressionHead as FCOSRegressionHead,
    fcos_resnet50_fpn as fcos_resnet50_fpn,
)
from flowvision.models.detection.mask_rcnn import (
    MaskRCNN as MaskRCNN,
    MaskRCNNHeads as MaskRCNNHeads,
    MaskRCNNPredictor as MaskRCNNPredictor,
    maskrcnn_resnet50_fpn as maskrcnn_resnet50_fpn,
)
from flowvision.models.detection.masks import paste_masks_in_image as paste_masks_in_image
from flowvision.models.detection.retinanet import (
    RetinaNet as RetinaNet,
    retinanet_resnet50_fpn as retinanet_resnet50_fpn,
    retinanet_resnet101_fpn as retinanet_resnet101_fpn,
    retinanet_resnext50_32x4d_fpn as retinanet_resnext50_32x4d_fpn,
)
from flowvision.models.detection.ssd import SSD as SSD, ssd300_vgg16 as ssd300_vgg16
from flowvision.models.detection.ssdlite import (
    ssdlite320_mobilenet_v3_large as ssdlite320_mobilenet_v3_large,
)
from flowvision.models.detection.targets import pad_targets as pad_targets
from flowvision.models.detection.transform import (
    GeneralizedRCNNTransform as GeneralizedRCNNTransform,
)
from flowvision.models.registry import ModelCreator as ModelCreator
from flowvision.models.utils import load_state_dict_from_url as load_state_dict_from_url
from flowvision.ops.feature_pyramid_network import LastLevelP6P7 as LastLevelP6P7
from flowvision.ops.focal_loss import sigmoid_focal_loss as sigmoid_focal_loss
from flowvision.ops.giou_loss import (
    generalized_box_iou_loss as generalized_box_iou_loss,
)
from flowvision.ops.poolers import MultiScaleRoIAlign as MultiScaleRoIAlign
