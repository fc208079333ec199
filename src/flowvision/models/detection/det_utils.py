"""Matching boxes with objects, choosing those to learn from, and the numbers that heads predict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import oneflow as flow
from flowvision.ops.misc import FrozenBatchNorm2d
from oneflow import Tensor, nn

# exp of it is the largest factor by which a box grows: from the 16 pixels of the smallest stride to
# an image of 1000.
_LARGEST_LOG_FACTOR = math.log(1000.0 / 16)


class BalancedPositiveNegativeSampler:
    """A random choice of positive and negative boxes, in a fixed proportion if there are enough.

    Args:
        batch_size_per_image: how many to choose in each image.
        positive_fraction: the largest part of positive ones.
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    @property
    def most_positives(self) -> int:
        """The largest number of positive boxes in an image."""
        return int(self.batch_size_per_image * self.positive_fraction)

    def __call__(self, matched_idxs: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Choose boxes.

        Args:
            matched_idxs: for each image the labels of boxes: positive numbers, 0 for negative
                ones, and negative numbers for those that are never chosen.

        Returns:
            For each image a bool tensor that is true for the chosen positive boxes, and one for
            the negative ones.
        """
        positives, negatives = [], []
        for labels in matched_idxs:
            most = flow.tensor(self.most_positives, device=labels.device)
            positive = _choose(labels >= 1, most)
            negative = _choose(labels == 0, self.batch_size_per_image - positive.sum())
            positives.append(positive)
            negatives.append(negative)
        return positives, negatives


def _choose(candidates: Tensor, most: Tensor) -> Tensor:
    """Return a mask of `most` random elements of a mask, or of all if there are not as many.

    The shapes do not depend on the values, so that it can be part of a graph.
    """
    if not len(candidates):
        return candidates
    keys = flow.where(candidates, flow.rand(len(candidates), device=candidates.device), 2.0)
    return candidates & (keys.argsort().argsort() < most)


class BoxCoder:
    """Boxes as offsets from others: moved centres, and logarithms of the factors of the sides.

    Args:
        weights: the factor by which the four numbers are multiplied.
        bbox_xform_clip: the largest logarithm of a factor.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.detection.det_utils import BoxCoder
        >>> coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        >>> box, anchor = flow.tensor([[2.0, 0, 6, 4]]), flow.tensor([[0.0, 0, 4, 4]])
        >>> coder.encode_single(box, anchor).tolist()
        [[0.5, 0.0, 0.0, 0.0]]
        >>> coder.decode_single(flow.tensor([[0.5, 0.0, 0.0, 0.0]]), anchor).tolist()
        [[2.0, 0.0, 6.0, 4.0]]
    """

    def __init__(
        self,
        weights: tuple[float, float, float, float],
        bbox_xform_clip: float = _LARGEST_LOG_FACTOR,
    ) -> None:
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(
        self, reference_boxes: Sequence[Tensor], proposals: Sequence[Tensor]
    ) -> list[Tensor]:
        """Encode the boxes of several images, see `encode_single`."""
        encoded = self.encode_single(flow.cat(list(reference_boxes)), flow.cat(list(proposals)))
        return list(encoded.split([len(boxes) for boxes in reference_boxes]))

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """Return the offsets (n, 4) of boxes (n, 4) from proposals (n, 4)."""
        weights = flow.tensor(
            self.weights, dtype=reference_boxes.dtype, device=reference_boxes.device
        )
        return encode_boxes(reference_boxes, proposals, weights)

    def decode(self, rel_codes: Tensor, boxes: Sequence[Tensor]) -> Tensor:
        """Decode offsets from the boxes of several images.

        Args:
            rel_codes: a tensor of shape (n, 4 * k), for all images.
            boxes: for each image, n together.

        Returns:
            Boxes of shape (n, k, 4).
        """
        every = flow.cat(list(boxes))
        return self.decode_single(rel_codes, every).reshape(-1, rel_codes.shape[-1] // 4, 4)

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """Return the boxes (n, 4 * k) at offsets (n, 4 * k) from boxes (n, 4)."""
        boxes = boxes.to(rel_codes.dtype).unsqueeze(1)
        size = boxes[..., 2:] - boxes[..., :2]
        center = boxes[..., :2] + 0.5 * size
        codes = rel_codes.reshape(len(boxes), rel_codes.shape[1] // 4, 4)
        weights = flow.tensor(self.weights, dtype=codes.dtype, device=codes.device)
        deltas, logs = (codes / weights).split(2, dim=-1)
        new_center = deltas * size + center
        half = 0.5 * logs.clamp(max=self.bbox_xform_clip).exp() * size
        return flow.cat([new_center - half, new_center + half], -1).reshape(rel_codes.shape)


class BoxLinearCoder:
    """Boxes as distances of their four sides from the centres of others, as FCOS has them.

    Args:
        normalize_by_size: whether distances are divided by the sides of the other boxes.
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """Return the distances (..., 4) of the sides of boxes from the centres of proposals."""
        center = 0.5 * (proposals[..., :2] + proposals[..., 2:])
        distances = flow.cat(
            [center - reference_boxes[..., :2], reference_boxes[..., 2:] - center], -1
        )
        return distances / self._sizes(proposals)

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """Return the boxes (..., 4) at these distances from the centres of `boxes`."""
        boxes = boxes.to(rel_codes.dtype)
        center = 0.5 * (boxes[..., :2] + boxes[..., 2:])
        distances = rel_codes * self._sizes(boxes)
        return flow.cat([center - distances[..., :2], center + distances[..., 2:]], -1)

    def _sizes(self, boxes: Tensor) -> Tensor | float:
        """Return widths, heights, widths and heights, or 1."""
        if not self.normalize_by_size:
            return 1.0
        size = boxes[..., 2:] - boxes[..., :2]
        return flow.cat([size, size], -1)


def encode_boxes(reference_boxes: Tensor, proposals: Tensor, weights: Tensor) -> Tensor:
    """Return the offsets of boxes from proposals, see `BoxCoder`.

    Args:
        reference_boxes: a tensor of shape (n, 4).
        proposals: a tensor of shape (n, 4).
        weights: a tensor of shape (4,), by which the offsets are multiplied.
    """
    size = proposals[:, 2:] - proposals[:, :2]
    center = proposals[:, :2] + 0.5 * size
    new_size = reference_boxes[:, 2:] - reference_boxes[:, :2]
    new_center = reference_boxes[:, :2] + 0.5 * new_size
    return flow.cat([(new_center - center) / size, flow.log(new_size / size)], 1) * weights


class Matcher:
    """The object that each box matches best, if well enough.

    Args:
        high_threshold: a quality of at least this is a match.
        low_threshold: a quality below this is background; between the two it is neither.
        allow_low_quality_matches: whether the best boxes of each object match it if they are not
            good enough, unless another object is theirs.

    Raises:
        ValueError: if `low_threshold` is larger than `high_threshold`.
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(
        self,
        high_threshold: float,
        low_threshold: float,
        allow_low_quality_matches: bool = False,
    ) -> None:
        if low_threshold > high_threshold:
            raise ValueError(
                "`low_threshold` must be at most `high_threshold`, got "
                f"{low_threshold} and {high_threshold}"
            )
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """Match boxes with objects.

        Args:
            match_quality_matrix: the quality of each pair, of shape (objects, boxes); negative for
                objects that match no box.

        Returns:
            For each box the position of its object, `BELOW_LOW_THRESHOLD` or `BETWEEN_THRESHOLDS`.
            Without any object all boxes are below.
        """
        objects, boxes = match_quality_matrix.shape
        if not objects or not boxes:
            return flow.full(
                (boxes,),
                self.BELOW_LOW_THRESHOLD,
                dtype=flow.int64,
                device=match_quality_matrix.device,
            )
        quality, best = match_quality_matrix.max(0)
        matches = flow.where(quality >= self.high_threshold, best, self.BETWEEN_THRESHOLDS)
        matches = flow.where(quality < self.low_threshold, self.BELOW_LOW_THRESHOLD, matches)
        if self.allow_low_quality_matches:
            best_of_object = match_quality_matrix.max(1)[0].unsqueeze(1)
            best_pairs = (match_quality_matrix == best_of_object) & (best_of_object >= 0)
            is_best = best_pairs.any(0)
            matches = flow.where(is_best, best, matches)
        return matches


class SSDMatcher(Matcher):
    """A matcher in which each object also gets the box that fits it best, however badly.

    Args:
        threshold: a quality of at least this is a match.
    """

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold)

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        matches = super().__call__(match_quality_matrix)
        if match_quality_matrix.numel():
            quality, best_boxes = match_quality_matrix.max(1)
            objects, boxes = (
                flow.arange(count, device=matches.device) for count in match_quality_matrix.shape
            )
            # If several objects have the same best box, the last one gets it.
            best_pairs = (best_boxes[:, None] == boxes) & (quality >= 0)[:, None]
            best_objects = flow.where(best_pairs, objects[:, None], -1).max(0)[0]
            matches = flow.where(best_objects >= 0, best_objects, matches)
        return matches


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Set `eps` of all normalizations with fixed statistics."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """Return the channels of the features of a backbone, for which it runs once.

    Args:
        model: returns a tensor or a dict of tensors (N, C, H, W).
        size: width and height of images.
    """
    was_training = model.training
    model.eval()
    with flow.no_grad():
        parameter = next(model.parameters())
        features = model(
            flow.zeros(1, 3, size[1], size[0], dtype=parameter.dtype, device=parameter.device)
        )
    model.train(was_training)
    values = [features] if isinstance(features, Tensor) else list(features.values())
    return [value.shape[1] for value in values]
