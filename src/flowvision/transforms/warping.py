"""Coordinates of warped images: which point of the old image each new pixel shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import oneflow as flow
from oneflow.data.vision.image import constant_like

# Multiplications from which on PyTorch leaves a product of matrices to its library.
_SMALL_PRODUCT = 400


def inverse_affine_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """Return the first two rows of the matrix that takes new positions to old ones.

    The image is sheared, turned and scaled around `center`, then moved by `translate`.

    Args:
        center: the fixed point (x, y).
        angle: degrees, clockwise.
        translate: distance (x, y).
        scale: factor of lengths.
        shear: degrees along x and y.
    """
    rotation, shear_x, shear_y = (math.radians(degrees) for degrees in (angle, *shear))
    # Rotation times shears is [[a, b], [c, d]], with determinant 1.
    a = math.cos(rotation - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(rotation)
    c = math.sin(rotation - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(rotation)
    inverse = np.array([[d, -b], [-c, a]]) / scale
    fixed = np.asarray(center, np.float64)
    offset = fixed - inverse @ (fixed + np.asarray(translate, np.float64))
    return [*inverse[0].tolist(), float(offset[0]), *inverse[1].tolist(), float(offset[1])]


def expanded_size(matrix: Sequence[float], width: int, height: int) -> tuple[int, int]:
    """Return width and height of the smallest image that holds all of a turned one."""
    corners = np.array(
        [[x * width / 2, y * height / 2, 1.0] for x in (-1, 1) for y in (-1, 1)], np.float32
    )
    moved = corners @ np.asarray(matrix, np.float32).reshape(2, 3).T
    moved = moved + np.array([width / 2, height / 2], np.float32)
    # Rounding errors must not add a row of pixels.
    step = np.float32(1e-4)
    low = np.floor(np.trunc(moved.min(0) / step) * step)
    high = np.ceil(np.trunc(moved.max(0) / step) * step)
    new_width, new_height = (high - low).astype(int).tolist()
    return new_width, new_height


def affine_grid(
    matrix: Sequence[float], size: tuple[int, int], new_size: tuple[int, int]
) -> np.ndarray:
    """Return positions ``[1, height, width, 2]`` for `grid_sample`, from the image's middle.

    Args:
        matrix: the first two rows of the matrix from new to old positions.
        size: width and height of the image.
        new_size: width and height of the result.
    """
    theta = np.asarray(matrix, np.float32).reshape(2, 3).T
    x, y = (np.arange(n, dtype=np.float32) - np.float32(n / 2 - 0.5) for n in new_size)
    return _products(x, y, theta / (np.asarray(size, np.float32) / 2))[None]


def perspective_grid(coefficients: Sequence[float], width: int, height: int) -> np.ndarray:
    """Return positions ``[1, height, width, 2]`` for `grid_sample`."""
    numbers = np.asarray(coefficients, np.float32)
    numerator = numbers[:6].reshape(2, 3)
    denominator = np.array([*numbers[6:], 1], np.float32)
    x, y = (np.arange(n, dtype=np.float32) + np.float32(0.5) for n in (width, height))
    above = _products(x, y, numerator.T / np.array([width / 2, height / 2], np.float32))
    return (above / _products(x, y, denominator[:, None]) - 1)[None]


def identity_grid(width: int, height: int) -> np.ndarray:
    """Return the positions ``[1, height, width, 2]`` for `grid_sample` that change nothing."""
    x, y = (np.linspace((1 - n) / n, (n - 1) / n, n, dtype=np.float32) for n in (width, height))
    return np.stack(np.meshgrid(x, y), -1)[None]


def _products(x: np.ndarray, y: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the points (x, y, 1) of a grid times a matrix, rounded as in PyTorch on the CPU.

    The nearest pixel of a point halfway between two is decided by the last bit. PyTorch sums small
    products one term after the other, and large ones with fused multiply-adds.
    """
    columns, rows = (coordinates[..., None] for coordinates in np.meshgrid(x, y))
    first = columns * factors[0]
    if 3 * first.size < _SMALL_PRODUCT:
        return first + rows * factors[1] + factors[2]
    return _fused_multiply_add(rows, factors[1], first) + factors[2]


