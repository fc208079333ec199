"""The schedule of a pipeline as text and as a figure."""

from __future__ import annotations

import os
from html import escape

from oneflow.base.placement import Placement
from oneflow.base.units import bytes_text
from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.graph.pipeline_parallel import PipelineExecutable
from oneflow.graph.render_graph import image_path
from oneflow.graph.schedule import Slot, idle_fraction, timeline
from oneflow.passes.partition import BACKWARD, FORWARD, PREPARE, UPDATE, Phase

_SYMBOLS = {PREPARE: "P", FORWARD: "F", BACKWARD: "B", UPDATE: "U"}
_WIDTH, _LEFT, _ROW, _CURVE, _MARGIN = 960, 190, 30, 26, 20
_STYLE = (
    "text{font:12px sans-serif;fill:#123}"
    ".small{font-size:10px;fill:#567}"
    ".middle{text-anchor:middle}"
    ".forward{fill:#bcd4ee;stroke:#456}"
    ".backward{fill:#f2cfa8;stroke:#654}"
    ".update,.prepare{fill:#cfe6cf;stroke:#465}"
    ".curve{fill:#e3dcf2;stroke:#759}"
    ".base{stroke:#ccd}"
)


def schedule_text(pipeline: PipelineExecutable) -> list[str]:
    """One line per stage: its forward and backward passes in order, and the memory they keep."""
    live, counts = pipeline.live_bytes(), pipeline.max_live_micro_batches()
    lines = []
    for number, stage in enumerate(pipeline.stages):
        phases = [task.phase for task in _tasks_of(pipeline, stage)]
        passes = [phase for phase in phases if phase.kind in (FORWARD, BACKWARD)]
        names = [f"{_SYMBOLS[step.kind]}{step.micro_batch}" for step in passes]
        peak = max((size for _, size in live[stage]), default=0)
        lines.append(
            f"(STAGE:{number}:{stage!r}) {' '.join(dict.fromkeys(names))}; keeps activations of "
            f"{counts[stage]} micro batch(es), {bytes_text(peak)} per device"
        )
    return lines


def draw_schedule(pipeline: PipelineExecutable, path: str | os.PathLike[str]) -> None:
    """Write the schedule as an SVG file: the tasks of each stage, and the memory it keeps.

    Durations are those that were measured in the second call; before that, a backward pass is drawn
    twice as long as a forward pass.

    Raises:
        ValueError: the name is that of another kind of file.
    """
    with atomic_write(image_path(path)) as file:
        file.write(_ScheduleFigure(pipeline).render().encode())


def _tasks_of(pipeline: PipelineExecutable, stage: Placement) -> list:
    tasks = [pipeline.partition.tasks[slot.task] for slot in pipeline.order]
    return [task for task in tasks if task.placement is stage]


class _ScheduleFigure:
    """One row of boxes per stage, below it a curve of the bytes it keeps."""

    def __init__(self, pipeline: PipelineExecutable) -> None:
        self._pipeline = pipeline
        self._tasks = pipeline.partition.tasks
        self._slots = timeline(self._tasks, pipeline.order, pipeline.duration)
        self._span = max((slot.end for slot in self._slots), default=0.0) or 1.0
        self._live = pipeline.live_bytes()
        self._peak = max((size for sizes in self._live.values() for _, size in sizes), default=0)

    def render(self) -> str:
        """The figure as text."""
        stages = self._pipeline.stages
        height = _MARGIN * 2 + 24 + len(stages) * (_ROW + _CURVE + 18)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _MARGIN}" '
            f'height="{height}"><style>{_STYLE}</style>',
            f'<text x="{_MARGIN}" y="{_MARGIN + 4}">{escape(self._title())}</text>',
        ]
        idle = idle_fraction(self._tasks, self._slots)
        for number, stage in enumerate(stages):
            top = _MARGIN + 24 + number * (_ROW + _CURVE + 18)
            lines += self._row(number, stage, top, idle[stage])
        return "\n".join([*lines, "</svg>", ""])

    def _title(self) -> str:
        idle = idle_fraction(self._tasks, self._slots)
        mean = sum(idle.values()) / len(idle)
        is_profiled = bool(self._pipeline.durations)
        length = f"{self._span * 1e3:.3g} ms, measured" if is_profiled else "assumed durations"
        return f"one forward, one backward: {length}; stages wait {mean:.0%} of the time"

    def _row(self, number: int, stage: Placement, top: int, fraction: float) -> list[str]:
        peak = max((size for _, size in self._live[stage]), default=0)
        ranks = escape(f"{stage.type} {stage.ranks.tolist()}")
        lines = [
            f'<text x="{_MARGIN}" y="{top + 14}">stage {number}: {ranks}</text>',
            f'<text class="small" x="{_MARGIN}" y="{top + 28}">'
            f"waits {fraction:.0%} of the time</text>",
            f'<text class="small" x="{_MARGIN}" y="{top + _ROW + 16}">'
            f"keeps at most {bytes_text(peak)} per device</text>",
        ]
        for slot in self._slots:
            if self._tasks[slot.task].placement is stage:
                lines += self._box(slot, top)
        return [*lines, self._curve(stage, top + _ROW)]

    def _x(self, time: float) -> float:
        return _LEFT + _WIDTH * time / self._span

    def _box(self, slot: Slot, top: int) -> list[str]:
        phase: Phase = self._tasks[slot.task].phase
        x, width = self._x(slot.start), self._x(slot.end) - self._x(slot.start)
        if width <= 0:
            return []
        batch = phase.micro_batch if phase.kind in (FORWARD, BACKWARD) else ""
        label, title = f"{_SYMBOLS[phase.kind]}{batch}", f"{phase.kind} {batch}".strip()
        box = (
            f'<rect class="{phase.kind}" x="{x:.1f}" y="{top}" width="{width:.1f}" '
            f'height="{_ROW - 4}"><title>{title}: {(slot.end - slot.start) * 1e3:.3g} ms'
            "</title></rect>"
        )
        if width < 20:
            return [box]
        return [
            box,
            f'<text class="middle" x="{x + width / 2:.1f}" y="{top + 17}">{label}</text>',
        ]

    def _curve(self, stage: Placement, top: int) -> str:
        """Steps as high as the bytes kept after each task."""
        base = top + _CURVE
        points, height = [f"M{_LEFT} {base}"], float(base)
        for index, size in self._live[stage]:
            x = self._x(self._slots[index].start)
            points.append(f"L{x:.1f} {height:.1f}")
            height = base - (_CURVE - 4) * size / max(self._peak, 1)
            points.append(f"L{x:.1f} {height:.1f}")
        points.append(f"L{self._x(self._span):.1f} {height:.1f}L{self._x(self._span):.1f} {base}")
        return f'<path class="curve" d="{"".join(points)}Z"/>'
