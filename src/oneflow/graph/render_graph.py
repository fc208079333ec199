"""A graph as a figure: one box per module, edges where values flow, written as SVG."""

from __future__ import annotations

import os
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from oneflow.base.printable import printable
from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.graph.step import Step

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 220, 44, 40, 46, 20
_STYLE = (
    "rect{fill:#f4f6fa;stroke:#456;rx:6}"
    ".end rect{fill:#e8f3e8}"
    "text{font:12px sans-serif;text-anchor:middle;fill:#123}"
    ".small{font-size:10px;fill:#567}"
    "path{fill:none;stroke:#89a;marker-end:url(#tip)}"
)
_MARKER = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#89a;stroke:none;marker-end:none"/></marker>'
)


@dataclass
class FigureBox:
    """One box of the figure.

    Attributes:
        title: its text.
        note: a second, smaller line.
        end: arguments or results.
        row: its row, counted from the top.
        column: its column in the row.
    """

    title: str
    note: str = ""
    end: bool = False
    row: int = 0
    column: int = 0

    @property
    def x(self) -> int:
        """Left edge."""
        return _MARGIN + self.column * (_WIDTH + _GAP_X)

    @property
    def y(self) -> int:
        """Upper edge."""
        return _MARGIN + self.row * (_HEIGHT + _GAP_Y)


@dataclass
class GraphFigure:
    """Boxes by module path, and edges between them."""

    boxes: dict[str, FigureBox] = field(default_factory=dict)
    edges: set[tuple[str, str]] = field(default_factory=set)

    def assign_positions(self) -> None:
        """Put each box below those whose values it reads."""
        names = list(self.boxes)
        for name in names:
            above = [
                self.boxes[start].row
                for start, end in self.edges
                if end == name and names.index(start) < names.index(name)
            ]
            self.boxes[name].row = 1 + max(above, default=-1)
        columns: Counter[int] = Counter()
        for box in self.boxes.values():
            box.column = columns[box.row]
            columns[box.row] += 1

    def render(self) -> str:
        """The figure as text."""
        self.assign_positions()
        width = max(box.x for box in self.boxes.values()) + _WIDTH + _GAP_X + _MARGIN
        height = max(box.y for box in self.boxes.values()) + _HEIGHT + _MARGIN
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
            f"<style>{_STYLE}</style><defs>{_MARKER}</defs>",
        ]
        lines += [self._edge_path(*edge) for edge in sorted(self.edges)]
        lines += [_render_box(box) for box in self.boxes.values()]
        return "\n".join([*lines, "</svg>", ""])

    def _edge_path(self, start: str, end: str) -> str:
        one, two = self.boxes[start], self.boxes[end]
        x1, y1 = one.x + _WIDTH // 2, one.y + _HEIGHT
        x2, y2 = two.x + _WIDTH // 2, two.y
        if y2 > y1:
            mid = (y1 + y2) // 2
            return f'<path d="M{x1} {y1}C{x1} {mid} {x2} {mid} {x2} {y2}"/>'
        # Against the order: along the right side.
        x1, y1 = one.x + _WIDTH, one.y + _HEIGHT // 2
        x2, y2 = two.x + _WIDTH, two.y + _HEIGHT // 2
        mid = max(x1, x2) + _GAP_X
        return f'<path d="M{x1} {y1}C{mid} {y1} {mid} {y2} {x2} {y2}"/>'


def figure_of(step: Step) -> GraphFigure:
    """The figure of a step: a box per module that recorded something, one for the rest."""
    program = step.executable.program
    counts = Counter(instruction.scope for instruction in program.instructions)
    figure = GraphFigure({"arguments": FigureBox("arguments", ", ".join(_sizes(step)), end=True)})
    producer_of = dict.fromkeys(range(len(step.binding.arguments)), "arguments")
    for instruction in program.instructions:
        name = f"module {instruction.scope}"
        if name not in figure.boxes:
            title = instruction.scope or "build, backward, update"
            figure.boxes[name] = FigureBox(title, f"{counts[instruction.scope]} operations")
        for number in instruction.operands:
            start = producer_of.get(number, name)
            if start != name:
                figure.edges.add((start, name))
        producer_of.update(dict.fromkeys(instruction.results, name))
    figure.boxes["results"] = FigureBox("results", f"{len(step.binding.results)} tensors", end=True)
    for number in program.outputs:
        if number in producer_of:
            figure.edges.add((producer_of[number], "results"))
    return figure


def _sizes(step: Step) -> list[str]:
    return [repr(step.argument_specs[index]) for index in step.binding.arguments]


def _render_box(box: FigureBox) -> str:
    middle = box.x + _WIDTH // 2
    name = ' class="end"' if box.end else ""
    title, note = (escape(printable(label)) for label in (box.title, box.note))
    return (
        f'<g{name}><rect x="{box.x}" y="{box.y}" width="{_WIDTH}" height="{_HEIGHT}"/>'
        f'<text x="{middle}" y="{box.y + 19}">{title}</text>'
        f'<text class="small" x="{middle}" y="{box.y + 35}">{note}</text></g>'
    )


def draw_step(step: Step, path: str | os.PathLike[str]) -> None:
    """Write the figure of a step to an SVG file.

    Raises:
        ValueError: the name is that of another kind of file.
    """
    with atomic_write(image_path(path)) as file:
        file.write(figure_of(step).render().encode())


def step_html(step: Step) -> str:
    """The figure of a step as an image of a page, whose styles it leaves alone."""
    data = b64encode(figure_of(step).render().encode()).decode()
    return f'<img alt="modules of the graph" src="data:image/svg+xml;base64,{data}">'


def image_path(path: str | os.PathLike[str]) -> Path:
    """The path of a figure.

    Raises:
        ValueError: the name is that of another kind of file.
    """
    if Path(path).suffix.lower() not in ("", ".svg"):
        raise ValueError(f"a graph is drawn as SVG; give `path` the ending .svg, got {str(path)!r}")
    return Path(path)