def _fused_multiply_add(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return ``x * y + addend`` of float32, rounded once."""
    product = x.astype(np.float64) * y  # exact
    total = product + z
    # A total between two numbers of float64 becomes the one whose last bit is 1, which is never
    # halfway between two of float32.
    part = total - product
    error = (product - (total - part)) + (z - part)
    even = total.view(np.int64) % 2 == 0
    odd = np.nextafter(total, np.copysign(np.inf, error))
    return np.where(even & (error != 0), odd, total).astype(np.float32)


def perspective_coefficients(
    startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]]
) -> list[float]:
    """Return the eight numbers of the perspective that takes `endpoints` to `startpoints`.

    The new pixel (x, y) shows the old position ((ax + by + c) / (gx + hy + 1),
    (dx + ey + f) / (gx + hy + 1)).

    Args:
        startpoints: four corners (x, y) in the image.
        endpoints: where they are in the result.

    Raises:
        ValueError: there are not four of each.
    """
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            "Please provide exactly four corners, got "
            f"{len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows = []
    for (old_x, old_y), (x, y) in zip(startpoints, endpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -old_x * x, -old_x * y])
        rows.append([0, 0, 0, x, y, 1, -old_y * x, -old_y * y])
    targets = np.asarray(startpoints, np.float64).reshape(8)
    solution = np.linalg.lstsq(np.asarray(rows, np.float64), targets, rcond=None)[0]
    return solution.astype(np.float32).tolist()


def sample(
    img: flow.Tensor, grid: flow.Tensor | np.ndarray, mode: str, fill: Sequence[float] | None
) -> flow.Tensor:
    """Return the pixels of a tensor image at the positions of a grid.

    Args:
        img: ``[..., C, H, W]``.
        grid: ``[1, H', W', 2]``, from -1 to 1 over the image.
        mode: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.
        fill: what is outside of the image, one number per channel; by default 0.

    Returns:
        ``[..., C, H', W']``, rounded if `img` has integers.
    """
    if mode == "nearest" and isinstance(grid, np.ndarray):
        return _nearest(img, grid[0], fill)
    exact = img.dtype in (flow.float32, flow.float64)
    batch = img.reshape(-1, *img.shape[-3:]).to(img.dtype if exact else flow.float32)
    if isinstance(grid, np.ndarray):
        grid = constant_like(img, np.ascontiguousarray(grid, np.float32))
    grid = grid.to(batch.dtype).expand(batch.shape[0], *grid.shape[1:])
    if fill is not None:
        batch = flow.cat([batch, flow.ones_like(batch[:, :1])], 1)
    moved = flow.nn.functional.grid_sample(
        batch, grid, mode=mode, padding_mode="zeros", align_corners=False
    )
    if fill is not None:
        moved, mask = moved[:, :-1], moved[:, -1:]
        color = constant_like(img, np.asarray(fill, np.float32).reshape(-1, 1, 1))
        if mode == "nearest":  # positions from a tensor
            moved = flow.where(mask < 0.5, color, moved)
        else:
            moved = moved * mask + (1 - mask) * color
    return like(moved, img).reshape(*img.shape[:-2], *grid.shape[1:3])


def _nearest(img: flow.Tensor, grid: np.ndarray, fill: Sequence[float] | None) -> flow.Tensor:
    """Return the pixels nearest to the positions ``[H', W', 2]`` of a grid.

    They are chosen here, as a compiler is free to round the positions otherwise, and a quarter turn
    can have all of them halfway between two pixels.
    """
    height, width = img.shape[-2:]
    size = np.array([width, height], np.float32)
    pixel = np.rint(((grid + 1) * size - 1) / 2)
    inside = np.asarray(((pixel >= 0) & (pixel < size)).all(-1))
    x, y = np.where(inside[..., None], pixel, 0).astype(np.int64).reshape(-1, 2).T
    pixels = img.flatten(-2).index_select(-1, constant_like(img, y * width + x))
    color = np.reshape([0] if fill is None else fill, (-1, 1, 1))
    if not img.dtype.is_floating_point:
        color = np.rint(color)
    return flow.where(
        constant_like(img, inside),
        pixels.reshape(*img.shape[:-2], *inside.shape),
        constant_like(img, color).to(img.dtype),
    )


def like(numbers: flow.Tensor, img: flow.Tensor) -> flow.Tensor:
    """Return floating point numbers in the dtype of an image, rounded if it has integers."""
    if not img.dtype.is_floating_point:
        numbers = numbers.round()
    return numbers.to(img.dtype)
