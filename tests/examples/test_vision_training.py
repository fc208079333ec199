"""The example that trains classifiers, on a few images."""

import importlib.util
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import oneflow as flow
from flowvision.models.registry import register_model, unregister_model
from oneflow import nn

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("vision_training")

FOLDER = Path(__file__).parents[2] / "examples" / "vision"


def tiny_network(num_classes):
    """Return a classifier that is compiled soon."""
    return nn.Sequential(
        OrderedDict(
            features=nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU()),
            pool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(),
            head=nn.Linear(8, num_classes),
        )
    )


@pytest.fixture(scope="module", autouse=True)
def _registered():
    register_model()(tiny_network)
    yield
    unregister_model("tiny_network")


@pytest.fixture(scope="module")
def train():
    spec = importlib.util.spec_from_file_location("vision_train", FOLDER / "train.py")
    module = importlib.util.module_from_spec(spec)
    # Workers and pickles find classes by the module's name.
    sys.modules["vision_train"] = module
    spec.loader.exec_module(module)
    return module


def write_photos(folder, per_class):
    """Dark and bright noise."""
    random = np.random.default_rng(0)
    for name, low in (("bright", 128), ("dark", 0)):
        (folder / name).mkdir(parents=True)
        for index in range(per_class):
            pixels = random.integers(low, low + 128, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{index}.png")


def options(data, output, *more):
    model = ["--model", "tiny_network", "--size", "32", "--ema", "0.5"]
    common = [*model, "--batch", "4", "--workers", "0", "--lr", "1e-3"]
    return [str(data), *common, "--output", str(output), *more]


@pytest.mark.slow
def test_training_and_going_on_as_a_graph(train, tmp_path, capsys):
    write_photos(tmp_path / "data", 10)
    output = tmp_path / "out"
    train.main(options(tmp_path / "data", output, "--epochs", "1", "--mixup", "0.2"))
    first = flow.load(output / "checkpoint.flow")
    resumed = options(tmp_path / "data", output, "--epochs", "2", "--graph", "--resume")
    accuracy = train.main(resumed)
    assert 0 <= accuracy <= 1
    second = flow.load(output / "checkpoint.flow")
    assert second["history"].startswith(first["history"][:-1])
    name = "features.0.weight"
    assert not np.array_equal(first["model"][name].numpy(), second["model"][name].numpy())
    assert "held-out accuracy" in capsys.readouterr().out
    for picture in ("learning_curves.png", "confusion_matrix.png"):
        with Image.open(output / picture) as image:
            assert image.size[0] > 200
    with pytest.raises(SystemExit, match="has had 2 epochs"):
        train.main(resumed)
    with pytest.raises(SystemExit, match="is of the model tiny_network"):
        train.main([*resumed, "--model", "squeezenet1_0"])


def test_ctrl_c_says_how_to_go_on(train, tmp_path, monkeypatch):
    write_photos(tmp_path / "data", 10)
    epochs = []

    def interrupted_in_the_second(training, loader, epoch, progress):
        epochs.append(epoch)
        if epoch == 1:
            raise KeyboardInterrupt
        return 1.0, 0.5, 10.0

    monkeypatch.setattr(train.Training, "train_epoch", interrupted_in_the_second)
    command = options(tmp_path / "data", tmp_path, "--epochs", "2")
    with pytest.raises(SystemExit, match="stopped; --resume goes on behind epoch 1"):
        train.main(command)
    with pytest.raises(SystemExit, match="behind epoch 1"):
        train.main([*command, "--resume"])
    assert epochs == [0, 1, 1]


def test_folders_that_do_not_fit(train, tmp_path):
    write_photos(tmp_path / "data" / "train", 3)
    write_photos(tmp_path / "data" / "val", 3)
    with pytest.raises(SystemExit, match="make no batch"):
        train.main(options(tmp_path / "data", tmp_path, "--batch", "50"))
    (tmp_path / "data" / "val" / "dark").rename(tmp_path / "data" / "val" / "black")
    with pytest.raises(SystemExit, match="other classes"):
        train.main(options(tmp_path / "data", tmp_path))
    with pytest.raises(SystemExit):
        train.main(options(tmp_path / "nothing", tmp_path))
