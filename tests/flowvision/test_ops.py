"""Operators of detectors against torchvision's, in eager mode, in graphs, and split by batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import ops
from flowvision.layers.blocks import (
    MultiScaleRoIAlign,
    box_iou_np,
    generalized_box_iou_loss,
    sigmoid_focal_loss,
)
from flowvision.ops._utils import convert_boxes_to_roi_format, split_normalization_params
from tests.flowvision.torchvision_operators import torchvision

pytestmark = pytest.mark.one_in(2)

_RANDOM = np.random.default_rng(11)


def _boxes(count: int, span: float = 100.0) -> np.ndarray:
    corners = _RANDOM.uniform(0, span, (count, 2))
    return np.concatenate([corners, corners + _RANDOM.uniform(1, span, (count, 2))], 1).astype("f")


@pytest.mark.parametrize(("count", "span"), [(1, 10.0), (200, 30.0), (300, 100.0)])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7])
def test_nms(count: int, span: float, threshold: float) -> None:
    boxes, scores = _boxes(count, span), _RANDOM.uniform(size=count).astype("f")
    wanted = torchvision.ops.nms(torch.tensor(boxes), torch.tensor(scores), threshold)
    found = ops.nms(flow.tensor(boxes), flow.tensor(scores), threshold)
    assert found.tolist() == wanted.tolist()
    for most in (0, len(wanted) // 2, count + 1):
        first = ops.nms(flow.tensor(boxes), flow.tensor(scores), threshold, most)
        assert first.tolist() == wanted.tolist()[:most]


def test_batched_nms_is_exact_far_from_the_origin() -> None:
    boxes, scores = _boxes(200), _RANDOM.uniform(size=200).astype("f")
    classes = _RANDOM.integers(0, 5, 200)
    found = ops.batched_nms(
        flow.tensor(boxes), flow.tensor(scores), flow.tensor(classes * 1000), 0.4
    )
    wanted = np.concatenate(
        [
            np.flatnonzero(classes == index)[
                torchvision.ops.nms(
                    torch.tensor(boxes[classes == index]),
                    torch.tensor(scores[classes == index]),
                    0.4,
                ).numpy()
            ]
            for index in range(5)
        ]
    )
    assert found.tolist() == wanted[np.argsort(-scores[wanted])].tolist()


def test_boxes_without_area_or_with_nan_suppress_nothing() -> None:
    nan = float("nan")
    boxes = flow.tensor([[1.0, 1, 1, 1], [1, 1, 1, 1], [nan, 0, 2, 2], [0, 0, 2, 2], [0, 0, 2, 2]])
    scores = flow.tensor([0.5, 0.4, 0.9, 0.8, 0.7])
    assert ops.nms(boxes, scores, 0.5).tolist() == [2, 3, 0, 1]
    classes = flow.zeros(5, dtype=flow.int64)
    assert ops.batched_nms(boxes, scores, classes, 0.5).tolist() == [2, 3, 0, 1]
    assert ops.remove_small_boxes(boxes, 0.0).tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("most", [0, 4, 500])
def test_batched_nms_of_fixed_size(most: int) -> None:
    boxes, scores = flow.tensor(_boxes(60, 30.0)), flow.rand(60)
    classes = flow.randint(0, 3, (60,))
    scores[::7] = -float("inf")
    there = flow.isfinite(scores).nonzero(as_tuple=True)[0]
    wanted = ops.batched_nms(boxes[there], scores[there], classes[there], 0.3, most)

    class Suppression(flow.nn.Graph):
        def build(self, *given: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
            return ops.batched_nms_padded(*given, 0.3, most)

    for suppress in (Suppression(), lambda *given: ops.batched_nms_padded(*given, 0.3, most)):
        positions, kept = suppress(boxes, scores, classes)
        assert positions.shape == kept.shape == (min(most, 60),)
        assert positions[kept].tolist() == there[wanted].tolist()
        assert kept.tolist() == sorted(kept.tolist(), reverse=True)
    positions, _ = ops.batched_nms_padded(boxes[:0], scores[:0], classes[:0], 0.3, most)
    assert positions.shape == (0,)


def test_nothing() -> None:
    none = flow.zeros(0, 4)
    assert ops.batched_nms(none, flow.zeros(0), flow.zeros(0), 0.5).tolist() == []
    assert ops.box_iou(none, flow.rand(3, 4)).shape == (0, 3)
    assert ops.remove_small_boxes(none, 1.0).shape == (0,)
    assert ops.roi_align(flow.rand(1, 2, 4, 4), [none], 3).shape == (0, 2, 3, 3)
    assert ops.masks_to_boxes(flow.zeros(0, 4, 4)).shape == (0, 4)


@pytest.mark.parametrize(
    "name", ["box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_overlaps(name: str, dtype: str) -> None:
    a, b = _boxes(5).astype(dtype), _boxes(7).astype(dtype)
    if name == "complete_box_iou" and dtype == "int64":
        pytest.skip("torchvision's fails for integers")
    wanted = getattr(torchvision.ops, name)(torch.tensor(a), torch.tensor(b))
    found = getattr(ops, name)(flow.tensor(a), flow.tensor(b))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("source", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("target", ["xyxy", "xywh", "cxcywh"])
def test_box_convert(source: str, target: str) -> None:
    boxes = _boxes(4)
    wanted = torchvision.ops.box_convert(torch.tensor(boxes), source, target)
    found = ops.box_convert(flow.tensor(boxes), source, target)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)


def test_box_convert_refuses_other_formats() -> None:
    with pytest.raises(ValueError, match="'yxyx'"):
        ops.box_convert(flow.zeros(1, 4), "yxyx", "xyxy")


def test_areas_clipping_and_masks() -> None:
    boxes = _boxes(6)
    np.testing.assert_allclose(
        ops.box_area(flow.tensor(boxes)).numpy(),
        torchvision.ops.box_area(torch.tensor(boxes)).numpy(),
    )
    assert ops.box_area(flow.tensor([[0.0, 0, 300, 300]], dtype=flow.float16)).tolist() == [90000]
    np.testing.assert_allclose(
        ops.clip_boxes_to_image(flow.tensor(boxes), (50, 60)).numpy(),
        torchvision.ops.clip_boxes_to_image(torch.tensor(boxes), (50, 60)).numpy(),
    )
    masks = _RANDOM.uniform(size=(4, 9, 7)) > 0.9
    masks[:, 4, 3] = True
    np.testing.assert_array_equal(
        ops.masks_to_boxes(flow.tensor(masks)).numpy(),
        torchvision.ops.masks_to_boxes(torch.tensor(masks)).numpy(),
    )
    with pytest.raises(ValueError, match="must not be empty"):
        ops.masks_to_boxes(flow.zeros(2, 3, 3))
    iou, _ = box_iou_np(boxes, boxes[:2])
    np.testing.assert_allclose(
        iou, ops.box_iou(flow.tensor(boxes), flow.tensor(boxes[:2])).numpy(), rtol=1e-5
    )


@pytest.mark.parametrize("sampling_ratio", [-1, 1, 3])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(sampling_ratio: int, aligned: bool) -> None:
    x = _RANDOM.normal(size=(2, 3, 12, 15)).astype("f")
    boxes = [_boxes(4, 20.0), _boxes(3, 23.0)]
    options = (0.25, sampling_ratio, aligned)
    theirs = torch.tensor(x, requires_grad=True)
    wanted = torchvision.ops.roi_align(theirs, [*map(torch.tensor, boxes)], (3, 2), *options)
    ours = flow.tensor(x, requires_grad=True)
    found = ops.roi_align(ours, [*map(flow.tensor, boxes)], (3, 2), *options)
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), atol=2e-5)
    weights = _RANDOM.normal(size=found.shape).astype("f")
    (wanted * torch.tensor(weights)).sum().backward()
    (found * flow.tensor(weights)).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=5e-5)


def test_nan_outside_of_a_rectangle_does_not_reach_it() -> None:
    x = flow.ones(1, 1, 8, 8)
    x[..., 7, 7] = float("nan")
    assert ops.roi_align(x, [flow.tensor([[1.0, 1, 4, 4]])], 2, sampling_ratio=2).numpy().max() == 1


def test_ps_roi_align_reads_its_own_channels() -> None:
    x, boxes = flow.randn(1, 2 * 3 * 2, 9, 9), [flow.tensor(_boxes(3, 20.0))]
    found = ops.ps_roi_align(x, boxes, (3, 2), 0.5, 2)
    every = ops.roi_align(x, boxes, (3, 2), 0.5, 2, aligned=True).numpy()
    for channel, row, column in np.ndindex(2, 3, 2):
        own = channel * 6 + row * 2 + column
        np.testing.assert_array_equal(
            found[:, channel, row, column].numpy(), every[:, own, row, column]
        )
    with pytest.raises(ValueError, match="multiple of 6 channels"):
        ops.ps_roi_align(flow.rand(1, 4, 9, 9), boxes, (3, 2))
    layer = ops.PSRoIAlign((3, 2), 0.5, 2)
    np.testing.assert_array_equal(layer(x, boxes).numpy(), found.numpy())


def _largest_of_bins(
    x: np.ndarray, rois: np.ndarray, size: tuple[int, int], scale: float
) -> np.ndarray:
    """The maxima bin by bin, as the paper says it; torchvision's operator is compiled code."""
    found = np.zeros((len(rois), x.shape[1], *size), x.dtype)
    for index, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (
            int(np.copysign(np.floor(abs(corner * scale) + 0.5), corner)) for corner in corners
        )
        height, width = max(bottom - top + 1, 1) / size[0], max(right - left + 1, 1) / size[1]
        for row, column in np.ndindex(*size):
            rows = slice(
                max(top + int(row * height), 0), max(top + int(np.ceil((row + 1) * height)), 0)
            )
            columns = slice(
                max(left + int(column * width), 0),
                max(left + int(np.ceil((column + 1) * width)), 0),
            )
            part = x[int(image)][:, rows, columns]
            if part.size:
                found[index, :, row, column] = part.max((1, 2))
    return found


