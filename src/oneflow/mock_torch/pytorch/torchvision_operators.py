"""The operators that torchvision has in C++, built from operators of `oneflow`."""

from __future__ import annotations

import oneflow as flow
from oneflow.mock_torch.pytorch.library import define, define_composite

# Declared, so that they can be named; calling one says that it has no kernel.
_WITHOUT_KERNEL = (
    "box_iou_rotated",
    "ps_roi_align",
    "ps_roi_pool",
    "qnms",
    "qroi_align",
    "roi_pool",
)


def _deform_conv2d(
    input: flow.Tensor,
    weight: flow.Tensor,
    offset: flow.Tensor,
    mask: flow.Tensor,
    bias: flow.Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> flow.Tensor:
    return flow.nn.functional.deform_conv2d(
        input,
        offset,
        weight,
        bias,
        (stride_h, stride_w),
        (pad_h, pad_w),
        (dilation_h, dilation_w),
        mask if use_mask else None,
    )


def _cuda_version() -> int:
    """Return -1: nothing was built for CUDA."""
    return -1


def register() -> None:
    """Define the operators under ``torch.ops.torchvision``."""
    kernels = {
        "nms": flow.nms,
        "roi_align": flow.roi_align,
        "deform_conv2d": _deform_conv2d,
        "_cuda_version": _cuda_version,
    }
    for name, kernel in kernels.items():
        define_composite(f"torchvision::{name}", kernel)
    for name in _WITHOUT_KERNEL:
        define(f"torchvision::{name}")
    for name in ("nms", "roi_align", "deform_conv2d", *_WITHOUT_KERNEL):
        define(f"torchvision::_{name}_backward")
