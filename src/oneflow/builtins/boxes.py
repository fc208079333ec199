"""Upstream's fused parts of the complete IoU loss of boxes.

Zheng et al., "Distance-IoU Loss: Faster and Better Learning for Bounding Box Regression" (2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.builtins.operands import require_same_shape_and_dtype
from oneflow.functional.elementwise.clamp import maximum, minimum
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor

# The parameters of functions of two boxes, by their corners.
_COORDINATES = ("b1_x1", "b1_x2", "b2_x1", "b2_x2", "b1_y1", "b1_y2", "b2_y1", "b2_y2")


def _require_coordinates(name: str, coordinates: Sequence[Tensor]) -> None:
    """Check that the coordinates of two boxes have one shape and one dtype."""
    operands = dict(zip(_COORDINATES, coordinates, strict=True))
    require_same_shape_and_dtype(name, **operands)


@function(method=False, namespace="_C")
def fused_get_boundding_boxes_coord(
    x1: Tensor,
    y1: Tensor,
    w1: Tensor,
    h1: Tensor,
    x2: Tensor,
    y2: Tensor,
    w2: Tensor,
    h2: Tensor,
) -> tuple[Tensor, ...]:
    """The sides of two boxes that are given by centre and size (the spelling is upstream's).

    Returns:
        Left, right, top and bottom of the first box, then those of the second.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> one, two = flow.tensor([1.0]), flow.tensor([2.0])
        >>> sides = flow._C.fused_get_boundding_boxes_coord(one, one, two, two, two, two, two, one)
        >>> [side.item() for side in sides]
        [0.0, 2.0, 0.0, 2.0, 1.0, 3.0, 1.5, 2.5]
    """
    require_same_shape_and_dtype(
        "fused_get_boundding_boxes_coord", x1=x1, y1=y1, w1=w1, h1=h1, x2=x2, y2=y2, w2=w2, h2=h2
    )
    return (*_edges(x1, w1), *_edges(y1, h1), *_edges(x2, w2), *_edges(y2, h2))


def _edges(center: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    return center - size / 2, center + size / 2


@function(method=False, namespace="_C")
def fused_get_intersection_area(
    b1_x1: Tensor,
    b1_x2: Tensor,
    b2_x1: Tensor,
    b2_x2: Tensor,
    b1_y1: Tensor,
    b1_y2: Tensor,
    b2_y1: Tensor,
    b2_y2: Tensor,
) -> Tensor:
    """The area that two boxes share.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> zero, one, two, three = (flow.tensor([float(n)]) for n in range(4))
        >>> flow._C.fused_get_intersection_area(zero, two, one, three, zero, two, one, three)
        tensor([1.], dtype=oneflow.float32)
    """
    coordinates = b1_x1, b1_x2, b2_x1, b2_x2, b1_y1, b1_y2, b2_y1, b2_y2
    _require_coordinates("fused_get_intersection_area", coordinates)
    width = (minimum(b1_x2, b2_x2) - maximum(b1_x1, b2_x1)).clamp(0)
    return width * (minimum(b1_y2, b2_y2) - maximum(b1_y1, b2_y1)).clamp(0)


@function(method=False, namespace="_C")
def fused_get_iou(
    w1: Tensor, h1: Tensor, w2: Tensor, h2: Tensor, inter: Tensor, eps: float
) -> Tensor:
    """Intersection over union, from the sizes of two boxes and the area they share.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> two, one = flow.tensor([2.0]), flow.tensor([1.0])
        >>> flow._C.fused_get_iou(two, two, two, two, one, 1.0)
        tensor([0.1250], dtype=oneflow.float32)
    """
    require_same_shape_and_dtype("fused_get_iou", w1=w1, h1=h1, w2=w2, h2=h2, inter=inter)
    return inter / (w1 * h1 + w2 * h2 - inter + eps)


@function(method=False, namespace="_C")
def fused_get_convex_diagonal_squared(
    b1_x1: Tensor,
    b1_x2: Tensor,
    b2_x1: Tensor,
    b2_x2: Tensor,
    b1_y1: Tensor,
    b1_y2: Tensor,
    b2_y1: Tensor,
    b2_y2: Tensor,
    eps: float,
) -> Tensor:
    """The square of the diagonal of the smallest box around two boxes, plus `eps`.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> zero, one, three = (flow.tensor([float(n)]) for n in (0, 1, 3))
        >>> flow._C.fused_get_convex_diagonal_squared(zero, one, one, three, *[zero, one] * 2, 0.5)
        tensor([10.5000], dtype=oneflow.float32)
    """
    coordinates = b1_x1, b1_x2, b2_x1, b2_x2, b1_y1, b1_y2, b2_y1, b2_y2
    _require_coordinates("fused_get_convex_diagonal_squared", coordinates)
    width = maximum(b1_x2, b2_x2) - minimum(b1_x1, b2_x1)
    height = maximum(b1_y2, b2_y2) - minimum(b1_y1, b2_y1)
    return width * width + height * height + eps


@function(method=False, namespace="_C")
def fused_get_center_dist(
    b1_x1: Tensor,
    b1_x2: Tensor,
    b2_x1: Tensor,
    b2_x2: Tensor,
    b1_y1: Tensor,
    b1_y2: Tensor,
    b2_y1: Tensor,
    b2_y2: Tensor,
) -> Tensor:
    """The square of the distance of the centres of two boxes.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> zero, one, three = (flow.tensor([float(n)]) for n in (0, 1, 3))
        >>> flow._C.fused_get_center_dist(zero, one, one, three, *[zero, one] * 2)
        tensor([2.2500], dtype=oneflow.float32)
    """
    coordinates = b1_x1, b1_x2, b2_x1, b2_x2, b1_y1, b1_y2, b2_y1, b2_y2
    _require_coordinates("fused_get_center_dist", coordinates)
    x, y = b2_x1 + b2_x2 - b1_x1 - b1_x2, b2_y1 + b2_y2 - b1_y1 - b1_y2
    return (x * x + y * y) / 4


@function(method=False, namespace="_C")
def fused_get_ciou_diagonal_angle(
    w1: Tensor, h1: Tensor, w2: Tensor, h2: Tensor, eps: float
) -> Tensor:
    """Return the difference between the proportions of two boxes, from 0 to 1.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> one, zero = flow.tensor([1.0]), flow.tensor([0.0])
        >>> flow._C.fused_get_ciou_diagonal_angle(one, one, zero, one, 0.0)
        tensor([0.2500], dtype=oneflow.float32)
    """
    require_same_shape_and_dtype("fused_get_ciou_diagonal_angle", w1=w1, h1=h1, w2=w2, h2=h2)
    angle = (w2 / (h2 + eps)).atan() - (w1 / (h1 + eps)).atan()
    return angle * angle * (4 / math.pi**2)


@function(method=False, namespace="_C")
def fused_get_ciou_result(
    v: Tensor, iou: Tensor, rho2: Tensor, c2: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """The complete IoU, and the weight of the difference of proportions in it.

    Args:
        v: the difference of proportions.
        iou: intersection over union.
        rho2: the square of the distance of the centres.
        c2: the square of the diagonal around both boxes.
        eps: keeps the weight's divisor from 0.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> half, one = flow.tensor([0.5]), flow.tensor([1.0])
        >>> flow._C.fused_get_ciou_result(half, half, one, one * 4, 0.0)
        (tensor([0.], dtype=oneflow.float32), tensor([0.5000], dtype=oneflow.float32))
    """
    require_same_shape_and_dtype("fused_get_ciou_result", v=v, iou=iou, rho2=rho2, c2=c2)
    alpha = v / (v - iou + (1 + eps))
    return iou - (rho2 / c2 + v * alpha.detach()), alpha
