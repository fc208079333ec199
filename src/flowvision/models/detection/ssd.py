"""SSD: classes and boxes from features of six sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import oneflow as flow
from flowvision.models.detection.anchor_utils import DefaultBoxGenerator
from flowvision.models.detection.backbone_utils import trainable_layers
from flowvision.models.detection.candidates import only_where
from flowvision.models.detection.det_utils import BoxCoder, SSDMatcher, retrieve_out_channels
from flowvision.models.detection.faster_rcnn import IMAGENET_MEAN, IMAGENET_STD
from flowvision.models.detection.one_stage import (
    HeadOutputs,
    OneStageDetector,
    by_anchor,
    suppress_in_image,
)
from flowvision.models.detection.targets import match_quality, matched_objects
from flowvision.models.detection.transform import GeneralizedRCNNTransform
from flowvision.models.registry import ModelCreator, register_model
from oneflow import Tensor, nn
from oneflow.nn import functional as F


class SSDScoringHead(nn.Module):
    """Predictions from features of several sizes: (N, C_i, H_i, W_i) to (N, boxes, num_columns).

    Args:
        module_list: for each of the features what gives (N, kinds * num_columns, H_i, W_i).
        num_columns: numbers that are predicted for a box.
    """

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x: Sequence[Tensor]) -> Tensor:
        return flow.cat(
            [
                by_anchor(module(features), self.num_columns)
                for module, features in zip(self.module_list, x, strict=True)
            ],
            1,
        )


class SSDClassificationHead(SSDScoringHead):
    """Logits (N, boxes, num_classes).

    Args:
        in_channels: the number of channels of each of the features.
        num_anchors: how many boxes an element of each has.
        num_classes: the number of classes, with the background.
    """

    def __init__(
        self, in_channels: Sequence[int], num_anchors: Sequence[int], num_classes: int
    ) -> None:
        super().__init__(_convs(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Offsets (N, boxes, 4).

    Args:
        in_channels: the number of channels of each of the features.
        num_anchors: how many boxes an element of each has.
    """

    def __init__(self, in_channels: Sequence[int], num_anchors: Sequence[int]) -> None:
        super().__init__(_convs(in_channels, num_anchors, 4), 4)


def _convs(in_channels: Sequence[int], num_anchors: Sequence[int], columns: int) -> nn.ModuleList:
    modules = nn.ModuleList(
        nn.Conv2d(channels, columns * kinds, 3, padding=1)
        for channels, kinds in zip(in_channels, num_anchors, strict=True)
    )
    _init_xavier(modules)
    return modules


def _init_xavier(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)


class SSDHead(nn.Module):
    """Both heads: a dict with "bbox_regression" and "cls_logits".

    Args:
        in_channels: the number of channels of each of the features.
        num_anchors: how many boxes an element of each has.
        num_classes: the number of classes, with the background.
    """

    def __init__(
        self, in_channels: Sequence[int], num_anchors: Sequence[int], num_classes: int
    ) -> None:
        super().__init__()
        self.classification_head: nn.Module = SSDClassificationHead(
            in_channels, num_anchors, num_classes
        )
        self.regression_head: nn.Module = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: Sequence[Tensor]) -> HeadOutputs:
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


