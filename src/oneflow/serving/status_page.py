"""A page for the browser: models, throughput, latencies."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator

from oneflow.serving.model_version import ModelVersion
from oneflow.serving.repository import Repository
from oneflow.serving.statistics import LATENCY_BOUNDS
from oneflow.version import __version__

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
       color: #1f2933; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #e4e7eb; }
th:first-child, td:first-child { text-align: left; }
.failed { color: #b42318; } .muted { color: #7b8794; }
svg text { font: 11px system-ui, sans-serif; fill: #7b8794; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7eb; background: #14181d; } th, td { border-color: #323f4b; } }
"""
_SCRIPT = """
// Rates come from the counts of two looks at the same page.
const key = "oneflow-serving", now = Date.now(), old = JSON.parse(sessionStorage.getItem(key));
const counts = {};
for (const cell of document.querySelectorAll("[data-rate]")) {
  const [name, count] = [cell.dataset.rate, Number(cell.dataset.count)];
  counts[name] = count;
  if (old && name in old.counts && count >= old.counts[name])
    cell.textContent = ((count - old.counts[name]) / (now - old.time) * 1000).toFixed(1);
}
sessionStorage.setItem(key, JSON.stringify({time: now, counts}));
setTimeout(() => location.reload(), 2000);
"""
_COLUMNS = (
    "model",
    "requests",
    "errors",
    "requests/s",
    "waiting",
    "rows/run",
    "p50 ≤",
    "p99 ≤",
    "infer",
)


def status_page(repository: Repository) -> str:
    """Return the page as HTML."""
    models = repository.versions()
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "".join(map(_row, models))
    unavailable = "".join(
        f"<li class=failed>{_escape(model.name)} {model.version}: {_escape(model.reason)}</li>"
        for model in repository.index()
        if model.reason
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>oneflow.serving</title>"
        f"<style>{_STYLE}</style><h1>oneflow.serving {__version__}</h1>"
        f"<p class=muted>{time.strftime('%Y-%m-%d %H:%M:%S')}; "
        f"<a href=/metrics>metrics</a>, <a href=/v2/models/stats>statistics</a></p>"
        f"<table><tr>{head}</tr>{rows}</table><ul>{unavailable}</ul>"
        f"{''.join(map(_histogram, models))}"
        f"<script>{_SCRIPT}</script></html>"
    )


def _escape(text: str) -> str:
    return html.escape(text, quote=True)


def _row(model: ModelVersion) -> str:
    statistics = model.statistics
    name = _escape(f"{model.name} {model.version}")
    failed = sum(failure.count for failure in statistics.failures.values())
    count = statistics.success.count
    cells = (
        f"{failed}",
        f"<span data-rate='{name}' data-count={count}>-</span>",
        f"{model.waiting}",
        f"{statistics.rows / statistics.runs:.1f}" if statistics.runs else "-",
        _time_text(statistics.quantile(0.5)),
        _time_text(statistics.quantile(0.99)),
        _time_text(statistics.infer.ns / statistics.infer.count / 1e9)
        if statistics.infer.count
        else "-",
    )
    return (
        f"<tr><td>{name}</td><td>{count}</td>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
    )


def _time_text(seconds: float) -> str:
    if seconds == float("inf"):
        return f"> {LATENCY_BOUNDS[-1]:g} s"
    if not seconds:
        return "-"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _histogram(model: ModelVersion) -> str:
    title = f"<h2>{_escape(model.name)} {model.version}: latency</h2>"
    counts = model.statistics.latency_counts
    if not any(counts):
        return f"{title}<p class=muted>no requests yet</p>"
    return f"{title}<svg viewBox='0 0 960 150' role=img>{''.join(_columns(counts))}</svg>"


def _columns(counts: list[int]) -> Iterator[str]:
    """The bars of a histogram with the upper bounds of their buckets."""
    width = 960 / len(counts)
    bounds = (*LATENCY_BOUNDS, float("inf"))
    for index, (count, bound) in enumerate(zip(counts, bounds, strict=True)):
        height = 110 * count / max(counts)
        left = index * width
        middle = left + width / 2
        yield (
            f"<rect x='{left + 2:.1f}' y='{125 - height:.1f}' width='{width - 4:.1f}' "
            f"height='{height:.1f}' fill='#3e7bfa'/>"
            f"<text x='{middle:.1f}' y='142' text-anchor=middle>{_time_text(bound)}</text>"
        )
        if count:
            yield (
                f"<text x='{middle:.1f}' y='{120 - height:.1f}' text-anchor=middle>{count}</text>"
            )
