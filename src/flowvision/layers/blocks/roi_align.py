"""RoIAlign: features of rectangles of an image, all of one size."""

from flowvision.ops.roi_align import RoIAlign as RoIAlign, roi_align as roi_align
