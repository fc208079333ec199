"""A plan as text for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oneflow.base.units import bytes_text, flops_text, seconds_text
from oneflow.plan.contents import PlanContents
from oneflow.plan.estimate import CostEstimate
from oneflow.plan.pipeline import StagePlan
from oneflow.plan.rows import OperatorRow, grouped

_RIGHT = {
    *("each device", "computes", "sends", "count", "number", "model", "XLA", "group", "given"),
    *("memory", "computing", "exchanging", "a step", "tokens/s", "MFU", "per million", "bytes"),
    *("stage", "devices", "activations", "micro batches", "to stages", "waits"),
}
_MAX_WIDTH = 56


def text_of(contents: PlanContents, lists_all: bool = False) -> str:
    """A plan as tables.

    Args:
        contents: the plan.
        lists_all: list every operator, not only those that compute or send most.
    """
    return "\n".join(
        [
            f"{contents.name} on {contents.mesh()}",
            "",
            *_sums(contents),
            "",
            *_stages(contents),
            *_largest(contents),
            *_collectives(contents),
            "",
            *_inputs(contents),
            "",
            *_operators(contents, lists_all),
            "",
        ]
    )


def _sums(contents: PlanContents) -> list[str]:
    columns = [contents.model, *([contents.xla] if contents.xla else [])]
    rows = [
        ["memory, at most", *(bytes_text(column.memory.peak) for column in columns)],
        ["  given", *(bytes_text(column.memory.arguments) for column in columns)],
    ]
    rows += [[f"    {kind}", bytes_text(size)] for kind, size in contents.input_bytes().items()]
    rows += [
        ["  results", *(bytes_text(column.memory.outputs) for column in columns)],
        ["  temporary", *(bytes_text(column.memory.temporary) for column in columns)],
        ["computes", *(flops_text(column.flops) for column in columns)],
        ["sends", *(bytes_text(column.sent) for column in columns)],
        ["takes about", seconds_text(sum(contents.seconds))],
        *(
            [f"  {what}", seconds_text(seconds)]
            for what, seconds in zip(contents.time_parts, contents.seconds, strict=True)
        ),
    ]
    rows += _chip_rows(contents)
    lines = table_lines(["each device, each step", *(column.by for column in columns)], rows)
    return [*lines, *_sources(contents), *_description(contents)]


def _description(contents: PlanContents) -> list[str]:
    """The stages that the sums describe, if there are several."""
    if contents.pipeline is None:
        return []
    return [
        "memory and kernels: of the stage that needs most memory; computes: the mean; "
        "sends: within the stage that sends most"
    ]


# The columns of the table of stages, and what they say of one.
STAGE_COLUMNS: dict[str, Callable[[StagePlan], str]] = {
    "devices": lambda stage: str(stage.placement.size),
    "memory": lambda stage: bytes_text(stage.estimate.memory.peak),
    "activations": lambda stage: bytes_text(stage.activation_bytes),
    "micro batches": lambda stage: str(stage.micro_batches),
    "computes": lambda stage: flops_text(stage.estimate.flops),
    "sends": lambda stage: bytes_text(stage.estimate.sent),
    "to stages": lambda stage: bytes_text(stage.bytes_sent),
    "computing": lambda stage: seconds_text(stage.seconds[0]),
    "exchanging": lambda stage: seconds_text(stage.seconds[1]),
    "waits": lambda stage: f"{stage.idle:.0%}",
}


def stage_cells(contents: PlanContents) -> list[list[str]]:
    """The rows of the table of stages: the number of each, and its `STAGE_COLUMNS`."""
    stages = contents.pipeline.stages if contents.pipeline else ()
    return [
        [str(number), *(cell(stage) for cell in STAGE_COLUMNS.values())]
        for number, stage in enumerate(stages)
    ]


def _stages(contents: PlanContents) -> list[str]:
    rows = stage_cells(contents)
    return [*table_lines(["stage", *STAGE_COLUMNS], rows), ""] if rows else []


def _chip_rows(contents: PlanContents) -> list[list[str]]:
    """The rows about XLA's program for the chip, and about its memory."""
    chip, work, xla = contents.chip, contents.work, contents.xla
    if chip is None or work is None or xla is None:
        return []
    async_collectives = [
        ["  of the collectives, beside kernels", "", str(work.asynchronous)],
        ["  kernels beside collectives", "", str(work.overlapped)],
    ]
    has_memory = "yes" if xla.memory.peak <= chip.memory else "no"
    return [
        ["runs kernels", "", str(work.kernels)],
        ["  which read and write", "", bytes_text(work.bytes)],
        *(async_collectives if xla.collectives else []),
        [f"fits into {bytes_text(chip.memory)}", "", has_memory],
    ]


