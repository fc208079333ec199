"""Draw how global tensors lie on devices, with the numbers that the devices hold.

``python tools/make_figures.py`` writes `docs/images/sbp.svg` and `docs/images/boxing.svg`; with
``--check`` it exits with 1 if a file is not what would be written.
"""

from __future__ import annotations

import os
from pathlib import Path

# Two ranks in this process.
os.environ["ONEFLOW_CPU_DEVICES"] = "2"

import numpy as np
from generated_files import write_or_check

import oneflow as flow
from oneflow.primitives.shard_shapes import shard_slices
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.runtime.eager import read_array
from oneflow.runtime.shards import local_shard
from oneflow.tensor.views import unwrap

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PAIR = flow.placement("cpu", [0, 1])
SPLIT, BROADCAST, PARTIAL_SUM = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
CELL, GAP, TITLE, MARGIN = 28, 16, 40, 20
COLORS = ("#cfe3f7", "#fbe0c3")
STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#123}"
    ".small{font-size:11px;fill:#567}"
    ".missing{fill:none;stroke:#ccd;stroke-dasharray:2 2}"
    ".held{stroke:#456}"
    "path{fill:none;stroke:#456;marker-end:url(#tip)}"
)
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#456;stroke:none;marker-end:none"/></marker>'
)
# The conversions of the second figure.
CONVERSIONS = (
    (PARTIAL_SUM, BROADCAST),
    (PARTIAL_SUM, SPLIT(0)),
    (SPLIT(0), BROADCAST),
    (SPLIT(0), SPLIT(1)),
    (BROADCAST, SPLIT(0)),
)


def product() -> flow.Tensor:
    """Return a product of split matrices: a partial sum, as each rank multiplies what it has."""
    rows = flow.tensor([[1, 0], [2, 1], [0, 3], [1, 2]]).to_global(PAIR, BROADCAST)
    columns = flow.tensor([[1, 2], [3, 1]]).to_global(PAIR, BROADCAST)
    return rows.to_global(sbp=SPLIT(1)) @ columns.to_global(sbp=SPLIT(0))


def text(x: float, y: float, content: str, name: str = "") -> str:
    """Return a text that is centred at a place."""
    style = f' class="{name}"' if name else ""
    return f'<text{style} x="{x:g}" y="{y:g}">{content}</text>'


def grid(
    x: int, y: int, shape: tuple[int, ...], held: dict[tuple[int, int], int], fill: str
) -> str:
    """Return a matrix as cells: those that are held with their numbers, the others dashed."""
    parts = []
    for row, column in np.ndindex(*shape):
        left, top = x + column * CELL, y + row * CELL
        box = f'x="{left}" y="{top}" width="{CELL}" height="{CELL}"'
        if (row, column) in held:
            parts.append(f'<rect class="held" style="fill:{fill}" {box}/>')
            parts.append(text(left + CELL / 2, top + CELL / 2 + 5, str(held[row, column])))
        else:
            parts.append(f'<rect class="missing" {box}/>')
    return "".join(parts)


def shards(x: int, y: int, tensor: flow.Tensor) -> str:
    """Return what each rank holds of a global matrix, side by side, below its SBP."""
    spec = unwrap(tensor).spec
    rows, columns = tensor.shape
    width = columns * CELL
    title = repr(tensor.sbp[0]).removeprefix("oneflow.sbp.")
    parts = [text(x + width + GAP / 2, y + 12, title)]
    for rank in range(PAIR.size):
        content = np.asarray(local_shard(read_array(unwrap(tensor)), spec, rank))
        slices = shard_slices((rows, columns), PAIR.hierarchy, tensor.sbp, (rank,))
        first = [part.start for part in slices]
        held = {
            (row + first[0], column + first[1]): int(value)
            for (row, column), value in np.ndenumerate(content)
        }
        left = x + rank * (width + GAP)
        parts.append(text(left + width / 2, y + 30, f"rank {rank}", "small"))
        parts.append(grid(left, y + TITLE, (rows, columns), held, COLORS[rank]))
    return "".join(parts)


