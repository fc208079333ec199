"""Detectors of ultralytics: training on drawn squares, validation, export and prediction."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from tools.third_party.measure import array, set_values, text

# Read when it is imported: files of its own, and no downloads.
os.environ |= {"YOLO_CONFIG_DIR": str(Path("settings").absolute()), "YOLO_OFFLINE": "true"}

import ultralytics

_SIZE = 32
# A detector with the parts of version 8: few layers, of few channels.
_LAYERS = """
nc: 2
backbone:
  - [-1, 1, Conv, [8, 3, 2]]
  - [-1, 1, Conv, [16, 3, 2]]
  - [-1, 1, C2f, [16, True]]
  - [-1, 1, Conv, [16, 3, 2]]
  - [-1, 1, SPPF, [16, 5]]
head:
  - [-1, 1, nn.Upsample, [None, 2, nearest]]
  - [[-1, 2], 1, Concat, [1]]
  - [-1, 1, C2f, [16]]
  - [[7, 4], 1, Detect, [nc]]
"""
# High enough for few boxes of a detector with drawn parameters.
_CONFIDENCE = 0.9
_OPTIONS: dict[str, Any] = {
    "imgsz": _SIZE,
    "batch": 4,
    "workers": 0,
    "device": "cpu",
    "plots": False,
    "verbose": False,
    "project": str(Path("runs").absolute()),
    "exist_ok": True,
}
# Samples as they are, in their order.
_PLAIN: dict[str, Any] = dict.fromkeys(
    ("mosaic", "hsv_h", "hsv_s", "hsv_v", "translate", "scale", "fliplr", "erasing"), 0.0
)


def _write_samples() -> str:
    """Write pictures of squares with their labels, and return the file that describes them."""
    draw = np.random.RandomState(0)
    root = Path("squares").absolute()
    for part, count in (("train", 4), ("val", 2)):
        for folder in ("images", "labels"):
            (root / folder / part).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            image = draw.randint(0, 60, (_SIZE, _SIZE, 3)).astype(np.uint8)
            left, top = draw.randint(2, 12, 2)
            width, kind = int(draw.randint(10, 16)), number % 2
            image[top : top + width, left : left + width, kind] = 255
            cv2.imwrite(str(root / "images" / part / f"{number}.png"), image)
            middle = (np.array([left, top]) + width / 2) / _SIZE
            row = [kind, *middle, width / _SIZE, width / _SIZE]
            label = root / "labels" / part / f"{number}.txt"
            label.write_text(" ".join(map(str, row)))
    file = root / "squares.yaml"
    file.write_text(f"path: {root}\ntrain: images/train\nval: images/val\nnames: [red, green]\n")
    return str(file)


def _start() -> str:
    Path("detector.yaml").write_text(_LAYERS)
    model = ultralytics.YOLO("detector.yaml", task="detect", verbose=False)
    set_values(model.model)
    model.save("start.pt")
    return "start.pt"


def _train() -> dict[str, Any]:
    model = ultralytics.YOLO(_start())
    losses: list[np.ndarray] = []

    def record(trainer: Any) -> None:
        losses.append(np.array([float(item) for item in trainer.loss_items.values()]))

    model.add_callback("on_train_batch_end", record)
    model.train(
        data=_write_samples(),
        epochs=3,
        optimizer="SGD",
        lr0=0.001,
        seed=0,
        amp=False,
        val=False,
        name="train",
        **_PLAIN,
        **_OPTIONS,
    )
    saved = torch.load("runs/train/weights/last.pt", map_location="cpu", weights_only=False)
    rows = Path("runs/train/results.csv").read_text().splitlines()
    return {
        "losses": np.stack(losses),
        "content": text(sorted(saved)),
        "columns": text(rows[0].split(",")),
        "rows": text(len(rows)),
    }


def _validate() -> dict[str, Any]:
    model = ultralytics.YOLO(_start())
    metrics = model.val(data=_write_samples(), name="val", conf=_CONFIDENCE, max_det=20, **_OPTIONS)
    return {
        "results": np.array([metrics.results_dict[key] for key in sorted(metrics.results_dict)]),
        "names": text(sorted(metrics.results_dict)),
    }


def _image() -> np.ndarray:
    return np.random.RandomState(3).randint(0, 255, (_SIZE, _SIZE, 3)).astype(np.uint8)


def _predict() -> dict[str, Any]:
    model = ultralytics.YOLO(_start())
    (result,) = model.predict(
        _image(), conf=_CONFIDENCE, max_det=20, imgsz=_SIZE, device="cpu", verbose=False
    )
    return {"boxes": array(result.boxes.data)}


def _export() -> dict[str, Any]:
    model = ultralytics.YOLO(_start())
    file = model.export(format="onnx", imgsz=_SIZE, device="cpu", simplify=False)
    again = ultralytics.YOLO(file, task="detect")
    (result,) = again.predict(
        _image(), conf=_CONFIDENCE, max_det=20, imgsz=_SIZE, device="cpu", verbose=False
    )
    return {"boxes": array(torch.as_tensor(result.boxes.data)), "name": text(Path(file).name)}


CASES = {"train": _train, "validate": _validate, "predict": _predict, "export": _export}
