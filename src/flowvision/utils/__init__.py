"""Grids of images, metrics, averages of weights and clipping of gradients."""

from flowvision.utils.agc import adaptive_clip_grad as adaptive_clip_grad
from flowvision.utils.clip_grad import dispatch_clip_grad as dispatch_clip_grad
from flowvision.utils.metrics import AverageMeter as AverageMeter, accuracy as accuracy
from flowvision.utils.model_ema import ModelEmaV2 as ModelEmaV2
from flowvision.utils.vision_helpers import make_grid as make_grid, save_image as save_image
