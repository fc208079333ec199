"""Functions on the objects in images, boxes and polygons: `oneflow.detection`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from oneflow.data.readers.image_values import flip_directions
from oneflow.data.readers.tensor_buffer import TensorBuffer, each_of, rows_of
from oneflow.data.vision.pillow import Image, ImageDraw
from oneflow.tensor.tensor import Tensor


def object_bbox_flip(
    bbox: TensorBuffer, image_size: Tensor, flip_code: int | Tensor, name: str | None = None
) -> TensorBuffer:
    """Return the boxes of objects in images that are mirrored.

    Args:
        bbox: for each image (objects, 4): left, top, right and bottom, whose pixels belong to the
            object.
        image_size: (N, 2), width and height of each image.
        flip_code: see `oneflow.image.flip`.
        name: accepted.

    Raises:
        ValueError: a code is something else.

    Example:
        >>> import oneflow as flow
        >>> boxes = flow.tensor_to_tensor_buffer(flow.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
        >>> flow.detection.object_bbox_flip(boxes, flow.tensor([[10, 20]]), 1).numpy()[0]
        array([[6., 2., 8., 4.]], dtype=float32)
    """

    def flip(boxes: np.ndarray, size: np.ndarray, code: int) -> np.ndarray:
        first, last = boxes[:, :2], boxes[:, 2:]
        mirrored = np.concatenate([size - last - 1, size - first - 1], axis=1)
        return np.where([*flip_directions(code)] * 2, mirrored, boxes).astype(boxes.dtype)

    return _for_each(flip, bbox, rows_of(image_size), each_of(flip_code, bbox))


def object_bbox_scale(bbox: TensorBuffer, scale: Tensor, name: str | None = None) -> TensorBuffer:
    """Return the boxes of objects in images that get another size.

    Args:
        bbox: for each image (objects, 4): left, top, right and bottom.
        scale: (N, 2), the new width and height divided by the old ones; see `oneflow.image.resize`.
        name: accepted.

    Example:
        >>> import oneflow as flow
        >>> boxes = flow.tensor_to_tensor_buffer(flow.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
        >>> flow.detection.object_bbox_scale(boxes, flow.tensor([[2.0, 10.0]])).numpy()[0]
        array([[ 2., 20.,  6., 40.]], dtype=float32)
    """
    return _for_each(lambda boxes, factor: boxes * np.tile(factor, 2), bbox, rows_of(scale))


def object_segmentation_polygon_flip(
    poly: TensorBuffer, image_size: Tensor, flip_code: int | Tensor, name: str | None = None
) -> TensorBuffer:
    """Return the points of polygons in images that are mirrored.

    Args:
        poly: for each image (points, 2).
        image_size: (N, 2), width and height of each image.
        flip_code: see `oneflow.image.flip`.
        name: accepted.

    Raises:
        ValueError: a code is something else.

    Example:
        >>> import oneflow as flow
        >>> points = flow.tensor_to_tensor_buffer(flow.tensor([[[1.0, 2.0]]]), 2)
        >>> size = flow.tensor([[10, 20]])
        >>> flow.detection.object_segmentation_polygon_flip(points, size, 1).numpy()[0]
        array([[9., 2.]], dtype=float32)
    """

    def flip(points: np.ndarray, size: np.ndarray, code: int) -> np.ndarray:
        return np.where(flip_directions(code), size - points, points).astype(points.dtype)

    return _for_each(flip, poly, rows_of(image_size), each_of(flip_code, poly))


def object_segmentation_polygon_scale(
    poly: TensorBuffer, scale: Tensor, name: str | None = None
) -> TensorBuffer:
    """Return the points of polygons in images that get another size.

    Args:
        poly: for each image (points, 2).
        scale: the same as in `object_bbox_scale`.
        name: accepted.

    Example:
        >>> import oneflow as flow
        >>> points = flow.tensor_to_tensor_buffer(flow.tensor([[[1.0, 2.0]]]), 2)
        >>> scale = flow.tensor([[2.0, 10.0]])
        >>> flow.detection.object_segmentation_polygon_scale(points, scale).numpy()[0]
        array([[ 2., 20.]], dtype=float32)
    """
    return _for_each(
        lambda points, factor: (points * factor).astype(points.dtype), poly, rows_of(scale)
    )


def object_segmentation_polygon_to_mask(
    poly: TensorBuffer, poly_index: TensorBuffer, image_size: Tensor, name: str | None = None
) -> TensorBuffer:
    """Return the pixels that objects cover.

    Args:
        poly: for each image (points, 2), those of all polygons.
        poly_index: for each image (points, 3): of each point its number in the polygon, that of the
            polygon in the object and that of the object.
        image_size: (N, 2), width and height of each image.
        name: accepted.

    Returns:
        For each image int8 (objects, height, width), 1 within or on the edge of a polygon, whose
        points are rounded to pixels.

    Example:
        >>> import oneflow as flow
        >>> points = flow.tensor([[[1.0, 1.0], [2.0, 1.0], [2.0, 2.0], [1.0, 2.0]]])
        >>> index = flow.tensor([[[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]])
        >>> points, index = (flow.tensor_to_tensor_buffer(tensor, 2) for tensor in (points, index))
        >>> flow.detection.object_segmentation_polygon_to_mask(
        ...     points, index, flow.tensor([[4, 3]])).numpy()[0]
        array([[[0, 0, 0, 0],
                [0, 1, 1, 0],
                [0, 1, 1, 0]]], dtype=int8)
    """
    return _for_each(_masks, poly, poly_index, rows_of(image_size))


def _for_each(function: Callable[..., np.ndarray], *buffers: TensorBuffer) -> TensorBuffer:
    """Apply a function to the values that each image has in the buffers."""
    return TensorBuffer(lambda *values: list(map(function, *values)), *buffers)


def _masks(points: np.ndarray, index: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """Return the pixels that each object of an image covers."""
    width, height = map(int, size)
    objects, parts = index[:, 2], index[:, 1]
    masks = []
    for number in range(int(objects.max(initial=-1)) + 1):
        mask = Image.new("L", (width, height))
        mask_draw = ImageDraw.Draw(mask)
        for part in np.unique(parts[objects == number]):
            corners = np.rint(points[(objects == number) & (parts == part)]).astype(int)
            mask_draw.polygon([tuple(corner) for corner in corners.tolist()], fill=1, outline=1)
        masks.append(np.asarray(mask, np.int8))
    return np.reshape(masks, (-1, height, width)).astype(np.int8)
