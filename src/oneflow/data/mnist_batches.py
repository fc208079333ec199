"""`oneflow.data.load_mnist`: MNIST in batches, as the first programs with job functions had it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlparse

import numpy as np

from oneflow.checkpoint.download import download_missing

Batches = tuple[np.ndarray, np.ndarray]


def load_mnist(
    train_batch_size: int = 100,
    test_batch_size: int = 100,
    data_format: str = "NCHW",
    url: str = "https://oneflow-public.oss-cn-beijing.aliyuncs.com/datasets/mnist.npz",
    hash_check: str = "63d4344077849053dc3036b247fa012b2b381de53fd055a66b539dffd76cf08e",
    out_dir: str | os.PathLike[str] = ".",
) -> tuple[Batches, Batches]:
    """Return MNIST's images and labels, in batches to train on and to test with.

    Args:
        train_batch_size: images of a batch to train on; what is left over is dropped.
        test_batch_size: images of a batch to test with.
        data_format: "NCHW" or "NHWC".
        url: where the file is downloaded from, unless it is in `out_dir`.
        hash_check: SHA-256 of the file; empty for any.
        out_dir: where the file is kept.

    Returns:
        Two pairs: images, float32 (batches, N, 1, 28, 28) from 0 to 1, and labels, int32
        (batches, N).

    Raises:
        ConnectionError: the file cannot be downloaded.
        RuntimeError: it has another SHA-256.
        ValueError: the format is another one.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import oneflow as flow
        >>> folder, images, labels = tempfile.mkdtemp(), np.zeros((200, 28, 28)), np.zeros(200)
        >>> parts = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}
        >>> np.savez(f"{folder}/mnist.npz", **parts)  # it is downloaded if it is not there
        >>> (images, labels), test = flow.data.load_mnist(out_dir=folder)
        >>> images.shape, labels.shape
        ((2, 100, 1, 28, 28), (2, 100))
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"`data_format` must be 'NCHW' or 'NHWC', got {data_format!r}")
    path = Path(out_dir) / Path(urlparse(url).path).name
    download_missing(url, path, hash_check or None)
    with np.load(path) as arrays:
        parts = [
            (arrays[f"x_{part}"], arrays[f"y_{part}"], size)
            for part, size in (("train", train_batch_size), ("test", test_batch_size))
        ]
    train, test = (_batches(*part, axis=2 if data_format == "NCHW" else -1) for part in parts)
    return train, test


def _batches(images: np.ndarray, labels: np.ndarray, size: int, axis: int) -> Batches:
    count = len(images) // size
    pixels = images[: count * size].reshape(count, size, *images.shape[1:])
    return (
        np.expand_dims(pixels.astype(np.float32) / 255, axis),
        labels[: count * size].reshape(count, size).astype(np.int32),
    )