class SSD(OneStageDetector):
    """SSD (https://arxiv.org/abs/1512.02325).

    Takes a list of images (3, H, W) with values in [0, 1], of any sizes. In evaluation it returns
    for each image a dict of "boxes" (n, 4) in pixels, "scores" (n,) and "labels" (n,), the best
    first. While training it takes a list of targets with "boxes" and "labels" (from 1; 0 is
    background), too, and returns the losses "bbox_regression" and "classification".

    Args:
        backbone: gives a dict of features; may have an attribute `out_channels`, a list.
        anchor_generator: makes the default boxes.
        size: width and height to which images are resized.
        num_classes: the number of classes, with the background.
        image_mean: see `GeneralizedRCNNTransform`; by default of ImageNet.
        image_std: see `GeneralizedRCNNTransform`; by default of ImageNet.
        head: by default `SSDHead`.
        score_thresh: detections with a smaller probability are dropped.
        nms_thresh: the threshold of non-maximum suppression within a class.
        detections_per_img: how many detections remain at most.
        iou_thresh: boxes that overlap an object at least as much learn to find it.
        topk_candidates: how many of each class remain before non-maximum suppression.
        positive_fraction: the part of boxes with an object among those that learn classes.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        head: nn.Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
    ) -> None:
        if head is None:
            channels = getattr(backbone, "out_channels", None)
            channels = channels or retrieve_out_channels(backbone, size)
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        transform = GeneralizedRCNNTransform(
            min(size),
            max(size),
            image_mean or IMAGENET_MEAN,
            image_std or IMAGENET_STD,
            size_divisible=1,
            fixed_size=size,
        )
        super().__init__(backbone, anchor_generator, head, transform)
        self.box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0))
        self.proposal_matcher = SSDMatcher(iou_thresh)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def losses(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        num_anchors_per_level: Sequence[int],
    ) -> dict[str, Tensor]:
        matches = [
            self.proposal_matcher(match_quality(target, boxes))
            for target, boxes in zip(targets, anchors, strict=True)
        ]
        return self.compute_loss(targets, head_outputs, anchors, matches)

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        matched_idxs: Sequence[Tensor],
    ) -> dict[str, Tensor]:
        """Return the losses of all images, divided by the number of boxes with an object.

        Boxes without an object count only if their loss is among the largest.

        Args:
            targets: dictionaries with "boxes" and "labels" for each image.
            head_outputs: "bbox_regression" (N, boxes, 4) and "cls_logits" (N, boxes, classes).
            anchors: the default boxes of each image.
            matched_idxs: the object of each default box, negative for none.
        """
        is_matched = flow.stack([matches >= 0 for matches in matched_idxs])
        regression_targets, labels = [], []
        for target, boxes, matches in zip(targets, anchors, matched_idxs, strict=True):
            objects, classes = matched_objects(target, matches, boxes)
            regression_targets.append(self.box_coder.encode_single(objects, boxes))
            labels.append(classes)
        distance = F.smooth_l1_loss(
            head_outputs["bbox_regression"], flow.stack(regression_targets), reduction="none"
        ).sum(-1)
        classes = flow.where(is_matched, flow.stack(labels), 0)
        logits = head_outputs["cls_logits"]
        loss = F.cross_entropy(logits.flatten(0, 1), classes.flatten(), reduction="none")
        loss = loss.reshape(classes.shape)
        candidates = flow.where(is_matched, -float("inf"), loss.detach())
        rank = candidates.argsort(1, descending=True).argsort(1)
        hard = rank < self.neg_to_pos_ratio * is_matched.sum(1, keepdim=True)
        count = is_matched.sum().clamp(min=1)
        return {
            "bbox_regression": flow.where(is_matched, distance, 0.0).sum() / count,
            "classification": flow.where(is_matched | hard, loss, 0.0).sum() / count,
        }

    def postprocess_detections(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        head_outputs: Mapping[str, Any],
        image_anchors: Sequence[Any],
        image_shapes: Sequence[tuple[int, int]],
    ) -> list[dict[str, Tensor]]:
        """Return the "boxes", "scores" and "labels" in each image.

        Args:
            head_outputs: the predictions (N, boxes, ...) for each name.
            image_anchors: the default boxes of each image, (boxes, 4).
            image_shapes: height and width of each image.
        """
        outputs = {name: [output] for name, output in head_outputs.items()}
        return super().postprocess_detections(
            outputs, [[anchors] for anchors in image_anchors], image_shapes
        )

    def detections(
        self, outputs: HeadOutputs, anchors: Tensor, shape: tuple[int, int], levels: Sequence[int]
    ) -> dict[str, Tensor]:
        boxes = self.box_coder.decode_single(outputs["bbox_regression"], anchors)
        # Class 0 is background.
        scores = outputs["cls_logits"].softmax(-1)[:, 1:]
        best, index = scores.topk(min(self.topk_candidates, len(scores)), 0)
        labels = flow.arange(1, scores.shape[1] + 1, device=scores.device).expand(best.shape)
        scores, index, labels = (values.flatten() for values in (best, index, labels))
        good = scores > self.score_thresh
        scores, index, labels = only_where(good, scores, index, labels)
        return suppress_in_image(
            boxes[index], scores, labels, shape, self.nms_thresh, self.detections_per_img
        )


class SSDFeatureExtractorVGG(nn.Module):
    """Features of a VGG and of further convolutions.

    Input (N, 3, H, W); output a dict of six features, seven with `highres`: of 300 x 300 pixels
    with heights and widths 38, 19, 10, 5, 3 and 1.

    Args:
        backbone: the features of a VGG, a sequence of layers with five poolings.
        highres: whether there is a seventh, for images of 512 x 512 pixels.
    """

    def __init__(self, backbone: nn.Module, highres: bool) -> None:
        super().__init__()
        layers = list(backbone.children())
        indices = [place for place, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]
        layers[indices[2]].ceil_mode = True
        self.scale_weight = nn.Parameter(flow.ones(512) * 20)
        self.features = nn.Sequential(*layers[: indices[3]])
        fc6_7 = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1),
            nn.Conv2d(512, 1024, 3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, 1),
            nn.ReLU(inplace=True),
        )
        # Middle channels, channels, and the second convolution's kernel, padding and stride.
        more_convs = [(256, 512, 3, 1, 2), (128, 256, 3, 1, 2), (128, 256, 3, 0, 1)]
        more_convs.append(more_convs[-1])
        if highres:
            more_convs.append((128, 256, 4, 0, 1))
        self.extra = nn.ModuleList([nn.Sequential(*layers[indices[3] : -1], fc6_7)])
        channels = 1024
        for middle, out, kernel, padding, stride in more_convs:
            self.extra.append(
                nn.Sequential(
                    nn.Conv2d(channels, middle, 1),
                    nn.ReLU(inplace=True),
                    nn.Conv2d(middle, out, kernel, padding=padding, stride=stride),
                    nn.ReLU(inplace=True),
                )
            )
            channels = out
        _init_xavier(fc6_7)
        _init_xavier(self.extra[1:])
        self.out_channels = [512, 1024, *(row[1] for row in more_convs)]

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = self.features(x)
        # Features this early are much larger than the others.
        results = [self.scale_weight.reshape(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            results.append(x)
        return {str(number): result for number, result in enumerate(results)}


def _vgg_extractor(pretrained: bool, trainable: int) -> SSDFeatureExtractorVGG:
    features = ModelCreator.create_model("vgg16", pretrained=pretrained).get_submodule("features")
    layers = list(features.children())
    starts = [
        0,
        *(place for place, module in enumerate(layers) if isinstance(module, nn.MaxPool2d)),
    ][:-1]
    if not 0 <= trainable <= len(starts):
        raise ValueError(
            f"`trainable_backbone_layers` must be in [0, {len(starts)}], got {trainable}"
        )
    frozen = starts[len(starts) - trainable] if trainable else len(layers)
    for layer in layers[:frozen]:
        layer.requires_grad_(False)
    return SSDFeatureExtractorVGG(features, False)


@register_model(
    paper="1512.02325",
    task="object detection",
    image_size=300,
    url="https://download.pytorch.org/models/ssd300_vgg16_coco-b556d3b4.pth",
)
def ssd300_vgg16(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> SSD:
    """SSD on a VGG-16 for images of 300 x 300 pixels: 36 million parameters.

    Args:
        num_classes: the number of classes, with the background.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
        trainable_backbone_layers: how many of the backbone's five stages are trained; by default 4,
            and all of a backbone with random weights.
        **kwargs: further arguments of `SSD`.
    """
    trained = trainable_layers(
        trainable_backbone_layers, pretrained=pretrained_backbone, default=4, most=5
    )
    backbone = _vgg_extractor(pretrained_backbone, trained)
    boxes = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    # The mean pixel of the backbone's training, which did not divide by a deviation.
    options = {
        "image_mean": [0.48235, 0.45882, 0.40784],
        "image_std": [1 / 255.0] * 3,
        **kwargs,
    }
    return SSD(backbone, boxes, (300, 300), num_classes, **options)
