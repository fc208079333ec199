"""Several images as one, and as a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow.utils.vision.transforms.functional import to_pil_image

Range = tuple[float, float] | None


def make_grid(
    tensor: flow.Tensor | Sequence[flow.Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: Range = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
    range: Range = None,
) -> flow.Tensor:
    """Return images beside and below each other.

    Args:
        tensor: ``[N, C, H, W]``, images of one size, or one image ``[(C,) H, W]``.
        nrow: images in a row.
        padding: pixels between them.
        normalize: shift and scale the numbers to [0, 1].
        value_range: the numbers that become 0 and 1, by default the smallest and the largest.
        scale_each: normalise each image for itself.
        pad_value: what is between them.
        range: earlier name of `value_range`.

    Returns:
        ``[C, height, width]``; gray images get three channels.

    Raises:
        TypeError: neither a tensor nor a sequence of tensors.
        ValueError: no image at all.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import make_grid
        >>> make_grid(flow.zeros(5, 1, 4, 6), nrow=3).shape
        oneflow.Size([3, 14, 26])
    """
    batch = _as_batch(tensor)
    if normalize:
        batch = _normalized(batch, value_range or range, scale_each)
    count, channels, height, width = batch.shape
    if count == 0:
        raise ValueError(f"`tensor` must hold an image, got shape {list(batch.shape)}")
    if count == 1:
        return batch[0]
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    missing = rows * columns - count
    # A frame above and to the left of each image, then of the whole below and to the right.
    padded = flow.nn.functional.pad(batch, (padding, 0, padding, 0), value=pad_value)
    if missing:
        empty = flow.full((missing, *padded.shape[1:]), pad_value, dtype=padded.dtype)
        padded = flow.cat([padded, empty.to(padded.device)])
    tiles = padded.reshape(rows, columns, channels, height + padding, width + padding)
    grid = tiles.permute(2, 0, 3, 1, 4).reshape(
        channels, rows * (height + padding), columns * (width + padding)
    )
    return flow.nn.functional.pad(grid, (0, padding, 0, padding), value=pad_value)


def _as_batch(tensor: flow.Tensor | Sequence[flow.Tensor]) -> flow.Tensor:
    """Return images as ``[N, C, H, W]`` with three channels where there was one."""
    if isinstance(tensor, list | tuple) and all(isinstance(image, flow.Tensor) for image in tensor):
        tensor = flow.stack(list(tensor))
    if not isinstance(tensor, flow.Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor).__name__}")
    batch = tensor.reshape((1,) * (4 - tensor.ndim) + tuple(tensor.shape))
    return flow.cat([batch] * 3, 1) if batch.shape[1] == 1 else batch


def _normalized(batch: flow.Tensor, limits: Range, scale_each: bool) -> flow.Tensor:
    if limits is not None:
        low, high = limits
        return (batch.clamp(low, high) - low) / max(high - low, 1e-5)
    dims = (1, 2, 3) if scale_each else (0, 1, 2, 3)
    low, high = batch.amin(dim=dims, keepdim=True), batch.amax(dim=dims, keepdim=True)
    return (batch - low) / (high - low).clamp(min=1e-5)


def save_image(
    tensor: flow.Tensor | Sequence[flow.Tensor],
    fp: str | Path | Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: Range = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
    format: str | None = None,
    range: Range = None,
) -> None:
    """Write images in [0, 1] as one file.

    Args:
        tensor: the images; this and the other arguments as for `make_grid`.
        fp: path, or a file that is open for writing.
        nrow: images in a row.
        padding: pixels between them.
        normalize: shift and scale the numbers to [0, 1].
        value_range: the numbers that become 0 and 1.
        scale_each: normalise each image for itself.
        pad_value: what is between them.
        format: the format of the file, by default by its ending.
        range: earlier name of `value_range`.

    Example:
        >>> import pathlib, tempfile
        >>> import oneflow as flow
        >>> from flowvision.utils import save_image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "images.png")
        ...     save_image(flow.rand(4, 3, 8, 8), path)
        ...     print(path.exists())
        True
    """
    grid = make_grid(tensor, nrow, padding, normalize, value_range or range, scale_each, pad_value)
    # Rounded to the nearest byte.
    pixels = (grid * 255 + 0.5).clamp(0, 255).to(flow.uint8)
    to_pil_image(pixels).save(fp, format=format)
