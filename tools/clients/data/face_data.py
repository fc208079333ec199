"""Synthetic data for oneflow_face: images of faces in OFRecord files, and pairs to compare."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
from PIL import Image

import oneflow as flow

SIZE, PEOPLE, IMAGES, PAIRS = 112, 8, 24, 20
RANDOM = np.random.default_rng(0)
FACES = RANDOM.integers(0, 256, (PEOPLE, 8, 8, 3)).astype(np.uint8)


def photograph(person: int) -> np.ndarray:
    """Return the bytes of a JPEG image of a person: squares of the person's colours, and noise."""
    noise = RANDOM.normal(0, 10, (SIZE, SIZE, 3))
    face = FACES[person].repeat(SIZE // 8, 0).repeat(SIZE // 8, 1)
    file = io.BytesIO()
    Image.fromarray(np.clip(face + noise, 0, 255).astype(np.uint8)).save(file, "JPEG")
    return np.frombuffer(file.getvalue(), np.uint8)


def write_training_images(folder: Path) -> None:
    """Write an OFRecord file of images and the numbers of who is on them."""
    folder.mkdir(parents=True, exist_ok=True)
    with flow.data.OFRecordWriter(folder / "part-00000") as file:
        for number in range(IMAGES):
            person = number % PEOPLE
            image = photograph(person).tobytes()
            file.write({"encoded": image, "label": np.array([person], np.int32)})


def write_pairs(file: Path) -> None:
    """Write pairs of images, and whether one person is on both."""
    file.parent.mkdir(parents=True, exist_ok=True)
    same = [bool(number % 2) for number in range(PAIRS)]
    people = [(n % PEOPLE, (n if same[n] else n + 1) % PEOPLE) for n in range(PAIRS)]
    images = [photograph(person) for pair in people for person in pair]
    file.write_bytes(pickle.dumps((images, same)))


write_training_images(Path("made/train"))
write_pairs(Path("made/val/lfw.bin"))
