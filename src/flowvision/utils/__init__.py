"""Grids of images, drawing, metrics, averages of weights and clipping of gradients."""

from flowvision.utils.agc import adaptive_clip_grad as adaptive_clip_grad
from flowvision.utils.clip_grad import dispatch_clip_grad as dispatch_clip_grad
from flowvision.utils.drawing import (
    draw_bounding_boxes as draw_bounding_boxes,
    draw_segmentation_masks as draw_segmentation_masks,
)
from flowvision.utils.metrics import AverageMeter as AverageMeter, accuracy as accuracy
from flowvision.utils.model_ema import ModelEmaV2 as ModelEmaV2
from flowvision.utils.vision_helpers import make_grid as make_grid, save_image as save_image
