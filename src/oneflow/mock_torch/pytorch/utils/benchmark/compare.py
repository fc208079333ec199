"""``torch.utils.benchmark.Compare``: measurements side by side."""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from oneflow.mock_torch.pytorch.utils.benchmark.measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_STRONG, _END = "\033[1m", "\033[0m"
#: Up to which multiple of the least time, and how it is shown.
_COLORS = ((1.01, f"\033[92m{_STRONG}"), (1.1, f"\033[34m{_STRONG}"))
_BAD, _VERY_BAD = "\033[2m\033[91m", f"\033[31m{_STRONG}"

Cells = list[Measurement | None]


class Colorize(enum.Enum):
    """The measurements among which colours show the least."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements: one for each label, a row for each statement and number of threads.

    Args:
        results: the measurements; several of one task count as one.

    Raises:
        ValueError: one is no `Measurement`.

    Example:
        >>> from oneflow.mock_torch.pytorch.utils.benchmark import Compare, Measurement, TaskSpec
        >>> task = TaskSpec("x + y", "", label="sums", description="small")
        >>> print(str(Compare([Measurement(10, [1e-4, 2e-4, 3e-4], task)])).strip())
        [----- sums -----]
                   | small
        1 threads: -------
              x + y|  20.0
        <BLANKLINE>
        Times are in microseconds (us).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ValueError: one is no `Measurement`.
        """
        new = list(results)
        for result in new:
            if not isinstance(result, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(result)} instead."
                )
        self._results += new

    def trim_significant_figures(self) -> None:
        """Show no more figures than mean something."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show by colours which times are short, in columns or in rows."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show how much times differ that differ much."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        sys.stdout.write(f"{self}\n")

    def __str__(self) -> str:
        by_label: dict[Any, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            by_label.setdefault(result.label, []).append(result)
        options = self._colorize, self._trim_significant_figures, self._highlight_warnings
        return "\n".join(_ComparisonTable(group, *options).text() for group in by_label.values())


class _Column:
    """Times of one description, shown alike.

    Args:
        cells: the measurements.
        scale: the seconds of the unit.
        trim_significant_figures: whether to show no more figures than mean something.
        highlight_warnings: whether to show how much times differ.
    """

    def __init__(
        self, cells: Cells, scale: float, trim_significant_figures: bool, highlight_warnings: bool
    ) -> None:
        present = [cell for cell in cells if cell is not None]
        digits = [math.ceil(math.log10(cell.median / scale)) for cell in present]
        decimals = 1
        if trim_significant_figures:
            pairs = zip(digits, present, strict=True)
            decimals = min(max(cell.significant_figures - count, 0) for count, cell in pairs)
        self._scale, self._decimals = scale, decimals
        self._trim_significant_figures = trim_significant_figures
        self._highlight_warnings = highlight_warnings and any(cell.has_warnings for cell in present)
        self._length = max(digits) + decimals + (1 if decimals else 0)

    def text(self, cell: Measurement | None) -> str:
        """Return the time of a measurement, or as many spaces."""
        if cell is None:
            return " " * len(self._format(1, ""))
        value = cell.median / self._scale
        if self._trim_significant_figures:
            value = trim_sigfig(value, cell.significant_figures)
        if not (self._highlight_warnings and cell.has_warnings):
            return self._format(value, "")
        return self._format(value, f" (! {cell.iqr / cell.median * 100:.0f}%)")

    def _format(self, value: float, note: str) -> str:
        width = 7 if self._highlight_warnings else 0
        return f"{value:>{self._length}.{self._decimals}f}{note:>{width}}"


class _ComparisonTable:
    """The measurements of a label."""

    def __init__(
        self,
        results: Sequence[Measurement],
        colorize: Colorize,
        trim_significant_figures: bool,
        highlight_warnings: bool,
    ) -> None:
        self._results, self._colorize = results, colorize
        self._highlight_warnings = highlight_warnings
        self._unit, scale = select_unit(min(result.median for result in results))
        keys = [(result.num_threads, result.env, result.as_row_name) for result in results]
        self._rows = sorted(ordered_unique(keys), key=lambda key: key[:2])
        self._names = ordered_unique(result.description for result in results)
        cells = dict(
            zip(
                ((k, r.description) for k, r in zip(keys, results, strict=True)),
                results,
                strict=True,
            )
        )
        self._cells: list[Cells] = [
            [cells.get((key, name)) for name in self._names] for key in self._rows
        ]
        self._columns = [
            _Column(
                [row[number] for row in self._cells],
                scale,
                trim_significant_figures,
                highlight_warnings,
            )
            for number in range(len(self._names))
        ]

    def _row_texts(self) -> list[list[str]]:
        envs = {env for _, env, _ in self._rows}
        width = max(len(str(env)) for env in envs) if len(envs) > 1 else 0
        texts, before = [], None
        for (threads, env, name), cells in zip(self._rows, self._cells, strict=True):
            is_new = len(envs) > 1 and (threads, env) != before
            before = threads, env
            title = (f"({env})" if is_new else "").ljust(width + 4)
            pairs = zip(cells, self._columns, strict=True)
            texts.append([f"  {title}{name}", *(column.text(cell) for cell, column in pairs)])
        return texts

    def _best(self, row: int, column: int) -> float:
        """Return the least time of the row, or of the column for as many threads."""
        if self._colorize is Colorize.ROWWISE:
            cells = self._cells[row]
        else:
            cells = [
                other[column]
                for other, key in zip(self._cells, self._rows, strict=True)
                if key[0] == self._rows[row][0]
            ]
        return min(cell.median for cell in cells if cell is not None)

    def _colored(self, text: str, row: int, column: int) -> str:
        cell = self._cells[row][column]
        if self._colorize is Colorize.NONE or cell is None:
            return text
        best = self._best(row, column)
        if cell.median <= best + 100e-9:
            return f"{_COLORS[0][1]}{text}{_END * 2}"
        for factor, color in _COLORS:
            if cell.median <= best * factor:
                return f"{color}{text}{_END * 2}"
        if cell.median >= best * 5:
            return f"{_VERY_BAD}{text}{_END * 2}"
        return f"{_BAD}{text}{_END * 2}" if cell.median >= best * 2 else text

    def text(self) -> str:
        """Return the table."""
        header = ["", *map(str, self._names)]
        rows = self._row_texts()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        titles = (name.center(width) for name, width in zip(header, widths, strict=True))
        lines = ["  |  ".join(titles)]
        whole, threads = len(lines[0]), None
        for number, (key, texts) in enumerate(zip(self._rows, rows, strict=True)):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
            cells = [texts[0].ljust(widths[0])]
            for column, text in enumerate(texts[1:]):
                cells.append(self._colored(text.center(widths[column + 1]), number, column))
            lines.append("  |  ".join(cells))
        title = f" {self._results[0].label or ''} ".center(whole - 2, "-")
        lines = [f"[{title}]", *lines, ""]
        lines.append(f"Times are in {unit_to_english(self._unit)}s ({self._unit}).")
        if self._highlight_warnings and any(result.has_warnings for result in self._results):
            lines.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join([*lines, ""])
