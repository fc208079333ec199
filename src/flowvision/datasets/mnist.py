"""MNIST and Fashion-MNIST, and their file format."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import oneflow as flow
from oneflow.data.vision.mnist import read_idx
from oneflow.utils.vision.datasets import (
    MNIST as MNIST,
    FashionMNIST as FashionMNIST,
)

# Files name types by numbers. Values: the type of the tensor, of elements in the file, in memory.
SN3_PASCALVINCENT_TYPEMAP = {
    8: (flow.uint8, np.dtype("u1"), "u1"),
    9: (flow.int8, np.dtype("i1"), "i1"),
    11: (flow.int32, np.dtype(">i2"), "i2"),
    12: (flow.int32, np.dtype(">i4"), "i4"),
    13: (flow.float32, np.dtype(">f4"), "f4"),
    14: (flow.float64, np.dtype(">f8"), "f8"),
}


def get_int(b: bytes) -> int:
    """Return the number that bytes say, the highest first.

    Example:
        >>> from flowvision.datasets.mnist import get_int
        >>> get_int(bytes([1, 2]))
        258
    """
    return int.from_bytes(b, "big")


def read_sn3_pascalvincent_tensor(path: str | Path, strict: bool = True) -> flow.Tensor:
    """Return the tensor in a file in the IDX format, which may be compressed.

    Args:
        path: the file.
        strict: kept for programs that give it; a file of another size than it says is always an
            error.

    Raises:
        RuntimeError: the file is damaged.
    """
    array = read_idx(Path(path))
    dtypes = {np.dtype(kind): dtype for dtype, _, kind in SN3_PASCALVINCENT_TYPEMAP.values()}
    dtype = dtypes[array.dtype]
    return flow.tensor(array.astype(np.int32) if dtype == flow.int32 else array)


def read_label_file(path: str | Path) -> flow.Tensor:
    """Return the int64 labels ``[N]`` in a file in the IDX format.

    Raises:
        RuntimeError: the file is damaged, or does not hold bytes in one dimension.
    """
    return _read_bytes(path, 1).long()


def read_image_file(path: str | Path) -> flow.Tensor:
    """Return the uint8 images ``[N, height, width]`` in a file in the IDX format.

    Raises:
        RuntimeError: the file is damaged, or does not hold bytes in three dimensions.
    """
    return _read_bytes(path, 3)


def _read_bytes(path: str | Path, ndim: int) -> flow.Tensor:
    tensor = read_sn3_pascalvincent_tensor(path)
    if tensor.dtype != flow.uint8 or tensor.ndim != ndim:
        raise RuntimeError(
            f"`{path}` must hold {ndim} dimensions of bytes, "
            f"got {tensor.ndim} dimensions of {tensor.dtype}"
        )
    return tensor
