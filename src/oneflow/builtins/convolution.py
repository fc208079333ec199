"""Deformable convolution as upstream's builtin takes its arguments."""

from __future__ import annotations

from oneflow.functional.nn import deform_conv
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    bias: Tensor | None = None,
    stride_h: int = 1,
    stride_w: int = 1,
    pad_h: int = 0,
    pad_w: int = 0,
    dilation_h: int = 1,
    dilation_w: int = 1,
    groups: int = 1,
    offset_groups: int = 1,
    use_mask: bool = True,
) -> Tensor:
    """`nn.functional.deform_conv2d`; `groups` and `offset_groups` follow from the shapes.

    Example:
        >>> import oneflow as flow
        >>> x, weight, still = flow.ones(1, 1, 2, 2), flow.ones(1, 1, 1, 1), flow.zeros(1, 2, 2, 2)
        >>> flow._C.deform_conv2d(x, weight, still, None, use_mask=False).tolist()
        [[[[1.0, 1.0], [1.0, 1.0]]]]
    """
    return deform_conv.deform_conv2d(
        input,
        offset,
        weight,
        bias,
        stride=(stride_h, stride_w),
        padding=(pad_h, pad_w),
        dilation=(dilation_h, dilation_w),
        mask=mask if use_mask else None,
    )