@pytest.mark.parametrize("count", [0, 5, 70])
def test_roi_pool(count: int) -> None:
    x = _RANDOM.normal(size=(2, 3, 12, 15)).astype("f")
    rois = np.concatenate([_RANDOM.integers(0, 2, (count, 1)), _boxes(count, 20.0) - 5], 1)
    rois = rois.astype("f")
    ours = flow.tensor(x, requires_grad=True)
    found = ops.roi_pool(ours, flow.tensor(rois), (3, 2), 0.5)
    wanted = _largest_of_bins(x, rois, (3, 2), 0.5)
    np.testing.assert_array_equal(found.numpy(), wanted)
    layer = ops.RoIPool((3, 2), 0.5)
    np.testing.assert_array_equal(layer(ours, flow.tensor(rois)).numpy(), wanted)
    # Each bin that is not empty hands its gradient to one element.
    found.sum().backward()
    assert ours.grad.sum().item() == np.count_nonzero(wanted)


@pytest.mark.parametrize(
    ("shapes", "options", "message"),
    [
        ([(2, 4, 4), (2, 8, 3, 3), (2, 2, 2, 2)], {}, "four dimensions"),
        ([(2, 2, 4, 4), (2, 8, 4, 4), (2, 2, 2, 2)], {}, r"`offset` .* groups \* 8, 3, 3\]"),
        ([(2, 2, 4, 4), (2, 7, 3, 3), (2, 2, 2, 2)], {}, "`offset`"),
        ([(2, 3, 4, 4), (2, 8, 3, 3), (2, 2, 2, 2)], {}, "into groups"),
        ([(2, 2, 4, 4), (2, 8, 3, 3), (2, 2, 2, 2)], {"stride": 0}, "`stride`"),
        ([(2, 2, 1, 1), (2, 8, 3, 3), (2, 2, 2, 2)], {}, "larger than"),
        ([(2, 2, 4, 4), (2, 8, 3, 3), (2, 2, 2, 2)], {"mask": flow.ones(2, 3, 3, 3)}, "`mask`"),
    ],
)
def test_deform_conv2d_refuses_other_sizes(
    shapes: list[tuple[int, ...]], options: dict, message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        ops.deform_conv2d(*(flow.zeros(*shape) for shape in shapes), **options)


def test_deform_conv2d_as_a_layer() -> None:
    layer = ops.DeformConv2d(4, 6, (3, 2), stride=(1, 2), padding=1, dilation=(2, 1), groups=2)
    theirs = torchvision.ops.DeformConv2d(4, 6, (3, 2), groups=2)
    assert {name: tuple(tensor.shape) for name, tensor in layer.state_dict().items()} == {
        name: tuple(tensor.shape) for name, tensor in theirs.state_dict().items()
    }
    x = flow.randn(2, 4, 7, 6)
    plain = flow.nn.functional.conv2d(x, layer.weight, layer.bias, (1, 2), 1, (2, 1), 2)
    offset = flow.zeros(2, 2 * 6, *plain.shape[2:])
    np.testing.assert_allclose(layer(x, offset).numpy(), plain.detach().numpy(), atol=1e-5)
    half = flow.full((2, 6, *plain.shape[2:]), 0.5)
    halved = (layer(x, offset, half) - layer.bias.reshape(1, -1, 1, 1)).detach().numpy()
    unbiased = (plain - layer.bias.reshape(1, -1, 1, 1)).detach().numpy()
    np.testing.assert_allclose(halved, unbiased / 2, atol=1e-5)
    with pytest.raises(ValueError, match="multiples of `groups`"):
        ops.DeformConv2d(3, 4, 1, groups=2)


def test_rectangles_of_other_shapes_are_refused() -> None:
    x = flow.rand(1, 2, 4, 4)
    with pytest.raises(ValueError, match=r"\(n, 5\)"):
        ops.roi_align(x, flow.zeros(2, 4), 2)
    with pytest.raises(ValueError, match=r"\(n, 4\)"):
        ops.roi_align(x, [flow.zeros(2, 5)], 2)
    with pytest.raises(TypeError, match="list of tensors"):
        ops.roi_align(x, 3, 2)


def test_multi_scale_roi_align() -> None:
    boxes = [_boxes(6, 120.0), _boxes(5, 40.0)]
    sizes = [(256, 256), (200, 256)]
    x = {
        str(level): _RANDOM.normal(size=(2, 3, 64 >> level, 64 >> level)).astype("f")
        for level in range(3)
    }
    theirs = torchvision.ops.MultiScaleRoIAlign(["0", "1", "2"], 3, 2)
    wanted = theirs({k: torch.tensor(v) for k, v in x.items()}, [*map(torch.tensor, boxes)], sizes)
    ours = MultiScaleRoIAlign(["0", "1", "2"], 3, 2)
    found = ours({k: flow.tensor(v) for k, v in x.items()}, [*map(flow.tensor, boxes)], sizes)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=2e-5)
    with pytest.raises(ValueError, match="none of the features"):
        ours({"other": flow.rand(1, 3, 4, 4)}, [], sizes)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(reduction: str) -> None:
    logits = _RANDOM.normal(size=(4, 3)).astype("f")
    labels = (_RANDOM.uniform(size=(4, 3)) > 0.5).astype("f")
    for alpha in (0.25, -1):
        wanted = torchvision.ops.sigmoid_focal_loss(
            torch.tensor(logits), torch.tensor(labels), alpha, 2, reduction
        )
        found = sigmoid_focal_loss(flow.tensor(logits), flow.tensor(labels), alpha, 2, reduction)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
    a, b = _boxes(8), _boxes(8)
    wanted = torchvision.ops.generalized_box_iou_loss(torch.tensor(a), torch.tensor(b), reduction)
    found = generalized_box_iou_loss(flow.tensor(a), flow.tensor(b), reduction)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
    for loss in (sigmoid_focal_loss, generalized_box_iou_loss):
        none = flow.zeros(0, 4, requires_grad=True)
        assert loss(none, flow.zeros(0, 4), reduction=reduction).sum().item() == 0
    with pytest.raises(ValueError, match="reduction"):
        sigmoid_focal_loss(flow.tensor(logits), flow.tensor(labels), reduction="median")


