"""Drawings for the reference: curves, matrices, and parts of tensors on devices, as SVG files.

They have no background and colours of medium brightness, for light pages and dark ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

SIZE = (4.2, 2.4)
COLORS = ("#2f80c9", "#e08a2e", "#3c9a5f", "#a066c8")
# Lines are dashed when all colors are taken.
STYLES = ("-", "--", ":")
INK = "#808890"
SETTINGS = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "font.size": 8,
    "svg.fonttype": "none",
    "svg.hashsalt": "oneflow",  # the same bytes each time
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


class Curves(NamedTuple):
    """Curves over one axis.

    Attributes:
        x: places along the axis.
        values: those of each curve at these places, by its label.
        axis: title of the axis.
    """

    x: np.ndarray
    values: Mapping[str, np.ndarray]
    axis: str


class Matrices(NamedTuple):
    """Matrices side by side.

    Attributes:
        values: the matrices, by their title.
        axes: titles of the columns and of the rows.
    """

    values: Mapping[str, np.ndarray]
    axes: tuple[str, str] = ("", "")


class Signatures(NamedTuple):
    """The ways in which an operator is computed on two devices.

    Attributes:
        shapes: those of the operands, then that of the result.
        rows: for each way the SBP of each of these: ``"S(0)"``, ``"S(1)"``, ``"B"`` or ``"P"``.
    """

    shapes: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[str, ...], ...]


Picture = Curves | Matrices | Signatures


def draw(picture: Picture, file: Path) -> None:
    """Draw a picture into an SVG file, the same bytes each time."""
    with mpl.rc_context(SETTINGS):
        match picture:
            case Curves():
                figure = Figure(SIZE)
                _draw_curves(picture, figure)
            case Matrices():
                figure = Figure((max(SIZE[0], 1.3 * len(picture.values)), 1.9))
                _draw_matrices(picture, figure)
            case Signatures():
                figure = Figure((4.6, 0.72 * len(picture.rows)))
                _draw_signatures(picture, figure)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})


def _draw_curves(picture: Curves, figure: Figure) -> None:
    # Margins that every picture shares: a layout engine would draw each picture twice.
    bottom = 0.19 + 0.07 * picture.axis.count("\n")
    axes = figure.add_axes((0.13, bottom, 0.85, 0.96 - bottom))
    for position, (label, values) in enumerate(picture.values.items()):
        color, style = COLORS[position % len(COLORS)], STYLES[position // len(COLORS)]
        axes.plot(picture.x, values, style, color=color, label=label or None)
    axes.set_xlabel(picture.axis)
    axes.grid(color=INK, alpha=0.3)
    axes.set_axisbelow(True)
    if len(picture.values) > 1:
        axes.legend(frameon=False)


def _draw_matrices(picture: Matrices, figure: Figure) -> None:
    margins = {"left": 0.06, "right": 0.98, "bottom": 0.12, "top": 0.86, "wspace": 0.15}
    parts = figure.subplots(1, len(picture.values), squeeze=False, gridspec_kw=margins)[0]
    low = min(values.min() for values in picture.values.values())
    high = max(values.max() for values in picture.values.values())
    for axes, (title, values) in zip(parts, picture.values.items(), strict=True):
        axes.imshow(values, cmap="Blues", vmin=min(low, 0), vmax=high)
        axes.set(title=title, xlabel=picture.axes[0], xticks=[], yticks=[])
    parts[0].set_ylabel(picture.axes[1])


def _draw_signatures(picture: Signatures, figure: Figure) -> None:
    columns = len(picture.shapes)
    margins = {"left": 0.12, "right": 0.98, "bottom": 0.03, "top": 0.97, "wspace": 0.5}
    parts = figure.subplots(len(picture.rows), columns, squeeze=False, gridspec_kw=margins)
    for line, row in zip(parts, picture.rows, strict=True):
        for position, (axes, shape, sbp) in enumerate(zip(line, picture.shapes, row, strict=True)):
            _draw_shards(axes, shape, sbp)
            symbol = "→ " if position == columns - 1 else ""
            axes.set_ylabel(f"{symbol}{sbp}", rotation=0, ha="right", va="center")


def _draw_shards(axes: Axes, shape: tuple[int, ...], sbp: str) -> None:
    """A box for the tensor, with the part of the first device and that of the second one."""
    rows, columns = (1, 1, *shape)[-2:]
    dim = int(sbp[2]) - len(shape) if sbp.startswith("S") else None
    width, height = columns / (2 if dim == -1 else 1), rows / (2 if dim == -2 else 1)
    for rank in (0, 1):
        # Copies, summands and matrices of a batch lie one above the other.
        offset = 0.0 if dim in (-1, -2) else 0.6 * rank
        place = (width * rank if dim == -1 else offset, height * rank if dim == -2 else offset)
        color, hatch = COLORS[0 if sbp == "B" else rank], "//" if sbp == "P" else None
        axes.add_patch(Rectangle(place, width, height, facecolor=color, edgecolor=INK, hatch=hatch))
    axes.set(xlim=(-0.1, columns + 0.7), ylim=(rows + 0.7, -0.1), xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.set_frame_on(False)
