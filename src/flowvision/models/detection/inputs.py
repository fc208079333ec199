"""The checks that all detectors make of images and targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oneflow import Tensor


def check_inputs(
    images: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None, *, training: bool
) -> None:
    """Check the images and targets of a detector.

    Args:
        images: tensors of shape (C, H, W), at least one.
        targets: for each image "boxes" (objects, 4) and "labels" (objects,); needed for training.
            An image without objects has boxes of shape (0, 4). Objects with a negative label only
            pad, see `pad_targets`.
        training: whether losses are to be computed.

    Raises:
        ValueError: if there is no image, if targets or their entries are missing, or if boxes have
            another shape, no area, or coordinates that are not finite; the last two not in an
            `nn.Graph`.
    """
    if not len(images):
        raise ValueError("`images` must hold at least one image")
    if not training:
        return
    if targets is None:
        raise ValueError("`targets` must be given while training; call `.eval()` to detect")
    if len(targets) != len(images):
        raise ValueError(f"there are {len(images)} images, but {len(targets)} targets")
    for number, target in enumerate(targets):
        missing = [name for name in ("boxes", "labels") if name not in target]
        if missing:
            raise ValueError(f"target {number} lacks {missing}, it holds {sorted(target)}")
        boxes, labels = target["boxes"], target["labels"]
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise ValueError(
                f"the boxes of target {number} must have shape (n, 4), got {list(boxes.shape)}"
            )
        if len(labels) != len(boxes):
            raise ValueError(f"target {number} has {len(boxes)} boxes, but {len(labels)} labels")
        if not boxes.is_lazy:  # in `build` of a graph there are no values
            _check_corners(number, boxes)


def _check_corners(number: int, boxes: Tensor) -> None:
    corners = boxes.detach()
    # Written so that it fails for NaN, too.
    good = (corners[:, 2:] > corners[:, :2]).all(1) & (corners.abs().max(1)[0] < float("inf"))
    if not bool(good.all()):
        first = int((~good).nonzero()[0])
        raise ValueError(
            "boxes must be finite and have a positive width and height; target "
            f"{number} holds {corners[first].tolist()}"
        )
