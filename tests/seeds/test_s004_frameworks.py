"""Operators of TensorFlow and Paddle, and trained networks, imported.

The frameworks are not installed: their exports and what they computed are recorded.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image, ImageDraw, ImageFont

import oneflow as flow
from oneflow import nn
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx

DATA = Path(__file__).parents[1] / "onnx" / "data"


def assert_recorded(name, row):
    """The import of a recorded export gives what the framework computed."""
    with np.load(DATA / f"{name}_ops.npz") as file:
        model, x, wanted = (file[f"{row[5:]}.{part}"] for part in ("model", "input", "output"))
    output = from_onnx(model.tobytes())(flow.tensor(x)).numpy()
    np.testing.assert_allclose(output, wanted, rtol=1e-4, atol=1e-5)
    assert output.dtype == wanted.dtype


TENSORFLOW = {
    "s004_T01": "relu",
    "s004_T02": "concatenate",
    "s004_T03": "expand_dims",
    "s004_T04": "transpose",
    "s004_T05": "batchnorm",
    "s004_T06": "slice",
    "s004_T07": "gather",
    "s004_T08": "clip_by_value",
    "s004_T09": "conv2d",
    "s004_T10": "depthwiseconv2d",
    "s004_T11": "flatten",
    "s004_T12": "add",
    "s004_T13": "sub",
    "s004_T14": "mul",
    "s004_T15": "div",
    "s004_T16": "pow",
    "s004_T17": "sqrt",
    "s004_T18": "tanh",
    "s004_T19": "sigmoid",
    "s004_T20": "erf",
    "s004_T21": "cast",
    "s004_T22": "pad",
    "s004_T23": "maxpool",
    "s004_T24": "avgpool",
    "s004_T25": "globalavgpool",
    "s004_T26": "globalmaxpool",
    "s004_T27": "reduce_mean",
    "s004_T28": "reshape",
    "s004_T29": "softmax",
    "s004_T30": "relu6",
}
PADDLE = {
    "s004_D01": "relu",
    "s004_D02": "concatenate",
    "s004_D03": "expand_dims",
    "s004_D04": "transpose",
    "s004_D05": "batchnorm",
    "s004_D06": "slice",
    "s004_D07": "gather",
    "s004_D08": "clip_by_value",
    "s004_D09": "conv2d",
    "s004_D10": "depthwiseconv2d",
    "s004_D11": "flatten",
    "s004_D12": "add",
    "s004_D13": "sub",
    "s004_D14": "mul",
    "s004_D15": "div",
    "s004_D16": "pow",
    "s004_D17": "sqrt",
    "s004_D18": "tanh",
    "s004_D19": "sigmoid",
    "s004_D20": "erf",
    "s004_D21": "cast",
    "s004_D22": "pad",
    "s004_D23": "maxpool",
    "s004_D24": "avgpool",
    "s004_D25": "adaptiveavgpool",
    "s004_D26": "adaptivemaxpool",
    "s004_D27": "reduce_mean",
    "s004_D28": "reshape",
    "s004_D29": "softmax",
    "s004_D30": "relu6",
}


@pytest.mark.parametrize("row", TENSORFLOW)
def test_tensorflow_operators(row):
    assert_recorded("tensorflow", row)


@pytest.mark.parametrize("row", PADDLE)
def test_paddle_operators(row):
    assert_recorded("paddle", row)


# --- trained networks


class Inference(nn.Graph):
    """A graph that calls a module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def build(self, x):
        return self.module(x)


def ocr_file(name):
    """A network of PP-OCR v4 from the package that carries it."""
    try:
        package = importlib.metadata.distribution("rapidocr-onnxruntime")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("rapidocr-onnxruntime (requirements/data.txt) is not installed")
    return Path(str(package.locate_file(f"rapidocr_onnxruntime/models/{name}.onnx")))


def line_of_text(text, width=192):
    """A line of text as the recognition network takes it."""
    image = Image.new("RGB", (width, 48), "white")
    ImageDraw.Draw(image).text((10, 8), text, "black", ImageFont.load_default(28))
    pixels = np.asarray(image).astype(np.float32) / 255
    return ((pixels - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def as_read(scores, path):
    """The text that the scores spell: the best letter of each step, repetitions once."""
    (letters,) = [p.value for p in onnx.load(path).metadata_props if p.key == "character"]
    alphabet = ["", *letters.split("\n"), " "]
    best = scores[0].argmax(-1)
    kept = best[np.r_[True, best[1:] != best[:-1]]]
    return "".join(alphabet[index] for index in kept).strip()


def test_text_is_read():
    path = ocr_file("ch_PP-OCRv4_rec_infer")
    module = from_onnx(path)
    for text in ("OneFlow 2026", "network"):
        assert as_read(module(flow.tensor(line_of_text(text))).numpy(), path) == text


@pytest.mark.parametrize("name", ["ch_PP-OCRv4_det_infer", "ch_ppocr_mobile_v2.0_cls_infer"])
def test_detection_and_direction_of_text(name):
    path = ocr_file(name)
    x = np.concatenate([line_of_text("OneFlow")] * 2, 2)[:, :, :64]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"x": x})
    output = from_onnx(path)(flow.tensor(x)).numpy()
    np.testing.assert_allclose(output, wanted, atol=1e-4)
    assert wanted.std() > 1e-2


def test_a_trained_network_in_a_graph(exhaustive):
    if not exhaustive:
        pytest.skip("compiles for ten seconds; run with --exhaustive")
    path = ocr_file("ch_PP-OCRv4_rec_infer")
    scores = Inference(from_onnx(path))(flow.tensor(line_of_text("Graph of 1 program", 320)))
    assert as_read(scores.numpy(), path) == "Graph of 1 program"
