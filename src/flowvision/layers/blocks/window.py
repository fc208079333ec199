"""Windows: the rectangles of a grid of tokens."""

from __future__ import annotations

import numpy as np

from flowvision.layers.blocks.patch_embed import to_2tuple
from oneflow import Tensor


def window_partition(x: Tensor, window_size: int | tuple[int, int]) -> Tensor:
    """Cut feature maps into windows, row by row.

    Args:
        x: a tensor of shape (N, height, width, C), both sides multiples of the window's.
        window_size: height and width of a window, or both at once.

    Returns:
        Tensor of shape (N * windows, window height, window width, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.swin_transformer import window_partition
        >>> window_partition(flow.arange(16).reshape(1, 4, 4, 1), 2)[1].flatten().tolist()
        [2, 3, 6, 7]
    """
    samples, height, width, channels = x.shape
    rows, columns = to_2tuple(window_size)
    x = x.reshape(samples, height // rows, rows, width // columns, columns, channels)
    return x.transpose(2, 3).reshape(-1, rows, columns, channels)


def window_reverse(windows: Tensor, window_size: int | tuple[int, int], H: int, W: int) -> Tensor:
    """Put windows together again: the inverse of `window_partition`.

    Args:
        windows: a tensor of shape (N * windows, window height, window width, C).
        window_size: height and width of a window, or both at once.
        H: height of the feature maps.
        W: width of the feature maps.

    Returns:
        Tensor of shape (N, H, W, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.swin_transformer import window_partition, window_reverse
        >>> x = flow.randn(2, 6, 4, 3)
        >>> flow.equal(window_reverse(window_partition(x, 2), 2, 6, 4), x)
        True
    """
    rows, columns = to_2tuple(window_size)
    x = windows.reshape(-1, H // rows, W // columns, rows, columns, windows.shape[-1])
    return x.transpose(2, 3).reshape(-1, H, W, windows.shape[-1])


def relative_position_index(height: int, width: int) -> np.ndarray:
    """Return the number of the offset between any two positions of a grid.

    Offsets are counted row by row, from (1 - height, 1 - width) to (height - 1, width - 1).

    Returns:
        Integers of shape (positions, positions).
    """
    positions = np.indices((height, width)).reshape(2, -1)
    rows, columns = positions[:, :, None] - positions[:, None, :]
    return (rows + height - 1) * (2 * width - 1) + columns + width - 1
