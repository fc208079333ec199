"""Draw the diagrams of `docs/architecture.md`: boxes in columns, and arrows between them.

``python tools/make_diagrams.py`` writes them to `docs/images`; with ``--check`` it exits with 1 if
a file is not what would be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from generated_files import write_or_check

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT, COLUMN, ROW, MARGIN = 150, 44, 196, 74, 20
STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#123}.small{font-size:10.5px;fill:#567}"
    "rect{fill:#e8f0fa;stroke:#456;rx:5}.other{fill:#fbeedd}"
    "path{fill:none;stroke:#456;marker-end:url(#tip)}"
)
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#456;stroke:none;marker-end:none"/></marker>'
)


@dataclass(frozen=True)
class Box:
    """A box of a diagram.

    Attributes:
        column: its place from the left.
        row: its place from the top.
        title: what it stands for.
        note: a few words below the title.
        kind: ``"other"`` for what is not on the main way.
    """

    column: float
    row: float
    title: str
    note: str
    kind: str = ""


@dataclass(frozen=True)
class Diagram:
    """Boxes by name, and arrows ``(from, to, caption)``."""

    boxes: dict[str, Box]
    arrows: tuple[tuple[str, str, str], ...]


EAGER = Diagram(
    {
        "call": Box(0, 0, "functional, tensor", "arguments, promotion, views"),
        "dispatch": Box(1, 0, "dispatch", "operation, SBP, casts, tape"),
        "recorder": Box(2, 0, "program: Recorder", "the key grows; nothing runs"),
        "read": Box(3, 0, "a value is read", "or the recorder is full", "other"),
        "cold": Box(1, 1, "interpreter", "new key: NumPy, op by op"),
        "vm": Box(2, 1, "runtime", "looks the key up"),
        "hot": Box(3, 1, "compiler", "hot key: passes, then XLA"),
    },
    (
        ("call", "dispatch", ""),
        ("dispatch", "recorder", ""),
        ("recorder", "read", ""),
        ("read", "vm", "flush"),
        ("vm", "cold", "cold"),
        ("vm", "hot", "hot"),
    ),
)
PRIMITIVES = Diagram(
    {
        "primitive": Box(1.5, 0, "a primitive", "one function on arrays"),
        "spec": Box(0, 1, "shape and dtype", "jax.eval_shape"),
        "gradient": Box(1, 1, "gradient", "a rule, or jax.vjp"),
        "axes": Box(2, 1, "SBP signatures", "axis notation, linearity"),
        "lowering": Box(3, 1, "lowerings", "where a platform is slow"),
        "functions": Box(0.5, 2, "functions and methods", "@function", "other"),
        "onnx": Box(1.5, 2, "ONNX", "a table, or its steps", "other"),
        "cost": Box(2.5, 2, "planner, passes", "read the traits", "other"),
    },
    (
        ("primitive", "spec", ""),
        ("primitive", "gradient", ""),
        ("primitive", "axes", ""),
        ("primitive", "lowering", ""),
    ),
)
TENSORS = Diagram(
    {
        "x": Box(0, 0, "Tensor x", "the user's handle"),
        "view": Box(0, 1, "Tensor x[0]", "a view of x"),
        "value": Box(1, 0.5, "Storage", "root value, version"),
        "pending": Box(2, 0.5, "Value", "pending or an array"),
        "spec": Box(3, 0, "TensorSpec", "shape, dtype, device"),
        "node": Box(3, 1, "Node", "how it came about: the tape"),
    },
    (
        ("x", "value", ""),
        ("view", "value", "select(0)"),
        ("value", "pending", ""),
        ("pending", "spec", ""),
        ("pending", "node", ""),
    ),
)
SHARDINGS = Diagram(
    {
        "operands": Box(0, 0, "operands", "placement and SBP"),
        "signatures": Box(1, 0, "signatures", "all that hold; the cheapest"),
        "boxing": Box(2, 0, "boxing", "operands are converted"),
        "shards": Box(3, 0, "shard_map", "the impl on each shard"),
        "axes": Box(1, 1, "axis notation", "and linearity", "other"),
        "path": Box(2, 1, "collectives", "the cheapest path", "other"),
    },
    (
        ("operands", "signatures", ""),
        ("signatures", "boxing", ""),
        ("boxing", "shards", ""),
        ("axes", "signatures", ""),
        ("path", "boxing", ""),
    ),
)
GRAPHS = Diagram(
    {
        "build": Box(0, 0, "build()", "forward, backward, step"),
        "captured": Box(1, 0, "CapturedStep", "program and its updates"),
        "program": Box(2, 0, "Program", "after the passes"),
        "binding": Box(2, 1, "StepBinding", "tensors in and out"),
        "step": Box(3, 0, "Step", "one call per step"),
        "plan": Box(1, 1, "planner", "stops before compiling", "other"),
    },
    (
        ("build", "captured", "capture"),
        ("captured", "program", "passes"),
        ("program", "step", "compile"),
        ("captured", "plan", ""),
        ("program", "binding", "bind"),
        ("binding", "step", ""),
    ),
)
DIAGRAMS = {
    "architecture_eager": EAGER,
    "architecture_primitives": PRIMITIVES,
    "architecture_tensors": TENSORS,
    "architecture_shardings": SHARDINGS,
    "architecture_graphs": GRAPHS,
}


def corner(box: Box) -> tuple[float, float]:
    """Return the upper left corner of a box."""
    return MARGIN + box.column * COLUMN, MARGIN + box.row * ROW


def drawn_box(box: Box) -> str:
    """Return a box with its two texts."""
    x, y = corner(box)
    style = f' class="{box.kind}"' if box.kind else ""
    return (
        f'<rect{style} x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}"/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 18:g}">{escape(box.title)}</text>'
        f'<text class="small" x="{x + WIDTH / 2:g}" y="{y + 34:g}">{escape(box.note)}</text>'
    )


def drawn_arrow(start: Box, end: Box, caption: str) -> str:
    """Return an arrow between the nearest sides of two boxes."""
    (x, y), (to_x, to_y) = corner(start), corner(end)
    if start.row == end.row or (start.column != end.column and abs(start.row - end.row) < 1):
        forward = end.column > start.column
        y, to_y = y + HEIGHT / 2, to_y + HEIGHT / 2
        x, to_x = (x + WIDTH, to_x) if forward else (x, to_x + WIDTH)
    else:
        down = end.row > start.row
        x, to_x = x + WIDTH / 2, to_x + WIDTH / 2
        y, to_y = (y + HEIGHT, to_y) if down else (y, to_y + HEIGHT)
    middle = (x + to_x) / 2 + (20 if x == to_x else 0), (y + to_y) / 2 - 4
    label = f'<text class="small" x="{middle[0]:g}" y="{middle[1]:g}">{escape(caption)}</text>'
    return f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>' + (label if caption else "")


def drawn(diagram: Diagram) -> str:
    """Return a diagram as an image."""
    boxes = diagram.boxes
    width = max(corner(box)[0] for box in boxes.values()) + WIDTH + MARGIN
    height = max(corner(box)[1] for box in boxes.values()) + HEIGHT + MARGIN
    parts = [
        *(drawn_arrow(boxes[start], boxes[end], caption) for start, end, caption in diagram.arrows),
        *map(drawn_box, boxes.values()),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}">'
        f"<style>{STYLE}</style><defs>{TIP}</defs>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def diagrams() -> list[tuple[Path, str]]:
    """Return each diagram's file with its text."""
    return [(IMAGES / f"{name}.svg", drawn(diagram)) for name, diagram in DIAGRAMS.items()]


if __name__ == "__main__":
    write_or_check(diagrams, __doc__)
