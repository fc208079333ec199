"""Images with annotations in COCO's format (https://cocodataset.org/#format-data)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.data.readers.records import BatchSource
from oneflow.data.readers.streams import epoch_orders, random_order, repeat_epochs, shard_range
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class CocoSample:
    """An image file with its objects.

    Attributes:
        image: the bytes of the file.
        image_id: its number in the data set.
        size: height and width, int32.
        boxes: left, top, right and bottom of each object, float32.
        labels: the category of each object, counted from 1 without gaps, int32.
        points: the points of all polygons, float32 (points, 2).
        point_indices: for each, its number in the polygon, that of the polygon in the object and
            that of the object, int32 (points, 3).
    """

    image: np.ndarray
    image_id: int
    size: np.ndarray
    boxes: np.ndarray
    labels: np.ndarray
    points: np.ndarray
    point_indices: np.ndarray


class CocoAnnotations:
    """The images of a file of annotations.

    Args:
        annotation_file: COCO's JSON.
        image_dir: where the images are.
        remove_empty: leave out images without objects of more than a pixel in both directions.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not COCO's JSON.
    """

    def __init__(
        self,
        annotation_file: str | os.PathLike[str],
        image_dir: str | os.PathLike[str],
        remove_empty: bool,
    ) -> None:
        self._folder = Path(image_dir)
        try:
            content = json.loads(Path(annotation_file).read_text(encoding="utf-8"))
            images, objects = content["images"], content["annotations"]
            categories = sorted(category["id"] for category in content["categories"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{annotation_file} is no file of COCO's annotations: {error!r}"
            ) from (error)
        self._labels = {category: label for label, category in enumerate(categories, 1)}
        self._objects: dict[int, list[dict[str, Any]]] = {image["id"]: [] for image in images}
        for annotation in objects:
            if not annotation.get("iscrowd"):
                self._objects[annotation["image_id"]].append(annotation)
        self.images = [
            image
            for image in images
            if not remove_empty or any(map(_is_visible, self._objects[image["id"]]))
        ]

    def is_wide(self, index: int) -> bool:
        """Return whether an image is at least as wide as it is high."""
        return self.images[index]["width"] >= self.images[index]["height"]

    def sample(self, index: int) -> CocoSample:
        """Return an image with its objects."""
        image = self.images[index]
        objects = self._objects[image["id"]]
        segments = [
            (np.array(polygon, np.float32).reshape(-1, 2), number, owner)
            for owner, annotation in enumerate(objects)
            for number, polygon in enumerate(annotation.get("segmentation") or [])
        ]
        points = [polygon for polygon, _, _ in segments]
        indices = [
            [position, number, owner]
            for polygon, number, owner in segments
            for position in range(len(polygon))
        ]
        return CocoSample(
            np.frombuffer((self._folder / image["file_name"]).read_bytes(), np.uint8),
            image["id"],
            np.array([image["height"], image["width"]], np.int32),
            np.array([_corners(*annotation["bbox"]) for annotation in objects], np.float32).reshape(
                -1, 4
            ),
            np.array([self._labels[annotation["category_id"]] for annotation in objects], np.int32),
            np.concatenate(points) if points else np.empty((0, 2), np.float32),
            np.array(indices, np.int32).reshape(-1, 3),
        )


def _is_visible(annotation: dict[str, Any]) -> bool:
    return all(side > 1 for side in annotation["bbox"][2:])


def _corners(left: float, top: float, width: float, height: float) -> list[float]:
    # The right and the bottom pixel belong to the object.
    return [left, top, left + max(width - 1, 0), top + max(height - 1, 0)]


def coco_source(
    annotations: CocoAnnotations,
    batch_size: int,
    shuffle: bool,
    seed: int | None,
    group_by_aspect_ratio: bool,
    stride_partition: bool,
    sharding: BatchSharding,
) -> BatchSource:
    """Return batches of images.

    Args:
        annotations: the images.
        batch_size: images of a batch.
        shuffle: whether each epoch has another order.
        seed: the seed of these.
        group_by_aspect_ratio: let the images that a device has of a batch be all wide, or all high.
        stride_partition: devices take turns, instead of having images that follow each other.
        sharding: the devices.

    Raises:
        ValueError: there are fewer images than devices.
    """
    count, size = len(annotations.images), sharding.shard_size(batch_size)
    if count < sharding.shards:
        raise ValueError(f"there are {count} images for {sharding.shards} devices")

    def stream(shard: int) -> Iterator[CocoSample]:
        indices = range(shard, count, sharding.shards)
        if not stride_partition:
            indices = shard_range(count, shard, sharding.shards)
        random = random_order(seed, shard) if shuffle else None
        order = repeat_epochs(epoch_orders(indices, random), "the annotations")
        if group_by_aspect_ratio:
            order = _grouped(order, annotations.is_wide, size)
        return map(annotations.sample, order)

    return BatchSource(sharding, batch_size, stream)


def _grouped(order: Iterator[int], group: Callable[[int], bool], size: int) -> Iterator[int]:
    """Yield `size` items of one group at a time, as soon as there are so many."""
    waiting: dict[bool, list[int]] = {True: [], False: []}
    for index in order:
        members = waiting[group(index)]
        members.append(index)
        if len(members) == size:
            yield from members
            members.clear()


def coco_batch(
    samples: TensorBuffer,
) -> tuple[TensorBuffer, Tensor, Tensor, TensorBuffer, TensorBuffer, TensorBuffer, TensorBuffer]:
    """Return the seven parts of a batch, as `oneflow.nn.COCOReader` does."""

    def part(name: str) -> TensorBuffer:
        return TensorBuffer(lambda values: [getattr(sample, name) for sample in values], samples)

    return (
        part("image"),
        dense(part("image_id"), (), dt.int64),
        dense(part("size"), (2,), dt.int32),
        part("boxes"),
        part("labels"),
        part("points"),
        part("point_indices"),
    )
