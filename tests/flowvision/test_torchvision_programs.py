"""Programs for torchvision run with `import flowvision as torchvision`."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowvision as torchvision
import oneflow as torch
from flowvision.models.detection import FasterRCNN
from flowvision.models.detection.faster_rcnn import FastRCNNPredictor
from flowvision.models.detection.rpn import AnchorGenerator
from flowvision.models.utils import get_cache_dir, load_state_dict_from_url
from oneflow import nn
from oneflow.plan import planning


def test_the_last_layer_is_trained_anew() -> None:
    model = torchvision.models.squeezenet1_1(weights=None)
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.classifier[1] = nn.Conv2d(512, 2, kernel_size=1)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.001, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    before = model.classifier[1].weight.detach().clone()
    loss = nn.CrossEntropyLoss()(model(torch.randn(2, 3, 48, 48)), torch.tensor([0, 1]))
    loss.backward()
    optimizer.step()
    schedule.step()
    assert len(trained) == 2
    assert not torch.equal(model.classifier[1].weight, before)


def test_a_detector_is_made_of_parts() -> None:
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=8, padding=1), nn.ReLU())
    backbone.out_channels = 8
    model = FasterRCNN(
        backbone,
        num_classes=2,
        rpn_anchor_generator=AnchorGenerator(((8, 16),), ((0.5, 1.0),)),
        box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0"], output_size=3, sampling_ratio=2),
        min_size=32,
        max_size=40,
    )
    features = model.roi_heads.box_predictor.cls_score.in_features
    model.roi_heads.box_predictor = FastRCNNPredictor(features, 3)
    (found,) = model.eval()([torch.rand(3, 32, 36)])
    assert set(found) == {"boxes", "labels", "scores"}
    assert found["labels"].tolist() == [label for label in found["labels"].tolist() if label < 3]
    losses = model.train()(
        [torch.rand(3, 32, 36)],
        [{"boxes": torch.tensor([[2.0, 2, 20, 18]]), "labels": torch.tensor([1])}],
    )
    assert torch.isfinite(sum(losses.values()))


@pytest.mark.parametrize(
    "name", ["fcn_resnet50", "deeplabv3_resnet101", "lraspp_mobilenet_v3_large"]
)
def test_segmentation_has_torchvisions_names(name: str) -> None:
    with planning():
        factory = getattr(torchvision.models.segmentation, name)
        model = factory(weights=None, weights_backbone=None, num_classes=3).eval()
        assert model(torch.zeros(1, 3, 64, 64))["out"].shape == (1, 3, 64, 64)


def test_weights_by_torchvisions_spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load(url: str, **_: object) -> dict:
        asked.append(url)
        return {}

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", load)
    for weights in ("DEFAULT", "IMAGENET1K_V1"):
        with pytest.raises(ValueError, match="are not those of resnet18"), planning():
            torchvision.models.resnet18(weights=weights)
    assert len(asked) == 2
    model = torchvision.models.squeezenet1_1(num_classes=2)
    torch.save(model.state_dict(), tmp_path / "own.pth")
    path = str(tmp_path / "own.pth")
    loaded = torchvision.models.squeezenet1_1(weights=path, num_classes=2)
    assert torch.equal(loaded.features[0].weight, model.features[0].weight)
    for weights, message in (("IMAGENET1K_V2", "no weights IMAGENET1K_V2"), (True, "got True")):
        with pytest.raises(ValueError, match=message):
            torchvision.models.resnet18(weights=weights)


def test_features_inside_a_model() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    getter = torchvision.models._utils.IntermediateLayerGetter(model, {"0": "early", "1": "late"})
    found = getter(torch.tensor([-1.0, 1.0]))
    assert found["early"].tolist() == [0.0, 1.0]
    assert set(found) == {"early", "late"}


def test_the_folder_of_downloads(tmp_path: Path) -> None:
    assert get_cache_dir() == torch.hub.get_dir()
    assert get_cache_dir(tmp_path) == str(tmp_path)
    torch.save({"a": torch.ones(2)}, tmp_path / "weights.pth")
    state = load_state_dict_from_url(
        (tmp_path / "weights.pth").as_uri(), model_dir=tmp_path / "cache", progress=False
    )
    assert state["a"].tolist() == [1.0, 1.0]


def test_earlier_names_of_arguments() -> None:
    transforms = torchvision.transforms
    turned = transforms.RandomRotation(10, resample=2)
    assert repr(turned) == repr(transforms.RandomRotation(10, interpolation=2))
    image = torch.rand(1, 5, 6)
    smooth = transforms.functional.rotate(image, 20.0, resample=2)
    assert torch.equal(smooth, transforms.functional.rotate(image, 20.0, interpolation=2))
    moved = transforms.RandomAffine(10, resample=3, fillcolor=7)
    assert repr(moved) == repr(transforms.RandomAffine(10, interpolation=3, fill=7))
