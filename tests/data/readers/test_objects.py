"""Boxes and polygons of objects in images, against NumPy and Matplotlib."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.path import Path as Outline

import oneflow as flow
import oneflow.typing as tp
from tests.data.readers.test_images import picture, png

RANDOM = np.random.default_rng(0)
SIZES = np.array([[20, 30], [12, 9]], np.int32)


def buffer_of(*values):
    return flow.tensor_to_tensor_buffer(flow.tensor(np.stack(values)), instance_dims=2)


@pytest.mark.parametrize("codes", [0, 1, 16, 17, (1, 16)])
def test_flips(codes):
    boxes = RANDOM.uniform(0, 8, (2, 3, 4)).astype(np.float32)
    points = RANDOM.uniform(0, 8, (2, 5, 2)).astype(np.float32)
    given = flow.tensor(codes, dtype=flow.int8) if isinstance(codes, tuple) else codes
    sizes = flow.tensor(SIZES)
    flipped = flow.object_bbox_flip(buffer_of(*boxes), sizes, given).numpy()
    moved = flow.object_segmentation_polygon_flip(buffer_of(*points), sizes, given).numpy()
    for i, code in enumerate(np.broadcast_to(codes, 2)):
        left, top, right, bottom = boxes[i].T
        x, y = points[i].T
        width, height = SIZES[i]
        if code & 1:
            left, right, x = width - right - 1, width - left - 1, width - x
        if code & 16:
            top, bottom, y = height - bottom - 1, height - top - 1, height - y
        np.testing.assert_allclose(flipped[i], np.stack([left, top, right, bottom], 1), rtol=1e-6)
        np.testing.assert_allclose(moved[i], np.stack([x, y], 1), rtol=1e-6)
        assert flipped[i].dtype == moved[i].dtype == np.float32


def test_scales():
    boxes = RANDOM.uniform(0, 8, (2, 3, 4)).astype(np.float32)
    scale = np.array([[2, 3], [0.5, 1]], np.float32)
    both = flow.tensor(scale)
    scaled = flow.object_bbox_scale(buffer_of(*boxes), both).numpy()
    corners = flow.object_segmentation_polygon_scale(buffer_of(*boxes[..., :2]), both).numpy()
    for i in range(2):
        np.testing.assert_allclose(scaled[i], boxes[i] * np.tile(scale[i], 2), rtol=1e-6)
        np.testing.assert_array_equal(corners[i], scaled[i][:, :2])


def test_masks_of_several_polygons():
    parts = [
        (0, 0, [(2, 2), (9, 3), (5, 11)]),
        (0, 1, [(12, 1), (18, 1), (18, 5), (12, 5)]),
        (1, 0, [(0, 20), (19, 29), (0, 29)]),
    ]
    points = np.concatenate([corners for _, _, corners in parts]).astype(np.float32)
    index = np.array(
        [(at, part, corner) for corner, part, corners in parts for at in range(len(corners))],
        np.int32,
    )
    (masks,) = flow.object_segmentation_polygon_to_mask(
        buffer_of(points), buffer_of(index), flow.tensor(SIZES[:1])
    ).numpy()
    assert (masks.shape, masks.dtype) == ((2, 30, 20), np.int8)
    for number, mask in enumerate(masks):
        inner = np.zeros(mask.shape, bool)
        pixels = np.argwhere(~inner)[:, ::-1]
        for part, _, corners in parts:
            if part == number:
                inner |= Outline(corners).contains_points(pixels).reshape(mask.shape)
        # Matplotlib leaves out pixels that the edges only touch.
        assert (mask >= inner).all()
        assert (mask != inner).sum() < 20
    assert masks[0, 1, 12] == masks[0, 5, 18] == 1


def test_without_objects():
    (masks,) = flow.object_segmentation_polygon_to_mask(
        buffer_of(np.empty((0, 2), np.float32)),
        buffer_of(np.empty((0, 3), np.int32)),
        flow.tensor(SIZES[:1]),
    ).numpy()
    assert masks.shape == (0, 30, 20)


def test_a_detection_pipeline_in_a_job(tmp_path):
    (tmp_path / "image.png").write_bytes(png(picture(10, 20)))
    image = {"id": 5, "file_name": "image.png", "height": 10, "width": 20}
    corners = [2, 1, 8, 1, 8, 5, 2, 5]
    objects = {"image_id": 5, "category_id": 1, "bbox": [2, 1, 7, 5], "segmentation": [corners]}
    content = {"images": [image], "annotations": [objects], "categories": [{"id": 1}]}
    (tmp_path / "annotations.json").write_text(json.dumps(content))

    @flow.global_function()
    def job() -> tuple[tp.Numpy, ...]:
        files, _, _, boxes, _, points, index = flow.data.coco_reader(
            tmp_path / "annotations.json", tmp_path, batch_size=1, shuffle=False
        )
        images, scale, size = flow.image.target_resize(flow.image.decode(files), target_size=20)
        coin = flow.random.coin_flip(1, seed=1)
        boxes = flow.detection.object_bbox_scale(boxes, scale)
        boxes = flow.detection.object_bbox_flip(boxes, size, coin)
        points = flow.detection.object_segmentation_polygon_scale(points, scale)
        points = flow.detection.object_segmentation_polygon_flip(points, size, coin)
        masks = flow.detection.object_segmentation_polygon_to_mask(points, index, size)
        return (
            coin,
            flow.tensor_buffer_to_tensor(flow.image.flip(images, coin), flow.uint8, (20, 40, 3)),
            flow.tensor_buffer_to_tensor(boxes, flow.float, (1, 4)),
            flow.tensor_buffer_to_tensor(masks, flow.int8, (1, 20, 40)),
        )

    flow.clear_default_session()
    seen = {}
    for _ in range(12):
        coin, pixels, boxes, masks = job()
        seen[int(coin[0])] = pixels[0], boxes[0, 0].tolist(), masks[0, 0]
    flow.clear_default_session()
    (plain, box, mask), (mirrored, other_box, other_mask) = seen[0], seen[1]
    assert box == [4, 2, 16, 10]
    assert other_box == [40 - 16 - 1, 2, 40 - 4 - 1, 10]
    np.testing.assert_array_equal(plain[:, ::-1], mirrored)
    assert mask[2:11, 4:17].all()
    assert mask.sum() == other_mask.sum() == 9 * 13
    assert other_mask[2:11, 24:37].all()
