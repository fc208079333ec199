"""Synthetic data for OneFlow's models: images in OFRecord files, names, sentences and cells."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
from PIL import Image

from oneflow.core.record import record_pb2  # pyright: ignore[reportMissingImports]

ROOT = Path("made")
random = np.random.default_rng(0)


def image_of_noise(height: int, width: int) -> Image.Image:
    """A colored image of noise."""
    return Image.fromarray(random.integers(0, 255, (height, width, 3), dtype=np.uint8))


def write_image_records() -> None:
    """Write eight images with labels for training, and as many for validation."""
    for folder in (ROOT / "ofrecord/train", ROOT / "ofrecord/val"):
        folder.mkdir(parents=True, exist_ok=True)
        records = b""
        for label in range(8):
            encoded = io.BytesIO()
            image_of_noise(256, 280).save(encoded, "JPEG")
            record = record_pb2.OFRecord()
            record.feature["encoded"].bytes_list.value.append(encoded.getvalue())
            record.feature["class/label"].int32_list.value.append(label)
            message = record.SerializeToString()
            records += struct.pack("q", len(message)) + message
        for name in ("part-0", "part-00000"):
            (folder / name).write_bytes(records)


def write_texts() -> None:
    """Write names of three languages, and sentences in two."""
    names = Path("NLP/rnn/data/names")
    names.mkdir(parents=True, exist_ok=True)
    for language in ("Alpha", "Beta", "Gamma"):
        letters = random.integers(ord("a"), ord("z"), (8, 6))
        lines = ["".join(map(chr, row)) for row in letters]
        (names / f"{language}.txt").write_text("\n".join(lines))
    sentences = Path("NLP/seq2seq/data")
    sentences.mkdir(parents=True, exist_ok=True)
    pairs = [f"i am {word} .\tje suis {word} ." for word in ("old", "young", "here", "there")]
    (sentences / "eng-fra.txt").write_text("\n".join(pairs))


def write_cells() -> None:
    """Write two images for segmentation, and what is to be found in them."""
    for kind in ("image", "label"):
        folder = Path(f"Vision/segmentation/U-Net/train_{kind}")
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(2):
            image_of_noise(64, 64).save(folder / f"{number}.png")


if __name__ == "__main__":
    write_image_records()
    write_texts()
    write_cells()
