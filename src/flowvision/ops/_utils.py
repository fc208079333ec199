"""Checks and formats of the rectangles that operators of detectors take."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from oneflow import Tensor, nn


def convert_boxes_to_roi_format(boxes: Sequence[Tensor]) -> Tensor:
    """Concatenate the boxes of several images, each with the number of its image before it.

    Args:
        boxes: tensors of shape (n_i, 4), one tensor for each image.

    Returns:
        Tensor of shape (n_1 + n_2 + ..., 5).

    Example:
        >>> from flowvision.ops._utils import convert_boxes_to_roi_format
        >>> import oneflow as flow
        >>> convert_boxes_to_roi_format([flow.zeros(1, 4), flow.ones(1, 4)]).tolist()
        [[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]]
    """
    return flow.cat(
        [
            flow.cat([flow.full_like(image_boxes[:, :1], number), image_boxes], 1)
            for number, image_boxes in enumerate(boxes)
        ]
    )


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return rows and columns; one number stands for both.

    Example:
        >>> from flowvision.ops._utils import pair
        >>> pair(3), pair([2, 4])
        ((3, 3), (2, 4))
    """
    height, width = (size, size) if isinstance(size, int) else size
    return height, width


def check_roi_boxes_shape(boxes: Tensor | Sequence[Tensor]) -> None:
    """Check the shapes of rectangles.

    Args:
        boxes: a tensor of shape (n, 5) whose first column is the number of the image, or a list
            with a tensor of shape (n_i, 4) for each image.

    Raises:
        ValueError: if the shapes are others.
        TypeError: if it is neither.
    """
    if isinstance(boxes, Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError(f"`boxes` must have shape (n, 5), got {list(boxes.shape)}")
    elif isinstance(boxes, list | tuple):
        for image_boxes in boxes:
            if image_boxes.ndim != 2 or image_boxes.shape[1] != 4:
                raise ValueError(
                    f"each tensor in `boxes` must have shape (n, 4), got {list(image_boxes.shape)}"
                )
    else:
        raise TypeError(f"`boxes` must be a tensor or a list of tensors, got {type(boxes)}")


def as_rois(boxes: Tensor | Sequence[Tensor]) -> Tensor:
    """Return rectangles as one tensor of shape (n, 5), see `check_roi_boxes_shape`.

    Raises:
        ValueError: if the shapes are others.
        TypeError: if it is neither a tensor nor a list of tensors.
    """
    check_roi_boxes_shape(boxes)
    return boxes if isinstance(boxes, Tensor) else convert_boxes_to_roi_format(boxes)


def split_normalization_params(
    model: nn.Module, norm_classes: Sequence[type] | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """Separate the parameters of normalization layers from the others.

    Optimizers often give them no weight decay.

    Args:
        model: whose parameters that require gradients are separated.
        norm_classes: the classes of normalization layers; by default batch, layer, group and
            instance normalization.

    Returns:
        The parameters of normalization layers, and the others.

    Raises:
        ValueError: if an entry of `norm_classes` is not a class of modules.

    Example:
        >>> from flowvision.ops._utils import split_normalization_params
        >>> from oneflow import nn
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
        >>> norms, others = split_normalization_params(model)
        >>> len(norms), len(others)
        (2, 2)
    """
    classes = tuple(norm_classes or _NORM_CLASSES)
    for class_ in classes:
        if not issubclass(class_, nn.Module):
            raise ValueError(f"`norm_classes` must hold classes of modules, got {class_}")
    norms: list[Tensor] = []
    others: list[Tensor] = []
    for module in model.modules():
        params = [
            parameter for parameter in module.parameters(recurse=False) if parameter.requires_grad
        ]
        (norms if isinstance(module, classes) else others).extend(params)
    return norms, others


_NORM_CLASSES = (
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
    nn.LayerNorm,
    nn.GroupNorm,
    nn.InstanceNorm1d,
    nn.InstanceNorm2d,
    nn.InstanceNorm3d,
)
