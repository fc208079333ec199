"""Drawing and grids of images, under the name of the module upstream."""

from flowvision.utils.drawing import (
    draw_bounding_boxes as draw_bounding_boxes,
    draw_segmentation_masks as draw_segmentation_masks,
)
from flowvision.utils.vision_helpers import make_grid as make_grid, save_image as save_image
