"""Mixup and CutMix: batches whose images and targets are mixed with those of other images.

Random numbers come from NumPy's global generator, as in timm: with the same seed, the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow.data.vision.image import constant_like

_MODES = ("batch", "pair", "elem")
Box = tuple[int, int, int, int]


def one_hot(
    x: flow.Tensor,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    device: Any = None,
) -> flow.Tensor:
    """Return class numbers as rows with `on_value` at the class and `off_value` elsewhere.

    Args:
        x: integers ``[N]``.
        num_classes: length of the rows.
        on_value: see above.
        off_value: see above.
        device: the device of the result, by default that of `x`.

    Returns:
        float32 ``[N, num_classes]``.
    """
    rows = flow.nn.functional.one_hot(x.to(flow.int64), num_classes).to(flow.float32)
    rows = rows * (on_value - off_value) + off_value
    return rows if device is None else rows.to(device)


def mixup_target(
    target: flow.Tensor,
    num_classes: int,
    lam: float | flow.Tensor = 1.0,
    smoothing: float = 0.0,
    device: Any = None,
) -> flow.Tensor:
    """Return smoothed targets, mixed with the targets of the batch in reverse order.

    Args:
        target: class numbers ``[N]``.
        num_classes: number of classes.
        lam: share of each image's own target: a number, or ``[N, 1]``.
        smoothing: share that is spread over all classes.
        device: the device of the result, by default that of `target`.

    Returns:
        float32 ``[N, num_classes]``, rows of which sum to 1.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.data import mixup_target
        >>> mixup_target(flow.tensor([0, 1]), 2, lam=0.75).tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """
    off_value = smoothing / num_classes
    target1 = one_hot(target, num_classes, 1.0 - smoothing + off_value, off_value, device)
    return target1 * lam + target1.flip(0) * (1.0 - lam)


def rand_bbox(
    img_shape: Sequence[int], lam: float, margin: float = 0.0, count: int | None = None
) -> tuple[Any, Any, Any, Any]:
    """Return a random rectangle (top, bottom, left, right) with a share ``1 - lam`` of the image.

    Its middle is anywhere in the image, what would be outside is cut off.

    Args:
        img_shape: ends with height and width.
        lam: the share of the rest.
        margin: distance of the middle from the border, as a part of the rectangle.
        count: how many rectangles; then each result is an array.

    Example:
        >>> from flowvision.data import rand_bbox
        >>> top, bottom, left, right = rand_bbox((8, 8), lam=0.5)
        >>> bool(0 <= top <= bottom <= 8)
        True
    """
    sides = []
    center_points = []
    for length in img_shape[-2:]:
        cut = int(length * np.sqrt(1 - lam))
        space = int(margin * cut)
        center_points.append(np.random.randint(space, length - space, size=count))
        sides.append((length, cut))
    edges = []
    for (length, cut), center in zip(sides, center_points, strict=True):
        edges.append(np.clip(center - cut // 2, 0, length))
        edges.append(np.clip(center + (cut + 1) // 2, 0, length))
    return edges[0], edges[1], edges[2], edges[3]


def rand_bbox_minmax(
    img_shape: Sequence[int], minmax: Sequence[float], count: int | None = None
) -> tuple[Any, Any, Any, Any]:
    """Return a random rectangle (top, bottom, left, right) whose sides are in a range.

    Args:
        img_shape: ends with height and width.
        minmax: shortest and longest side, as a part of the image's.
        count: how many rectangles; then each result is an array.

    Raises:
        ValueError: the range has not two ends.

    Example:
        >>> from flowvision.data import rand_bbox_minmax
        >>> top, bottom, left, right = rand_bbox_minmax((8, 8), (0.25, 0.5))
        >>> bool(0 <= bottom - top <= 4)
        True
    """
    if len(minmax) != 2:
        raise ValueError(f"minmax should have two numbers, got {minmax!r}")
    height, width = img_shape[-2:]
    low, high = minmax
    cut_height = np.random.randint(int(height * low), int(height * high), size=count)
    cut_width = np.random.randint(int(width * low), int(width * high), size=count)
    top = np.random.randint(0, height - cut_height + 1, size=count)
    left = np.random.randint(0, width - cut_width + 1, size=count)
    return top, top + cut_height, left, left + cut_width


def cutmix_bbox_and_lam(
    img_shape: Sequence[int],
    lam: float,
    ratio_minmax: Sequence[float] | None = None,
    correct_lam: bool = True,
    count: int | None = None,
) -> tuple[tuple[Any, Any, Any, Any], Any]:
    """Return a random rectangle (top, bottom, left, right), and the share of the rest.

    Args:
        img_shape: ends with height and width.
        lam: share of the rest that is wanted.
        ratio_minmax: range of its sides instead; see `rand_bbox_minmax`.
        correct_lam: return the share of the rectangle as it is within the image.
        count: how many rectangles; then each result is an array.

    Example:
        >>> from flowvision.data import cutmix_bbox_and_lam
        >>> (top, bottom, left, right), share = cutmix_bbox_and_lam((8, 8), lam=0.5)
        >>> bool(share == 1 - (bottom - top) * (right - left) / 64)
        True
    """
    if ratio_minmax is None:
        box = rand_bbox(img_shape, lam, count=count)
    else:
        box = rand_bbox_minmax(img_shape, ratio_minmax, count=count)
    if correct_lam or ratio_minmax is not None:
        top, lower, left, right = box
        area = (lower - top) * (right - left)
        lam = 1.0 - area / float(img_shape[-2] * img_shape[-1])
    return box, lam


class Mixup:
    """Mix each image of a batch with the one at the same place from the end, and its target.

    Mixup adds the two images up, CutMix puts a rectangle of the other one into an image. Papers:
    Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2017; Yun et al., "CutMix:
    Regularization Strategy to Train Strong Classifiers with Localizable Features", 2019.

    Args:
        mixup_alpha: parameter of the Beta distribution of Mixup's shares; 0: no Mixup.
        cutmix_alpha: parameter of the Beta distribution of CutMix's shares; 0: no CutMix.
        cutmix_minmax: range of the rectangle's sides as parts of the image's, instead.
        prob: the probability that anything is done.
        switch_prob: the probability of CutMix where there are both.
        mode: what has random numbers of its own: the ``"batch"``, each ``"pair"`` of images that
            are mixed with each other, or each image (``"elem"``).
        correct_lam: let the target follow the rectangle's part within the image.
        label_smoothing: see `mixup_target`.
        num_classes: number of classes.

    Raises:
        ValueError: neither Mixup nor CutMix, or another mode.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.data import Mixup
        >>> mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=10)
        >>> x, target = mixup(flow.rand(4, 3, 8, 8), flow.tensor([1, 2, 3, 4]))
        >>> x.shape, target.shape
        (oneflow.Size([4, 3, 8, 8]), oneflow.Size([4, 10]))
    """

    def __init__(
        self,
        mixup_alpha: float = 1.0,
        cutmix_alpha: float = 0.0,
        cutmix_minmax: Sequence[float] | None = None,
        prob: float = 1.0,
        switch_prob: float = 0.5,
        mode: str = "batch",
        correct_lam: bool = True,
        label_smoothing: float = 0.1,
        num_classes: int = 1000,
    ) -> None:
        if mode not in _MODES:
            raise ValueError(f"mode should be one of {', '.join(_MODES)}, got {mode!r}")
        if mixup_alpha <= 0 and cutmix_alpha <= 0 and cutmix_minmax is None:
            raise ValueError("mixup_alpha or cutmix_alpha must be above 0, or cutmix_minmax given")
        self.mixup_alpha = mixup_alpha
        self.cutmix_alpha = cutmix_alpha if cutmix_minmax is None else 1.0
        self.cutmix_minmax = cutmix_minmax
        self.mix_prob = prob
        self.switch_prob = switch_prob
        self.label_smoothing = label_smoothing
        self.num_classes = num_classes
        self.mode = mode
        self.correct_lam = correct_lam
        self.mixup_enabled = True

    def __call__(self, x: flow.Tensor, target: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
        """Return the mixed images and targets; the given ones stay as they are.

        Args:
            x: images ``[N, C, H, W]`` with an even N.
            target: class numbers ``[N]``.

        Raises:
            ValueError: the number of images is odd.
        """
        if len(x) % 2:
            raise ValueError(f"Batch size should be even when using this, got {len(x)}")
        if self.mode == "batch":
            mixed, lam = self._mix_batch(x)
        else:
            mixed, lam = self._mix_each(x)
        return mixed, mixup_target(target, self.num_classes, lam, self.label_smoothing)

    def _mix_batch(self, x: flow.Tensor) -> tuple[flow.Tensor, float]:
        lam, cut = self._draw(None)
        if lam == 1.0:
            return x, 1.0
        if not cut:
            return x * lam + x.flip(0) * (1.0 - lam), lam
        box, lam = self._box(x.shape, lam)
        mask = _inside(box, x.shape)[None, None]
        return flow.where(constant_like(x, mask), x.flip(0), x), lam

    def _mix_each(self, x: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
        count = len(x) // 2 if self.mode == "pair" else len(x)
        lam, cut = self._draw(count)
        shares = np.ones((len(x), 1, 1, 1), np.float32)
        masks = np.zeros((len(x), 1, *x.shape[-2:]), bool)
        for index in range(count):
            # The other image of a pair gets the same part of this one.
            both = [index, len(x) - 1 - index] if self.mode == "pair" else [index]
            if lam[index] == 1.0:
                continue
            if cut[index]:
                box, lam[index] = self._box(x.shape, lam[index])
                masks[both] = _inside(box, x.shape)
            else:
                shares[both] = lam[index]
        other = x.flip(0)
        share = constant_like(x, shares).to(x.dtype)
        mixed = flow.where(share == 1, x, x * share + other * (1 - share))
        if self.mode == "pair":
            lam = np.concatenate([lam, lam[::-1]])
        column = constant_like(x, lam.astype(np.float32)[:, None])
        return flow.where(constant_like(x, masks), other, mixed), column.to(x.dtype)

    def _draw(self, count: int | None) -> tuple[Any, Any]:
        """Return shares, 1 where nothing is mixed, and whether CutMix does it.

        For the whole batch (`count` is None) the draws are numbers, made only where needed.
        """
        if not self.mixup_enabled:
            return (1.0, False) if count is None else (np.ones(count), np.zeros(count, bool))
        if count is None:
            if np.random.rand() >= self.mix_prob:
                return 1.0, False
            cut = self._draw_cut(None)
            alpha = self.cutmix_alpha if cut else self.mixup_alpha
            return float(np.random.beta(alpha, alpha)), cut
        cut = self._draw_cut(count)
        lam = np.ones(count)
        for alpha, mask in ((self.cutmix_alpha, cut), (self.mixup_alpha, ~cut)):
            if alpha > 0:
                lam = np.where(mask, np.random.beta(alpha, alpha, size=count), lam)
        act = np.random.rand(count) < self.mix_prob
        return np.where(act, lam.astype(np.float32), np.float32(1)), cut

    def _draw_cut(self, count: int | None) -> Any:
        if self.mixup_alpha > 0 and self.cutmix_alpha > 0:
            sample = np.random.rand() if count is None else np.random.rand(count)
            return sample < self.switch_prob
        only = self.cutmix_alpha > 0
        return only if count is None else np.full(count, only)

    def _box(self, shape: Sequence[int], lam: float) -> tuple[Box, float]:
        return cutmix_bbox_and_lam(shape, lam, self.cutmix_minmax, self.correct_lam)


def _inside(box: Box, shape: Sequence[int]) -> np.ndarray:
    """Return a mask ``[H, W]`` of a rectangle: an operand, so that another one compiles nothing."""
    top, bottom, left, right = box
    mask = np.zeros(tuple(shape[-2:]), bool)
    mask[top:bottom, left:right] = True
    return mask