def size_of(tensor: flow.Tensor) -> tuple[int, int]:
    """Return width and height of `shards`."""
    rows, columns = tensor.shape
    return PAIR.size * (columns * CELL + GAP) - GAP, TITLE + rows * CELL


def page(width: int, height: int, parts: list[str]) -> str:
    """Return an image with a margin."""
    width, height = width + 2 * MARGIN, height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><style>{STYLE}</style><defs>{TIP}</defs>\n'
        f'<rect width="{width}" height="{height}" style="fill:#fff"/>\n' + "\n".join(parts) + "\n"
        "</svg>\n"
    )


def sbp_figure() -> str:
    """Return the figure of one tensor in all SBP."""
    total = product()
    rows, columns = total.shape
    values = {(i, j): int(value) for (i, j), value in np.ndenumerate(total.numpy())}
    parts = [text(MARGIN + columns * CELL / 2, MARGIN + 12, "the tensor")]
    parts.append(grid(MARGIN, MARGIN + TITLE, (rows, columns), values, "#e8f3e8"))
    width, height = size_of(total)
    left = MARGIN + columns * CELL + 3 * GAP
    for sbp in (SPLIT(0), SPLIT(1), BROADCAST, PARTIAL_SUM):
        parts.append(shards(left, MARGIN, total.to_global(sbp=sbp)))
        left += width + 3 * GAP
    return page(left - 3 * GAP - MARGIN, height, parts)


def boxing_figure() -> str:
    """Return the figure of conversions, each with the collective that it is."""
    total = product()
    width, height = size_of(total)
    parts = []
    for index, (source, target) in enumerate(CONVERSIONS):
        column, row = index % 2, index // 2
        left = MARGIN + column * (2 * width + 180)
        top = MARGIN + row * (height + 2 * GAP)
        before = total.to_global(sbp=source)
        after, collective, sent = converted(before, target)
        middle = top + TITLE + (height - TITLE) // 2
        arrow = left + width + 10
        parts += [
            shards(left, top, before),
            f'<path d="M{arrow} {middle}H{arrow + 110}"/>',
            text(arrow + 55, middle - 10, collective),
            text(arrow + 55, middle + 20, sent, "small"),
            shards(left + width + 130, top, after),
        ]
    rows = -(-len(CONVERSIONS) // 2)
    return page(4 * width + 310, rows * (height + 2 * GAP) - 2 * GAP, parts)


class Conversion(flow.nn.Graph):
    """A conversion as a program, whose collectives are known."""

    def __init__(self, target: flow.sbp.sbp) -> None:
        super().__init__()
        self.target = target

    def build(self, tensor: flow.Tensor) -> flow.Tensor:
        """Convert the tensor."""
        return tensor.to_global(sbp=self.target)


def converted(tensor: flow.Tensor, target: flow.sbp.sbp) -> tuple[flow.Tensor, str, str]:
    """Convert a tensor; return it, the collective, and what each rank sends."""
    graph = Conversion(target)
    result = graph(tensor)
    assert graph.last_step is not None
    instructions = graph.last_step.executable.program.instructions
    found = [collective for step in instructions for collective in collectives_of(step.operation)]
    kind = " + ".join(collective.kind for collective in found) or "no exchange"
    if tensor.sbp == (PARTIAL_SUM,):
        # Processors exchange shares and add them up; accelerators have one operation for both.
        kind = kind.replace("all-to-all", "reduce-scatter")
    return result, kind, f"{sum(collective.sent for collective in found):g} bytes per rank"


def figures() -> list[tuple[Path, str]]:
    """Return each figure with its text."""
    return [(IMAGES / "sbp.svg", sbp_figure()), (IMAGES / "boxing.svg", boxing_figure())]


def main() -> None:
    """Write or check the figures."""
    write_or_check(figures, __doc__)


if __name__ == "__main__":
    main()
