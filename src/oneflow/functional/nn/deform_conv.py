"""Deformable convolution: the elements of the kernel are moved by offsets that a layer computes."""

from __future__ import annotations

from oneflow.base.sizes import IntOrInts
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.nn.spatial import per_dimension
from oneflow.functional.registry import function
from oneflow.primitives.operators.grid_sample import deform_patches
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="nn.functional", also=("deform_conv2d",))
def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = (1, 1),
    padding: IntOrInts = (0, 0),
    dilation: IntOrInts = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """Convolution whose kernel reads, at each place, where offsets move its elements.

    Between elements the input is interpolated, outside it is 0. The numbers of groups of channels
    and of offsets follow from the shapes. Dai et al., "Deformable Convolutional Networks"
    (https://arxiv.org/abs/1703.06211); with `mask` its second version
    (https://arxiv.org/abs/1811.11168).

    Args:
        input: ``[N, C, H, W]``.
        offset: ``[N, offset groups * kernel height * kernel width * 2, H', W']``: for each tap how
            far it is moved down and to the right.
        weight: ``[out channels, C / groups, kernel height, kernel width]``.
        bias: ``[out channels]``, or None.
        stride: step of the kernel, one number or two.
        padding: zeros added on both sides, one number or two.
        dilation: distance between the elements of the kernel, one number or two.
        mask: ``[N, offset groups * kernel height * kernel width, H', W']``: factors of what
            the kernel reads.

    Returns:
        ``[N, out channels, H', W']``.

    Raises:
        RuntimeError: sizes that do not fit together; says which.

    Example:
        >>> import oneflow as flow
        >>> x, weight = flow.arange(9.0).reshape(1, 1, 3, 3), flow.ones(1, 1, 1, 1)
        >>> to_the_right = flow.tensor([0.0, 0.5]).reshape(1, 2, 1, 1).expand(1, 2, 3, 3)
        >>> flow.nn.functional.deform_conv2d(x, to_the_right, weight)
        tensor([[[[0.5000, 1.5000, 1.0000],
                  [3.5000, 4.5000, 2.5000],
                  [6.5000, 7.5000, 4.0000]]]], dtype=oneflow.float32)
    """
    if input.ndim != 4 or weight.ndim != 4 or offset.ndim != 4:
        raise RuntimeError(
            "deform_conv2d needs `input` [N, C, H, W], `offset` and `weight` of four dimensions, "
            f"got {list(input.shape)}, {list(offset.shape)} and {list(weight.shape)}"
        )
    kernel = (weight.shape[2], weight.shape[3])
    steps, pads, dilations = (
        per_dimension(value, 2, name)
        for value, name in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    if min(*steps, *dilations) < 1 or min(pads) < 0:
        raise RuntimeError(
            "deform_conv2d needs `stride` and `dilation` above 0 and no negative `padding`, got "
            f"{steps}, {dilations} and {pads}"
        )
    places = [
        (size + 2 * pad - factor * (width - 1) - 1) // step + 1
        for size, pad, factor, width, step in zip(
            input.shape[2:], pads, dilations, kernel, steps, strict=True
        )
    ]
    groups, moved = _groups(input, offset, weight, mask, places)
    patches = call(
        deform_patches,
        input,
        offset,
        kernel=kernel,
        stride=steps,
        padding=pads,
        dilation=dilations,
        groups=moved,
    )
    batch, channels, area = patches.shape[:3]
    if mask is not None:
        factors = mask.reshape(batch, moved, 1, area, *places)
        patches = patches.reshape(batch, moved, channels // moved, area, *places) * factors
    columns = patches.reshape(batch, groups, channels // groups * area, places[0] * places[1])
    kernels = weight.reshape(1, groups, weight.shape[0] // groups, -1)
    out = matmul(kernels, columns).reshape(batch, weight.shape[0], *places)
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


def _groups(
    input: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None, places: list[int]
) -> tuple[int, int]:
    """The numbers of groups of channels and of offsets.

    Raises:
        RuntimeError: the sizes do not fit together.
    """
    batch, channels = input.shape[:2]
    outputs, read, *kernel = weight.shape
    kernel_size = kernel[0] * kernel[1]
    if min(places) < 1:
        raise RuntimeError(f"deform_conv2d: the kernel {kernel} is larger than the padded input")
    if not read or channels % read or outputs % (channels // read):
        raise RuntimeError(
            f"deform_conv2d: `weight` {list(weight.shape)} does not divide the {channels} channels "
            f"of `input` into groups"
        )
    moved = offset.shape[1] // (2 * kernel_size)
    if (
        not moved
        or channels % moved
        or [*offset.shape] != [batch, moved * 2 * kernel_size, *places]
    ):
        raise RuntimeError(
            f"deform_conv2d: `offset` must have the shape [{batch}, groups * {2 * kernel_size}, "
            f"{places[0]}, {places[1]}] with a number of groups that divides {channels} channels, "
            f"got {list(offset.shape)}"
        )
    if mask is not None and [*mask.shape] != [batch, moved * kernel_size, *places]:
        raise RuntimeError(
            "deform_conv2d: `mask` must have the shape "
            f"{[batch, moved * kernel_size, *places]}, got {list(mask.shape)}"
        )
    return channels // read, moved
