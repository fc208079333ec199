"""Rectangles of images."""

import math

import torch

from tests.samples.table import FLOATS, Operator, case, tensor

# Inside, partly outside, wholly outside, empty, inside out, one that spans several images' sizes.
_RECTANGLES = (
    (0.0, 1.0, 1.5, 6.0, 4.0),
    (1.0, -3.0, 2.0, 2.5, 9.0),
    (1.0, 30.0, 30.0, 33.0, 40.0),
    (0.0, 2.0, 2.0, 2.0, 2.0),
    (0.0, 5.0, 4.0, 3.0, 1.0),
    (1.0, -20.0, -30.0, 40.0, 25.0),
)


def _rois():
    return tensor(6, 5, values=_RECTANGLES, dtype="float32", grad=False)


def _interpolated(image, y, x):
    """One sample, or 0 more than an element outside."""
    height, width = image.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return image[:, 0, 0] * 0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = image[:, top, left] * (1 - dx) + image[:, top, right] * dx
    lower = image[:, bottom, left] * (1 - dx) + image[:, bottom, right] * dx
    return upper * (1 - dy) + lower * dy


def _roi_align(x, rois, spatial_scale, pooled_h, pooled_w, sampling_ratio, aligned):
    """Sample by sample, as the paper says it; torchvision needs compiled code for it."""
    offset = 0.5 if aligned else 0.0
    results = []
    for number, *corners in rois.tolist():
        image = x[int(number)].to(torch.promote_types(x.dtype, torch.float32))
        x1, y1, x2, y2 = (each * spatial_scale - offset for each in corners)
        height, width = y2 - y1, x2 - x1
        if not aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        bin_h, bin_w = height / pooled_h, width / pooled_w
        rows = sampling_ratio if sampling_ratio > 0 else max(math.ceil(bin_h), 0)
        columns = sampling_ratio if sampling_ratio > 0 else max(math.ceil(bin_w), 0)
        for row in range(pooled_h):
            for column in range(pooled_w):
                total = image[:, 0, 0] * 0
                for i in range(rows):
                    for j in range(columns):
                        y = y1 + (row + (i + 0.5) / rows) * bin_h
                        total = total + _interpolated(
                            image, y, x1 + (column + (j + 0.5) / columns) * bin_w
                        )
                results.append(total / max(rows * columns, 1))
    stacked = torch.stack(results) if results else x[:0].sum((2, 3))
    stacked = stacked.reshape(len(rois), pooled_h, pooled_w, x.shape[1])
    return stacked.permute(0, 3, 1, 2).to(x.dtype)


OPERATORS = [
    Operator(
        "roi_align",
        torch=_roi_align,
        cases=[
            case(tensor(2, 3, 5, 7), _rois(), 1.0, 2, 3, 2, True),
            case(tensor(2, 3, 5, 7), _rois(), 0.5, 2, 2, 0, False),
            case(tensor(2, 1, 4, 4), _rois(), 1.0, 1, 3, -1, True),
            case(tensor(2, 3, 4, 4), tensor(0, 5, dtype="float32", grad=False), 1.0, 2, 2, 2, True),
        ],
        dtypes=FLOATS,
        tolerance=20,
        vary_numbers=False,  # Numbers of bins are shapes.
    )
]
