"""A plan as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.quantities import bytes_text, flops_text, seconds_text
from oneflow.plan.contents import Account, Contents
from oneflow.plan.rows import OperatorRow, together

_RIGHT = {"each device", "computes", "sends", "count", "number", "model", "XLA", "group", "given"}
_WIDEST = 56


def text_of(contents: Contents, everything: bool = False) -> str:
    """A plan as tables.

    Args:
        contents: what it says.
        everything: list every operator, not those alone that compute or send most.
    """
    return "\n".join(
        [
            f"{contents.name} on {contents.mesh()}",
            "",
            *_totals(contents),
            "",
            *_exchanges(contents),
            "",
            *_inputs(contents),
            "",
            *_operators(contents, everything),
            "",
        ]
    )


def _totals(contents: Contents) -> list[str]:
    accounts = [contents.model, *([contents.xla] if contents.xla else [])]
    rows = [
        ["memory, at most", *(bytes_text(each.memory.peak) for each in accounts)],
        ["  given", *(bytes_text(each.memory.arguments) for each in accounts)],
    ]
    rows += [[f"    {kind}", bytes_text(size)] for kind, size in contents.held().items()]
    rows += [
        ["  results", *(bytes_text(each.memory.outputs) for each in accounts)],
        ["  temporary", *(bytes_text(each.memory.temporary) for each in accounts)],
        ["computes", *(flops_text(each.flops) for each in accounts)],
        ["sends", *(bytes_text(each.sent) for each in accounts)],
        ["takes about", seconds_text(sum(contents.seconds))],
        *(
            [f"  {what}", seconds_text(seconds)]
            for what, seconds in zip(("computing", "exchanging"), contents.seconds, strict=True)
        ),
    ]
    lines = _table(["each device, each step", *(each.by for each in accounts)], rows)
    return [*lines, *_sources(contents)]


def _sources(contents: Contents) -> list[str]:
    if contents.xla is None:
        return ["model: the planner's cost model", f"XLA has no part in this: {contents.why_not}"]
    return ["model: the planner's cost model; XLA: its own account of the program, compiled here"]


def _exchanges(contents: Contents) -> list[str]:
    account: Account = contents.best
    if not account.exchanges:
        return ["no device sends anything"]
    rows = [
        [
            each.kind,
            f"of {each.group}",
            str(each.count),
            bytes_text(each.given),
            bytes_text(each.sent),
        ]
        for each in account.exchanges
    ]
    return _table([f"collective ({account.by})", "group", "number", "given", "sends"], rows)


def _inputs(contents: Contents) -> list[str]:
    rows = [
        [row.name, f"{row.dtype}{list(row.shape)}", row.sbp, str(list(row.part)), str(row.count)]
        for row in contents.inputs
        if row.kind not in ("state", "constant")
    ]
    return _table(["parameters and arguments", "tensor", "SBP", "part", "count"], rows)


def _operators(contents: Contents, everything: bool) -> list[str]:
    rows = list(contents.operators) if everything else together(contents.operators)
    shown = rows if everything else _most(rows)
    lines = _table(
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
            for row in shown
        ],
    )
    rest = len(rows) - len(shown)
    if rest:
        lines.append(f"and {rest} more that do little; --edges lists all")
    return lines


def _most(rows: Sequence[OperatorRow]) -> list[OperatorRow]:
    """Rows with at least a hundredth of what is computed or sent, in order."""
    flops = sum(row.flops * row.count for row in rows)
    sent = sum(row.sent * row.count for row in rows)

    def does_much(row: OperatorRow) -> bool:
        computes, sends = row.flops * row.count, row.sent * row.count
        return computes * 100 >= max(flops, 1) or sends * 100 >= max(sent, 1)

    return list(filter(does_much, rows))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of aligned columns under a head and a rule."""
    filled = [[_cut(cell) for cell in row] + [""] * (len(head) - len(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *filled, strict=True)]

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.rjust(width) if title in _RIGHT else cell.ljust(width)
            for title, cell, width in zip(head, cells, widths, strict=True)
        ]
        return "  ".join(placed).rstrip()

    return [line(head), "  ".join("-" * width for width in widths), *map(line, filled)]


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 3]}..."
