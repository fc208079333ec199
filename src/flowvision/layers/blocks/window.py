"""Windows: the squares of a grid of tokens."""

from __future__ import annotations

import numpy as np

from oneflow import Tensor


def window_partition(x: Tensor, window_size: int) -> Tensor:
    """Cut feature maps into squares, row by row.

    Args:
        x: of shape (N, height, width, C), both sides multiples of `window_size`.
        window_size: height and width of a square.

    Returns:
        Tensor of shape (N * windows, window_size, window_size, C).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.swin_transformer import window_partition
        >>> window_partition(flow.arange(16).reshape(1, 4, 4, 1), 2)[1].flatten().tolist()
        [2, 3, 6, 7]
    """
    samples, height, width, channels = x.shape
    x = x.reshape(
        samples,
        height // window_size,
        window_size,
        width // window_size,
        window_size,
        channels,
    )
    return x.transpose(2, 3).reshape(-1, window_size, window_size, channels)


def window_reverse(windows: Tensor, window_size: int, H: int, W: int) -> Tensor:
    """Put squares together again: the inverse of `window_partition`.

    Args:
        windows: of shape (N * windows, window_size, window_size, C).
        window_size: height and width of a square.
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
    x = windows.reshape(
        -1, H // window_size, W // window_size, window_size, window_size, windows.shape[-1]
    )
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