class _Overlaps(flow.nn.Graph):
    def build(self, x: flow.Tensor, rois: flow.Tensor, boxes: flow.Tensor) -> tuple:
        return (
            ops.roi_align(x, rois, 2, 0.5, 2),
            ops.roi_pool(x, rois, 2, 0.5),
            ops.generalized_box_iou(boxes, boxes),
        )


def test_graph() -> None:
    x, boxes = flow.randn(2, 3, 8, 8), flow.tensor(_boxes(3, 10.0))
    rois = convert_boxes_to_roi_format([boxes[:2], boxes[2:]])
    features, maxima, overlaps = _Overlaps()(x, rois, boxes)
    np.testing.assert_array_equal(maxima.numpy(), ops.roi_pool(x, rois, 2, 0.5).numpy())
    # A position, of at most 10, may be rounded otherwise: by 1e-6, times the difference of pixels.
    np.testing.assert_allclose(
        features.numpy(), ops.roi_align(x, rois, 2, 0.5, 2).numpy(), atol=5e-6
    )
    np.testing.assert_allclose(
        overlaps.numpy(), ops.generalized_box_iou(boxes, boxes).numpy(), atol=1e-6
    )


def test_split_by_box() -> None:
    placement, split = flow.placement("cpu", [0, 1]), flow.sbp.split(0)
    whole = flow.sbp.broadcast
    a, b = _boxes(4, 10.0), _boxes(3)
    found = ops.generalized_box_iou(
        flow.tensor(a, placement=placement, sbp=split),
        flow.tensor(b, placement=placement, sbp=whole),
    )
    assert found.sbp == (split,)
    wanted = ops.generalized_box_iou(flow.tensor(a), flow.tensor(b))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-6)
    x = _RANDOM.normal(size=(1, 2, 20, 20)).astype("f")
    rois = np.concatenate([np.zeros((4, 1), "f"), a], 1)
    features = ops.roi_align(
        flow.tensor(x, placement=placement, sbp=whole),
        flow.tensor(rois, placement=placement, sbp=split),
        2,
        sampling_ratio=2,
    )
    assert features.sbp == (split,)
    wanted = ops.roi_align(flow.tensor(x), flow.tensor(rois), 2, sampling_ratio=2)
    np.testing.assert_allclose(features.numpy(), wanted.numpy(), atol=1e-6)


