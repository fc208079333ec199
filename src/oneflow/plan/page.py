"""A plan as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from oneflow.base.units import bytes_text, flops_text, seconds_text
from oneflow.plan.contents import PlanContents
from oneflow.plan.estimate import CostEstimate
from oneflow.plan.rows import OperatorRow, grouped
from oneflow.plan.text import STAGE_COLUMNS, stage_cells

_STYLE = """
:root { --text: #1c2733; --soft: #5b6b7b; --line: #dfe5ec; --page: #f6f8fa; --card: #fff;
  --split: #2f6fdb; --whole: #3c8c5a; --sum: #c2571a; }
@media (prefers-color-scheme: dark) { :root { --text: #e4eaf1; --soft: #9aa9b8; --line: #2c3744;
  --page: #12181f; --card: #1a222c; --split: #7aa7ff; --whole: #74c795; --sum: #f2a56b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 28px 20px 60px; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 17px; margin: 34px 0 10px; }
p { margin: 4px 0; color: var(--soft); }
.cards { display: flex; flex-wrap: wrap; gap: 14px; margin-top: 20px; }
.card { flex: 1 1 220px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; padding: 14px 18px; }
.card b { display: block; font-size: 24px; font-weight: 600; }
.card span { color: var(--soft); font-size: 13px; }
.bar { display: flex; height: 26px; border-radius: 6px; overflow: hidden; margin: 8px 0; }
.bar i { display: block; min-width: 1px; }
.key { display: inline-block; margin-right: 18px; font-size: 13px; color: var(--soft); }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
table { border-collapse: collapse; width: 100%; background: var(--card); font-size: 13px;
  border: 1px solid var(--line); }
th { text-align: left; font-weight: 600; position: sticky; top: 0; background: var(--card); }
th, td { padding: 5px 10px; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.convert td { background: color-mix(in srgb, var(--sum) 9%, transparent); }
code { font: 12px/1.6 ui-monospace, monospace; }
.S { color: var(--split); font-weight: 600; } .B { color: var(--whole); font-weight: 600; }
.P { color: var(--sum); font-weight: 600; }
.wide { overflow-x: auto; }
input[type=search] { font: inherit; padding: 5px 10px; width: 320px; max-width: 100%;
  border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: inherit; }
label { margin-left: 16px; font-size: 13px; color: var(--soft); }
"""
_SCRIPT = """
const search = document.getElementById("search"), all = document.getElementById("all");
function show() {
  const words = search.value.toLowerCase().split(/\\s+/);
  for (const [name, wanted] of [["short", !all.checked], ["long", all.checked]]) {
    const table = document.getElementById(name);
    table.hidden = !wanted;
    if (wanted) for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
  }
}
search.addEventListener("input", show);
all.addEventListener("change", show);
"""
_COLORS = ("#2f6fdb", "#6a4fc7", "#b03a88", "#d98324", "#3c8c5a", "#4aa3a2", "#8a8f98", "#c4574b")
_ENTRY = re.compile(r"S\(\d+\)|B|P")
_SBP = re.compile(r"\((?:(?:S\(\d+\)|B|P)(?:, )?)+\)$")


def page_of(contents: PlanContents) -> str:
    """The page as text."""
    title = escape(f"{contents.name} on {contents.mesh()}")
    parts = [
        f"<h1>{escape(contents.name)}</h1>",
        f"<p>One step on a mesh of {escape(contents.mesh())}; all figures are for each device.</p>",
        _summary(contents),
        _memory(contents),
        _stages(contents),
        _collectives(contents),
        _inputs(contents),
        _operators(contents),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<script>{_SCRIPT}</script>\n</body></html>\n"
    )


def _summary(contents: PlanContents) -> str:
    best, model = contents.estimate, contents.model
    rows = [
        ("memory, at most", bytes_text(best.memory.peak), bytes_text(model.memory.peak)),
        ("computes", flops_text(best.flops), flops_text(model.flops)),
        ("sends", bytes_text(best.sent), bytes_text(model.sent)),
    ]
    items = [
        f"<div class=card><span>{name}</span><b>{figure}</b>"
        f"<span>{_source(best, other)}</span></div>"
        for name, figure, other in rows
    ]
    compute, communication = map(seconds_text, contents.seconds)
    first, second = contents.time_parts
    items.append(
        f"<div class=card><span>takes about</span><b>{seconds_text(sum(contents.seconds))}</b>"
        f"<span>{first} {compute}, {second} {communication}, by the cost model</span></div>"
    )
    if contents.xla is None:
        note = f"XLA has no part in these figures: {escape(contents.xla_skip_reason)}."
    else:
        note = "XLA compiled the step of each device here, for CPU devices, and says so itself."
    return f'<div class="cards">{"".join(items)}</div><p>{note}</p>'


def _source(best: CostEstimate, model_text: str) -> str:
    return (
        "by the cost model" if best.by == "model" else f"by XLA; the cost model says {model_text}"
    )


def _memory(contents: PlanContents) -> str:
    memory = contents.estimate.memory
    parts = {**contents.input_bytes(), "results": memory.outputs, "temporary": memory.temporary}
    return "<h2>Memory</h2>" + _bar(parts)


def _stages(contents: PlanContents) -> str:
    rows = [("", list(map(_number, cells))) for cells in stage_cells(contents)]
    return "<h2>Stages</h2>" + _table(["stage", *STAGE_COLUMNS], rows) if rows else ""


def _bar(sizes: dict[str, int]) -> str:
    total = max(sum(sizes.values()), 1)
    pairs = list(zip(sizes.items(), _COLORS, strict=False))
    segments = "".join(
        f'<i style="width:{100 * size / total:.2f}%;background:{color}" '
        f'title="{escape(name)}: {bytes_text(size)}"></i>'
        for (name, size), color in pairs
    )
    keys = "".join(
        f'<span class=key><i style="background:{color}"></i>'
        f"{escape(name)} {bytes_text(size)}</span>"
        for (name, size), color in pairs
    )
    return f'<div class="bar">{segments}</div>{keys}'


def _collectives(contents: PlanContents) -> str:
    estimate = contents.estimate
    if not estimate.collectives:
        return "<h2>Collectives</h2><p>No device sends anything.</p>"
    largest = max(collective.sent for collective in estimate.collectives) or 1
    rows = [
        (
            "",
            [
                escape(collective.kind),
                f"of {collective.group}",
                _number(str(collective.count)),
                _number(bytes_text(collective.operand_bytes)),
                _number(bytes_text(collective.sent)),
                f'<div class="bar" style="margin:2px 0;height:14px"><i style="background:#2f6fdb;'
                f'width:{100 * collective.sent / largest:.2f}%"></i></div>',
            ],
        )
        for collective in estimate.collectives
    ]
    head = ["collective", "devices", "number", "operands", "sends", ""]
    return "<h2>Collectives</h2>" + _table(head, rows)


def _inputs(contents: PlanContents) -> str:
    rows = [
        (
            "",
            [
                f"<code>{escape(row.name)}</code>",
                escape(row.kind),
                f"<code>{row.dtype}{list(row.shape)}</code>",
                f"<code>{_color_sbp(row.sbp)}</code>",
                f"<code>{list(row.shard)}</code>",
                _number(bytes_text(row.shard_bytes)),
                _number(str(row.count)),
                *([_number(str(row.stage))] if contents.pipeline else []),
            ],
        )
        for row in contents.inputs
        if row.kind != "constant"
    ]
    head = ["input", "kind", "tensor", "SBP", "part", "of each", "count"]
    head += ["stage"] if contents.pipeline else []
    return "<h2>Parameters, states and arguments</h2>" + _table(head, rows)


def _operators(contents: PlanContents) -> str:
    short, every = grouped(contents.operators), contents.operators
    return (
        "<h2>Operators</h2>"
        "<p>The SBP of every tensor: <b class=S>S</b> split, <b class=B>B</b> broadcast, "
        "<b class=P>P</b> partial sum, one per dimension of the mesh. Conversions are shaded.</p>"
        '<p><input id="search" type="search" placeholder="Filter: module, operator, SBP, ...">'
        '<label><input id="all" type="checkbox"> every layer by itself</label></p>'
        + _operator_table(short, "short", "")
        + _operator_table(every, "long", " hidden")
    )


def _operator_table(rows: Sequence[OperatorRow], name: str, hidden: str) -> str:
    lines = [
        (
            "convert" if row.operator == "convert" else "",
            [
                f"<code>{escape(row.scope)}</code>",
                f"<b>{escape(row.operator)}</b><br>{escape(', '.join(row.collectives))}",
                _tensors(row.operands),
                _tensors(row.results),
                _number(flops_text(row.flops) if row.flops else ""),
                _number(bytes_text(row.sent) if row.sent else ""),
                _number(str(row.count)),
            ],
        )
        for row in rows
    ]
    head = ["module", "operator", "takes", "gives", "computes", "sends", "count"]
    return _table(head, lines, f' id="{name}"{hidden}')


def _tensors(specs: Iterable[str]) -> str:
    return "<br>".join(f"<code>{_color_sbp(text)}</code>" for text in specs)


def _color_sbp(text: str) -> str:
    """A tensor's text, with its SBP in color."""
    match = _SBP.search(text)
    if match is None:
        return escape(text)
    entries = _ENTRY.sub(lambda entry: f"<b class={entry[0][0]}>{entry[0]}</b>", match[0])
    return escape(text[: match.start()]) + entries


def _number(text: str) -> str:
    return f'<div class="number">{text}</div>'


def _table(head: Sequence[str], rows: Iterable[tuple[str, list[str]]], options: str = "") -> str:
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "\n".join(
        f'<tr class="{kind}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        for kind, cells in rows
    )
    return (
        f'<div class="wide"><table{options}><thead><tr>{titles}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
