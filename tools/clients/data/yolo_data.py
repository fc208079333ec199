"""Synthetic data for one-yolov5: images of noise with squares on them, and a font for plots."""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image

ROOT = Path("squares")
SETTINGS = Path("settings")
random = np.random.default_rng(0)


def write_images() -> None:
    """Write eight images with a box of either class, and their description."""
    for folder in ("images", "labels"):
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
    for number in range(8):
        image = random.integers(0, 255, (120, 160, 3), dtype=np.uint8)
        image[30:90, 30:90] = (0, 255, 0)
        image[54:90, 96:128] = (255, 0, 0)
        Image.fromarray(image).save(ROOT / f"images/{number}.jpg")
        boxes = "0 0.375 0.5 0.375 0.5\n1 0.7 0.6 0.2 0.3\n"
        (ROOT / f"labels/{number}.txt").write_text(boxes)
    names = "names:\n  0: green\n  1: red\n"
    (ROOT / "data.yaml").write_text(f"path: squares\ntrain: images\nval: images\n{names}")


def write_font() -> None:
    """Put a font where it would be downloaded to."""
    SETTINGS.mkdir(exist_ok=True)
    font = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    shutil.copy(font, SETTINGS / "Arial.ttf")


write_images()
write_font()