def _largest(contents: PlanContents) -> list[str]:
    """The largest values when memory is used most, if the chip has too little."""
    if contents.chip is None or contents.estimate.memory.peak <= contents.chip.memory:
        return []
    rows = [
        [bytes_text(value.nbytes), value.where, value.what, value.tensor]
        for value in contents.largest
    ]
    return [*table_lines(["bytes", "of", "largest values", "part"], rows), ""]


def _sources(contents: PlanContents) -> list[str]:
    if contents.xla is None:
        return [
            "model: the planner's cost model",
            f"XLA has no part in this: {contents.xla_skip_reason}",
        ]
    if contents.chip is not None:
        return [
            "model: the planner's cost model; XLA: its own estimate for the program, compiled for "
            f"{contents.chip.name}"
        ]
    return ["model: the planner's cost model; XLA: its own estimate for the program, compiled here"]


def _collectives(contents: PlanContents) -> list[str]:
    estimate: CostEstimate = contents.estimate
    if not estimate.collectives:
        return ["no device sends anything"]
    rows = [
        [
            collective.kind,
            f"of {collective.group}",
            str(collective.count),
            bytes_text(collective.operand_bytes),
            bytes_text(collective.sent),
        ]
        for collective in estimate.collectives
    ]
    return table_lines([f"collective ({estimate.by})", "group", "number", "given", "sends"], rows)


def _inputs(contents: PlanContents) -> list[str]:
    shown = [row for row in contents.inputs if row.kind not in ("state", "constant")]
    rows = [
        [row.name, f"{row.dtype}{list(row.shape)}", row.sbp, str(list(row.shard)), str(row.count)]
        for row in shown
    ]
    head = ["parameters and arguments", "tensor", "SBP", "part", "count"]
    if contents.pipeline:
        head.append("stage")
        rows = [[*cells, str(row.stage)] for cells, row in zip(rows, shown, strict=True)]
    return table_lines(head, rows)


def _operators(contents: PlanContents, lists_all: bool) -> list[str]:
    rows = list(contents.operators) if lists_all else grouped(contents.operators)
    visible = rows if lists_all else _top_rows(rows)
    lines = table_lines(
        ["operator", "of", "takes", "gives", "computes", "sends", "count"],
        [
            [
                row.operator,
                row.scope,
                ", ".join(row.operands),
                ", ".join(row.results),
                flops_text(row.flops) if row.flops else "",
                bytes_text(row.sent) if row.sent else "",
                str(row.count),
            ]
            for row in visible
        ],
    )
    rest = len(rows) - len(visible)
    if rest:
        lines.append(f"and {rest} more that do little; --edges lists all")
    return lines


def _top_rows(rows: Sequence[OperatorRow]) -> list[OperatorRow]:
    """The rows with at least a hundredth of the operations or bytes sent, in order."""
    flops = sum(row.flops * row.count for row in rows)
    bytes_sent = sum(row.sent * row.count for row in rows)

    def is_significant(row: OperatorRow) -> bool:
        row_flops, row_bytes = row.flops * row.count, row.sent * row.count
        return row_flops * 100 >= max(flops, 1) or row_bytes * 100 >= max(bytes_sent, 1)

    return list(filter(is_significant, rows))


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of aligned columns under a head and a rule."""
    filled = [[_cut(cell) for cell in row] + [""] * (len(head) - len(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *filled, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if title in _RIGHT else cell.ljust(width)
            for title, cell, width in zip(head, cells, widths, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return [line(head), "  ".join("-" * width for width in widths), *map(line, filled)]


def _cut(cell: str) -> str:
    return cell if len(cell) <= _MAX_WIDTH else f"{cell[: _MAX_WIDTH - 3]}..."
