"""Images read at arbitrary positions: on a grid, in rectangles, by kernels with offsets."""

import itertools
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
        x1, y1, x2, y2 = (corner * spatial_scale - offset for corner in corners)
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


def _deform_conv2d(x, offset, weight, bias=None, stride=1, padding=0, dilation=1, mask=None):
    """Tap by tap, each through PyTorch's `grid_sample`; torchvision needs compiled code for it."""
    batch, channels, height, width = x.shape
    outputs, per_group, rows, columns = weight.shape
    taps, places = rows * columns, offset.shape[2:]
    (down, right), (top, left), (tall, wide) = (
        (option, option) if isinstance(option, int) else option
        for option in (stride, padding, dilation)
    )
    groups = offset.shape[1] // (2 * taps)
    moves = offset.reshape(batch, groups, taps, 2, *places)
    total = x.new_zeros(batch, outputs, *places)
    for group, tap in itertools.product(range(groups), range(taps)):
        y = torch.arange(places[0])[:, None] * down + tap // columns * tall - top
        z = torch.arange(places[1]) * right + tap % columns * wide - left
        y, z = y + moves[:, group, tap, 0], z + moves[:, group, tap, 1]
        grid = torch.stack([(2 * z + 1) / width - 1, (2 * y + 1) / height - 1], -1).to(x.dtype)
        share = channels // groups
        part = x[:, group * share : (group + 1) * share]
        read = torch.nn.functional.grid_sample(part, grid, align_corners=False)
        if mask is not None:
            read = read * mask.reshape(batch, groups, taps, *places)[:, group, tap, None]
        for channel in range(share):
            number = group * share + channel
            first = number // per_group * (outputs // (channels // per_group))
            last = first + outputs // (channels // per_group)
            factors = weight[first:last, number % per_group, tap // columns, tap % columns]
            part = read[:, channel, None] * factors[:, None, None]
            total[:, first:last] = total[:, first:last] + part
    return total if bias is None else total + bias[:, None, None]


_IMAGES, _GRID = tensor(2, 3, 4, 5), tensor(2, 3, 2, 2)
_VOLUME, _POINTS = tensor(1, 2, 3, 2, 4), tensor(1, 2, 2, 3, 3)
_PADDINGS = ("zeros", "border", "reflection")
# The middle, borders and beyond.
_BORDERS = tensor(2, 2, 2, 2, values=[-1, -1, 1, 1, 0, 0.5, -1, 1, 2, -2, 1, 0, 3, 1, -1, -3])

OPERATORS = [
    Operator(
        "nn.functional.grid_sample",
        cases=[
            case(_IMAGES, _GRID, align_corners=False),
            *[
                case(_IMAGES, grid, mode, padding, align_corners=aligned)
                for grid, mode, padding, aligned in itertools.product(
                    (_GRID, _BORDERS), ("bilinear", "nearest"), _PADDINGS, (True, False)
                )
            ],
            *[
                case(_IMAGES, _GRID, "bicubic", padding, align_corners=True)
                for padding in _PADDINGS
            ],
            *[case(_VOLUME, _POINTS, "bilinear", padding, False) for padding in _PADDINGS],
            case(tensor(1, 1, 1, 4), _BORDERS, "bilinear", "border", True),
            case(tensor(0, 3, 4, 5), tensor(0, 3, 3, 2), align_corners=False),
        ],
        tolerance=20,
        second_grad=False,
        dtypes=("float32", "float64"),
    ),
    Operator(
        "nn.functional.affine_grid",
        cases=[
            case(tensor(2, 2, 3), (2, 3, 4, 5), align_corners=False),
            case(tensor(2, 2, 3), (2, 3, 4, 1), align_corners=True),
            case(tensor(1, 3, 4), (1, 2, 3, 2, 4), align_corners=True),
        ],
        dtypes=("float32", "float64"),
    ),
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
    ),
    Operator(
        "nn.functional.deform_conv2d",
        torch=_deform_conv2d,
        cases=[
            case(tensor(2, 3, 5, 6), tensor(2, 8, 4, 5), tensor(4, 3, 2, 2), tensor(4)),
            case(
                tensor(1, 4, 6, 5),
                tensor(1, 36, 6, 3),
                tensor(6, 2, 3, 3),
                None,
                (1, 2),
                (2, 1),
                (2, 1),
                tensor(1, 18, 6, 3),
            ),
            case(
                tensor(2, 2, 4, 4), tensor(2, 2, 4, 4), tensor(2, 1, 1, 1), mask=tensor(2, 1, 4, 4)
            ),
            case(tensor(0, 2, 4, 4), tensor(0, 2, 4, 4), tensor(2, 2, 1, 1)),
        ],
        dtypes=FLOATS,
        tolerance=20,
        vary_numbers=False,  # Strides and padding are shapes.
    ),
]