def test_split_by_image() -> None:
    placement, split, whole = flow.placement("cpu", [0, 1]), flow.sbp.split(0), flow.sbp.broadcast

    def as_global(tensor: flow.Tensor, sbp: flow.sbp.sbp) -> flow.Tensor:
        return flow.tensor(tensor.numpy(), placement=placement, sbp=sbp)

    x, offset = flow.randn(2, 3, 6, 6), flow.randn(2, 18, 4, 4)
    weight = flow.randn(4, 3, 3, 3)
    found = ops.deform_conv2d(
        as_global(x, split),
        as_global(offset, split),
        as_global(weight, whole),
    )
    assert found.sbp == (split,)
    wanted = ops.deform_conv2d(x, offset, weight)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-5)
    rois = flow.tensor([[0.0, 1, 1, 4, 5], [1, 0, 0, 3, 3], [0, 2, 2, 9, 9], [1, 3, 1, 4, 4]])
    pooled = ops.roi_pool(as_global(x, whole), as_global(rois, split), 2)
    assert pooled.sbp == (split,)
    np.testing.assert_array_equal(pooled.numpy(), ops.roi_pool(x, rois, 2).numpy())


def test_split_normalization_params_refuses_what_is_no_module() -> None:
    with pytest.raises(ValueError, match="classes of modules"):
        split_normalization_params(flow.nn.Linear(1, 1), [int])
