"""The common parts of segmentation models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowvision.models.registry import ModelCreator
from oneflow import Tensor, nn
from oneflow.nn import functional as F


class IntermediateLayerGetter(nn.ModuleDict):
    """The children of a model up to the last requested one, with the results of some.

    Takes what the model takes, and returns a dict of results.

    Args:
        model: whose children run one after another, such as the stages of a ResNet.
        return_layers: a mapping from names of children to the names of their results.

    Raises:
        ValueError: if the model has no child of such a name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.segmentation.seg_utils import IntermediateLayerGetter
        >>> from oneflow import nn
        >>> body = IntermediateLayerGetter(nn.Sequential(nn.ReLU(), nn.Tanh()), {"0": "out"})
        >>> {name: value.tolist() for name, value in body(flow.tensor([-1.0, 2.0])).items()}
        {'out': [0.0, 2.0]}
    """

    def __init__(self, model: nn.Module, return_layers: Mapping[str, str]) -> None:
        names = [name for name, _ in model.named_children()]
        missing = set(return_layers) - set(names)
        if missing:
            raise ValueError(f"the model has no children {sorted(missing)}; it has {names}")
        last = max(names.index(name) for name in return_layers)
        children = dict(model.named_children())
        super().__init__({name: children[name] for name in names[: last + 1]})
        self.return_layers = dict(return_layers)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        results = {}
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                results[self.return_layers[name]] = x
        return results


class SegmentationModel(nn.Module):
    """A backbone, a classifier of its elements, and perhaps a second one for a loss on its way.

    Input (N, 3, H, W); output a dict with "out" (N, classes, H, W), and "aux" if there is a second
    classifier.

    Args:
        backbone: gives features "out" and, for the second classifier, "aux".
        classifier: from features to logits of the same height and width.
        aux_classifier: the same for the features "aux".
    """

    def __init__(
        self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        # Published weights come with the second classifier.
        if self.aux_classifier is None:
            for key in [key for key in state_dict if key.startswith(f"{prefix}aux_classifier.")]:
                del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features = self.backbone(x)
        results = {"out": resize_to(self.classifier(features["out"]), x)}
        if self.aux_classifier is not None:
            results["aux"] = resize_to(self.aux_classifier(features["aux"]), x)
        return results


def resize_to(logits: Tensor, image: Tensor) -> Tensor:
    """Interpolate logits to the height and width of an image."""
    return F.interpolate(logits, size=image.shape[-2:], mode="bilinear", align_corners=False)


def resnet_features(name: str, pretrained: bool, *, aux: bool) -> IntermediateLayerGetter:
    """Return a ResNet of stride 8 that gives features "out" (2048 channels).

    Args:
        name: such as "resnet50".
        pretrained: whether to load weights of ImageNet.
        aux: whether it also gives "aux", the features of the stage before (1024 channels).
    """
    model = ModelCreator.create_model(
        name, pretrained=pretrained, replace_stride_with_dilation=(False, True, True)
    )
    names = {"layer3": "aux", "layer4": "out"} if aux else {"layer4": "out"}
    return IntermediateLayerGetter(model, names)


def mobilenet_features(
    pretrained: bool, stages: Mapping[str, int], aux: bool = True
) -> tuple[IntermediateLayerGetter, dict[str, int]]:
    """Return a MobileNetV3 of stride 16 that gives features of some stages, and their channels.

    Args:
        pretrained: whether to load weights of ImageNet.
        stages: a mapping from names to stages, of which each begins with a stride; -1 is the last
            block.
        aux: whether "aux" is among them, if there is a stage of this name.
    """
    model = ModelCreator.create_model("mobilenet_v3_large", pretrained=pretrained, dilated=True)
    blocks = model.get_submodule("features")
    starts = stage_starts(list(blocks.children()))
    places = {name: starts[stage] for name, stage in stages.items() if aux or name != "aux"}
    body = IntermediateLayerGetter(blocks, {str(place): name for name, place in places.items()})
    return body, {name: block_channels(body[str(place)]) for name, place in places.items()}


def stage_starts(blocks: Sequence[nn.Module]) -> list[int]:
    """Return the positions of the first block, of those that declare a stride, and of the last."""
    strided = [index for index, block in enumerate(blocks) if getattr(block, "is_strided", False)]
    return [0, *strided, len(blocks) - 1]


def block_channels(block: nn.Module) -> int:
    """Return the channels of what the last convolution of a block gives."""
    return [module for module in block.modules() if isinstance(module, nn.Conv2d)][-1].out_channels
