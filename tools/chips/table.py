"""The table of the comparison in `docs/chips.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chips.md"
BEGIN, END = "<!-- table: make chips -->", "<!-- end of the table -->"
HEAD = [
    "program",
    "chip",
    "MB read and written",
    "kernels",
    "GFLOP of products",
    "temporary MB",
    "collectives",
    "MB sent",
    "instructions before optimizing",
    "seconds of compiling",
]

Results = Mapping[tuple[str, str, str], Mapping[str, float]]


def rows_of(results: Results) -> Iterator[list[str]]:
    """The cells of each comparison that is whole."""
    for name, chip, which in results:
        ours, jax = (results.get((name, chip, library)) for library in ("ours", "jax"))
        if which != "ours" or ours is None or jax is None:
            continue
        yield [
            name,
            chip,
            _ratio(ours, jax, "bytes", 1e6),
            _ratio(ours, jax, "kernels"),
            _ratio(ours, jax, "flops", 1e9) if "flops" in ours and "flops" in jax else "",
            _ratio(ours, jax, "temporary", 1e6),
            _pair(ours, jax, "collectives"),
            _pair(ours, jax, "sent", 1e6),
            _ratio(ours, jax, "hlo"),
            f"{ours['seconds']:.1f} : {jax['seconds']:.1f}",
        ]


def write_table(results: Results, page: Path = PAGE) -> None:
    """Put the table between the marks of a page.

    A comparison without results keeps its line: whoever compiles one program has no results of the
    others.
    """
    before, _, rest = page.read_text().partition(BEGIN)
    table, _, after = rest.partition(END)
    earlier = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    rows = {(row[0], row[1]): row for row in [*earlier, *rows_of(results)]}
    lines = [HEAD, ["---"] * len(HEAD), *rows.values()]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


def _pair(ours: Mapping[str, float], jax: Mapping[str, float], field: str, unit: float = 1) -> str:
    return f"{ours[field] / unit:,.0f} : {jax[field] / unit:,.0f}"


def _ratio(ours: Mapping[str, float], jax: Mapping[str, float], field: str, unit: float = 1) -> str:
    quotient = f" ({ours[field] / jax[field]:.2f})" if jax[field] > unit else ""
    return _pair(ours, jax, field, unit) + quotient
